"""Many answers seen together, against counts that are known by construction."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow.parquet as pq
import pytest

import ssba
from ssba.results.cohort.summary import Cohort, ColumnUse, Move, cohort_of

_rng = np.random.default_rng(0)
DATA = pd.DataFrame(
    {
        "score": _rng.uniform(0, 10, size=300),
        "noise": _rng.normal(size=300),
        "club": _rng.choice(["red", "blue"], size=300),
    }
)


def model(rows: pd.DataFrame) -> Any:
    """Who is a member needs 5, everybody else 8."""
    return np.where(rows["score"] >= np.where(rows["club"] == "blue", 5.0, 8.0), "in", "out")


def queries(scores: list[float], clubs: list[str]) -> pd.DataFrame:
    return pd.DataFrame({"score": scores, "noise": 0.0, "club": clubs})


EXPLAINER = ssba.Explainer(
    model,
    DATA,
    "in",
    distance=ssba.Distance(scale="none"),
    features={"score": ssba.numeric(step=0.5, unit="points")},
)
CLUBS = ["blue"] * 10 + ["red"] * 10
# Blue queries lack 1 to 3.25 points, red ones 4 to 6.25; two more are in already.
SCORES = [4.0 - 0.25 * n for n in range(10)] * 2
ROWS = queries([*SCORES, 9.0, 9.0], [*CLUBS, "blue", "red"])
KEPT = ["club == x.club", "noise == x.noise"]


@pytest.fixture(scope="module")
def answers() -> ssba.results.Explanations:
    return EXPLAINER.explain_many(ROWS, KEPT, evidence=0)


@pytest.fixture(scope="module")
def cohort(answers: ssba.results.Explanations) -> Cohort:
    return cohort_of(answers, "club")


def use(cohort: Cohort, column: str) -> ColumnUse:
    return next(one for one in cohort.columns if one.column == column)


class TestCounts:
    def test_queries_at_the_target_need_nothing(self, cohort: Cohort) -> None:
        everyone = cohort.everyone
        assert (everyone.count, everyone.needed, everyone.found) == (22, 20, 20)
        assert everyone.statuses == {"found": 20, "already_there": 2}
        assert everyone.share_found.value == 1.0

    def test_distances_are_those_of_the_answers(
        self, cohort: Cohort, answers: ssba.results.Explanations
    ) -> None:
        found = [one.best.distance for one in answers if one.best]
        assert cohort.distances["median"] == pytest.approx(np.median(found))
        assert (cohort.distances["min"], cohort.distances["max"]) == pytest.approx((1.0, 6.25))

    def test_what_is_bounded_or_infeasible_is_told_apart(self) -> None:
        rows = ROWS.iloc[:3]
        constraints = [[*KEPT], [*KEPT, "score <= 4"], ["score >= 7", "score <= 6"]]
        mixed = cohort_of(EXPLAINER.explain_many(rows, constraints, evidence=0))
        assert mixed.everyone.statuses == {"found": 1, "bounded": 1, "infeasible": 1}
        assert mixed.everyone.share_found.value == pytest.approx(1 / 3)
        assert [one.distance is None for one in mixed.members] == [False, True, True]
        assert "1 ended bounded and 1 ended infeasible" in mixed.sentence

    def test_no_queries_at_all(self) -> None:
        empty = cohort_of([])
        assert empty.sentence == "There are no queries."
        assert json.dumps(empty.to_dict(), allow_nan=False)
        assert empty.columns == ()


class TestColumns:
    def test_a_number_that_goes_up_is_told_with_its_median_and_unit(self, cohort: Cohort) -> None:
        score = use(cohort, "score")
        assert (score.changed, score.share, score.up, score.down) == (20, 1.0, 20, 0)
        # Multiples of 0.5 that reach 5 (8) from 4, 3.75, ..., 1.75: the step itself is 5 - x (8 - x).
        assert score.median_up == pytest.approx(
            np.median([5 - x for x in SCORES[:10]] + [8 - x for x in SCORES[:10]])
        )
        assert score.median_down is None
        assert score.unit == "points"

    def test_columns_that_never_change_stand_last_with_nothing(self, cohort: Cohort) -> None:
        assert cohort.columns[0].column == "score"
        assert use(cohort, "noise") == ColumnUse("noise", 0, 0.0, 0.0)

    def test_level_changes_are_counted_as_moves(self) -> None:
        switched = cohort_of(EXPLAINER.explain_many(queries([6.0] * 3, ["red"] * 3), ["score == x.score"]))
        assert use(switched, "club").moves == (Move("red", "blue", 3),)
        assert (use(switched, "club").up, use(switched, "club").down) == (0, 0)

    def test_levels_of_an_ordinal_column_go_up_and_down_in_their_declared_order(self) -> None:
        ranks = ["low", "middle", "high", "top"]
        features = {"rank": ssba.ordinal(ranks)}
        frame = pd.DataFrame({"rank": ranks * 10})
        explainer = ssba.Explainer(
            lambda rows: (rows["rank"] == "high").to_numpy(), frame, target=True, features=features
        )
        ladder = cohort_of(explainer.explain_many(pd.DataFrame({"rank": ["low", "low", "middle", "top"]})))
        rank = use(ladder, "rank")
        assert (rank.up, rank.down, rank.median_up, rank.median_down) == (3, 1, 2.0, 1.0)
        assert rank.moves[0] == Move("low", "high", 2)
        assert (
            "rank (in 100%: 3 up by a median of 2 levels, 1 down by 1 level, 2 low to high" in ladder.sentence
        )

    def test_importances_share_each_answer_evenly_and_add_up_to_one(
        self, answers: ssba.results.Explanations
    ) -> None:
        both = EXPLAINER.explain_many(queries([4.0] * 4, ["red"] * 4), ["if club changes: score >= 5.5"])
        assert {tuple(one.best.changes) for one in both if one.best} == {("score", "club")}
        mixed = cohort_of([*answers[:4], *both])
        assert use(mixed, "score").importance == pytest.approx((4 + 4 / 2) / 8)
        assert use(mixed, "club").importance == pytest.approx((4 / 2) / 8)
        assert sum(one.importance for one in mixed.columns) == pytest.approx(1.0)

    def test_only_the_best_of_several_answers_counts(self) -> None:
        several = EXPLAINER.explain_many(queries([4.0], ["red"]), k=3)
        assert len(several[0].counterfactuals) > 1
        assert sum(one.changed for one in cohort_of(several).columns) == len(
            several[0].counterfactuals[0].changes
        )


class TestGroups:
    def test_each_group_has_its_own_burden(self, cohort: Cohort) -> None:
        blue, red = cohort.groups
        assert (blue.label, red.label) == ("blue", "red")
        assert (blue.count, blue.needed, blue.found) == (11, 10, 10)
        assert blue.burden.value == pytest.approx(np.median([5 - x for x in SCORES[:10]]))
        assert red.burden.value == pytest.approx(3 + np.median([5 - x for x in SCORES[:10]]))

    def test_a_difference_beyond_chance_is_told(self, cohort: Cohort) -> None:
        assert "red has farther to go than blue" in cohort.sentence
        assert "less often" not in cohort.sentence

    def test_a_difference_in_the_share_found_is_told(self, answers: ssba.results.Explanations) -> None:
        stuck = EXPLAINER.explain_many(ROWS.iloc[:10], [*KEPT, "score <= 4"], evidence=0)
        told = cohort_of([*answers[:10], *stuck], by=["free"] * 10 + ["held"] * 10)
        assert "held finds a counterfactual less often than free" in told.sentence
        assert told.groups[1].burden.value is None
        assert told.groups[1].burden.low is None

    def test_nothing_found_counts_as_farther_than_anything_found(
        self, answers: ssba.results.Explanations
    ) -> None:
        stuck = EXPLAINER.explain_many(ROWS.iloc[:4], [*KEPT, "score <= 4"], evidence=0)
        everyone = cohort_of([*answers[:7], *stuck]).everyone
        # Of the distances 1, 1.25, ..., 2.5 and four without one, the sixth is the median.
        assert everyone.distance.value == pytest.approx(1.75)
        assert everyone.burden.value == pytest.approx(2.25)
        assert everyone.burden.high is None

    def test_small_groups_are_not_over_read(self, answers: ssba.results.Explanations) -> None:
        few = cohort_of([*answers[:3], *answers[10:13]], by=["blue"] * 3 + ["red"] * 3)
        assert few.groups[0].burden.value != few.groups[1].burden.value
        assert "no difference shows beyond chance" in few.sentence

    def test_without_by_there_are_none(self, answers: ssba.results.Explanations) -> None:
        assert cohort_of(answers).groups == ()
        assert cohort_of(answers).by is None


class TestViews:
    def test_the_sentence_names_counts_and_habits(self, cohort: Cohort) -> None:
        assert cohort.sentence.startswith("22 queries, 2 of them already at the target.")
        assert "found for 20 of 20 (100%, interval 83% to 100%)" in cohort.sentence
        assert "score (in 100%: 20 up by a median of 3.625 points)" in cohort.sentence

    def test_few_queries_are_counted_in_words_that_fit(self, answers: ssba.results.Explanations) -> None:
        there = [one for one in answers if one.status == "already_there"]
        assert cohort_of(there[:1]).sentence == "1 query, already at the target."
        assert cohort_of(there[:2]).sentence == "2 queries, all of them already at the target."

    def test_the_page_shows_columns_and_groups(self, cohort: Cohort) -> None:
        page = repr(cohort)
        assert "importance" in page
        assert "blue" in page
        assert "noise" not in page

    @pytest.mark.parametrize("backend", ["pandas", "polars", "pyarrow"])
    def test_frames_of_all_libraries(self, cohort: Cohort, backend: str) -> None:
        frame = cohort.to_frame("groups", backend)
        named = frame.column_names if backend == "pyarrow" else list(frame.columns)
        assert named[:4] == ["group", "queries", "needed", "found"]
        assert len(frame) == 3

    def test_the_table_of_queries_has_a_row_each(self, cohort: Cohort) -> None:
        frame: pl.DataFrame = cohort.to_frame("queries", "polars")
        assert frame["status"].to_list() == ["found"] * 20 + ["already_there"] * 2
        assert frame["columns"].to_list() == ["score"] * 20 + [""] * 2
        assert frame["group"].to_list() == ROWS["club"].tolist()

    def test_parquet_holds_the_same_table(self, cohort: Cohort, tmp_path: Path) -> None:
        cohort.to_parquet(tmp_path / "cohort.parquet")
        assert pq.read_table(tmp_path / "cohort.parquet").equals(cohort.to_frame("queries", "pyarrow"))

    def test_the_dict_is_plain_json(self, cohort: Cohort) -> None:
        document = json.loads(json.dumps(cohort.to_dict(), allow_nan=False))
        assert document == cohort.to_dict()
        assert document["columns"][0]["column"] == "score"

    def test_an_unknown_table_is_refused(self, cohort: Cohort) -> None:
        with pytest.raises(
            ssba.errors.ArgumentError, match="table is 'rows'; choose one of 'columns', 'groups'"
        ):
            cohort.to_frame("rows")  # type: ignore[arg-type]
