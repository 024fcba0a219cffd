"""Charts: what they draw, where, and what they refuse. The Agg backend is set in conftest."""

import math
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from tests.views.support import (
    AROUND,
    BOUNDED,
    EVERY,
    FOUND,
    INFEASIBLE,
    MANY,
    ORDINAL,
    PLAN,
    QUERY,
    SCHOOLED,
    SCHOOLING,
    answer,
)

import ssba
from ssba import extras
from ssba.results.cohort.intervals import quantiles
from ssba.results.cohort.summary import cohort_of
from ssba.results.line_scan import Crossing, LineScan
from ssba.views import charts
from ssba.views.charts import (
    DataContext,
    Picture,
    change_chart,
    distance_chart,
    distances_by_prediction,
    frequency_chart,
    line_chart,
    parallel_chart,
    plan_chart,
)
from ssba.views.charts.tracks import Track, fixed_columns, make_track, tracks_of
from ssba.views.picture import picture_style

COHORT = cohort_of(MANY)
SCAN = LineScan(
    {"chol": 200.0},
    {"chol": 300.0},
    shares=(0.0, 0.5, 1.0),
    predictions=("ill", "ill", "well"),
    scores=(0.2, 0.4, 0.8),
    reached=(False, False, True),
    crossings=(Crossing(0.625, "ill", "well", True, {"chol": 262.5}, 0.5),),
    target="'well'",
)
DISTANCES = {"ill": [0.5, 1.5, 1.0, 2.0], "well": [0.25, 4.0]}
DRAWN: dict[str, Callable[[Axes | None], Axes]] = {
    "parallel": lambda ax: parallel_chart(FOUND, AROUND, title="A", ax=ax),
    "line": lambda ax: line_chart(SCAN, title="A", ax=ax),
}
PICTURES = {
    "change": change_chart(FOUND, AROUND, title="A"),
    "bounded": change_chart(BOUNDED, AROUND, title="A"),
    "plan": plan_chart(PLAN, title="A"),
    "long plan": plan_chart(replace(PLAN, steps=PLAN.steps[:1] * 9), title="A"),
    "frequency": frequency_chart(COHORT, title="A"),
    "distance": distance_chart(DISTANCES, title="A"),
}


@pytest.fixture(autouse=True)
def _figures_are_closed() -> Iterator[None]:
    plt.close("all")
    yield
    plt.close("all")


def legend(ax: Axes) -> list[str]:
    shown = ax.get_legend()
    assert shown is not None
    return [text.get_text() for text in shown.get_texts()]


def words(ax: Axes) -> list[str]:
    return [text.get_text() for text in ax.texts if text.get_text()]


def drawn(picture: Picture, look: str, tag: str = "*") -> list[Element]:
    """The shapes and texts of a class."""
    found = ElementTree.fromstring(picture.svg).iterfind(f".//{{http://www.w3.org/2000/svg}}{tag}")
    return [one for one in found if look in (one.get("class") or "").split()]


def told(picture: Picture) -> list[str]:
    """All texts, from top to bottom."""
    found = ElementTree.fromstring(picture.svg).iter("{http://www.w3.org/2000/svg}text")
    return [one.text or "" for one in found]


def place(one: Element, name: str) -> float:
    return float(one.get(name) or "nan")


def first_point(path: Element) -> tuple[float, float]:
    x, y = map(float, (path.get("d") or "").split("L")[0][1:].split())
    return x, y


def track(explanation: ssba.results.Explanation, name: str, around: DataContext = AROUND) -> Track:
    (found,) = [one for one in tracks_of(explanation, around) if one.name == name]
    return found


@pytest.mark.parametrize("draw", DRAWN.values(), ids=DRAWN)
class TestChartsOfMatplotlib:
    def test_given_axes_are_drawn_on_and_returned(self, draw: Callable[[Axes | None], Axes]) -> None:
        ax, others = Figure().subplots(), plt.get_fignums()
        assert draw(ax) is ax
        assert plt.get_fignums() == others

    def test_without_axes_a_new_figure_is_made(self, draw: Callable[[Axes | None], Axes]) -> None:
        ax = draw(None)
        assert plt.get_fignums() == [getattr(ax.figure, "number", None)]
        assert ax.get_title(loc="left") == "A"

    def test_it_is_rendered_with_text_that_can_be_read(self, draw: Callable[[Axes | None], Axes]) -> None:
        ax = draw(None)
        assert ax.figure is not None
        ax.figure.canvas.draw()
        texts = [*ax.texts, *ax.get_xticklabels(), *ax.get_yticklabels()]
        assert min(float(text.get_fontsize()) for text in texts if text.get_text()) >= 9

    def test_without_matplotlib_the_error_says_what_to_install(
        self, draw: Callable[[Axes | None], Axes], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(extras, "find_spec", lambda _: None)
        with pytest.raises(ImportError, match=r"pip install 'ssba\[plot\]'"):
            draw(None)


def test_all_charts_are_found_in_one_place() -> None:
    assert charts.__all__ == sorted(charts.__all__)
    assert all(getattr(charts, name).__doc__ for name in charts.__all__)


def test_importing_the_charts_does_not_load_matplotlib() -> None:
    program = "import sys, ssba.views.charts, ssba.views.report.page; sys.exit('matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


@pytest.mark.parametrize("odd", ["$\\frac{$ and $x_$", 'a<b & "c"', "]]> </style>", "\x00\ud800"])
def test_names_and_values_are_shown_as_they_are(odd: str) -> None:
    move = ssba.results.Counterfactual({odd: "b"}, {odd: (odd, "b")}, 1.0, odd, score=0.5)
    columns = (ssba.results.Column(odd, "numeric", unit=odd),)
    found = ssba.results.Explanation(
        ssba.results.Status.FOUND, {odd: odd}, odd, 0.25, odd, counterfactuals=(move,), columns=columns
    )
    step = replace(PLAN.steps[0], columns=(odd,), changes={odd: (odd, "b")})
    for ax in (
        parallel_chart(found, title=odd),
        line_chart(replace(SCAN, target=odd, crossings=(replace(SCAN.crossings[0], after=odd),)), title=odd),
    ):
        assert ax.figure is not None
        if odd.isprintable():
            ax.figure.canvas.draw()
        assert ax.get_title(loc="left") == odd
    # What XML cannot hold is replaced.
    shown = odd if odd.isprintable() else "\ufffd\ufffd"
    for picture in (
        change_chart(found, title=odd),
        plan_chart(replace(PLAN, target=odd, steps=(step,)), title=odd),
        frequency_chart(cohort_of([found]), title=odd),
        distance_chart({odd: [1.0]}, title=odd, unit=odd),
    ):
        assert told(picture)[0] == shown
        assert sum(shown in one for one in told(picture)) > 1


class TestTracks:
    def test_changed_columns_come_first_and_fixed_ones_last(self) -> None:
        names = [one.name for one in tracks_of(FOUND)]
        assert names[:2] == ["chol", "rate"]
        assert names[-1] == "sex"
        assert [one.name for one in tracks_of(FOUND, only_changes=True)] == ["chol", "rate"]

    def test_places_follow_the_data_and_the_two_values(self) -> None:
        # The data go from 180 to 329.
        chol = track(FOUND, "chol")
        assert chol.ends == ("180", "329")
        assert chol.before == pytest.approx((286 - 180) / 149)
        assert chol.after == pytest.approx((240.5 - 180) / 149)

    def test_a_value_beyond_the_data_widens_the_track(self) -> None:
        far = track(replace(FOUND, counterfactuals=(answer({"chol": 400.0}),)), "chol")
        assert (far.ends, far.after) == (("180", "400"), 1.0)

    def test_allowed_range_is_clipped_and_an_open_end_goes_to_the_edge(self) -> None:
        chol, rate = track(FOUND, "chol"), track(FOUND, "rate")
        assert chol.allowed == pytest.approx(((228.8 - 180) / 149, (286 - 180) / 149))
        assert rate.allowed == pytest.approx(((108 - 100) / 50, 1.0))

    def test_levels_are_ordered_by_frequency_and_permitted_ones_known(self) -> None:
        pain = track(FOUND, "pain")
        assert [level for _, level in pain.levels] == ["no", "yes"]
        assert [height for _, height in pain.shape] == [1.0, 0.5]
        assert pain.permitted == (0.0, 1.0)

    def test_fixed_columns_are_read_from_the_constraints(self) -> None:
        assert fixed_columns(FOUND) == {"sex"}
        quoted = replace(FOUND, query={"max HR": 3}, constraints=("`max HR` == x.`max HR`", "what is this?"))
        assert fixed_columns(quoted) == {"max HR"}

    def test_few_numbers_are_counted_and_many_are_a_silhouette(self) -> None:
        assert track(FOUND, "rate").is_counted
        chol = track(FOUND, "chol")
        assert not chol.is_counted
        assert max(height for _, height in chol.shape) == 1.0

    def test_missing_value_has_no_place(self) -> None:
        vessels = track(FOUND, "vessels")
        assert (vessels.before, vessels.after, vessels.is_changed) == (None, None, False)
        filled = track(replace(FOUND, counterfactuals=(answer({"vessels": 1.0}),)), "vessels")
        assert (filled.before, filled.after, filled.is_changed) == (None, 0.5, True)

    @pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame], ids=["pandas", "polars"])
    def test_frames_and_mappings_give_the_same_tracks(self, frame: Any) -> None:
        data = {"chol": [180.0, 250.0, math.nan], "rate": [100, 120, 140], "pain": ["no", "yes", None]}
        data |= {"sex": ["male", "female", "male"], "vessels": [0.0, 1.0, 2.0]}
        assert tracks_of(FOUND, DataContext(frame(data))) == tracks_of(FOUND, DataContext(data))

    def test_numpy_numbers_in_a_list_are_written_plainly(self) -> None:
        mixed = make_track("a", "low", "low", DataContext({"a": [np.float64(1.5), "low"]}))
        assert {level for _, level in mixed.levels} == {"1.5", "low"}

    def test_endless_numbers_of_the_data_are_left_out(self) -> None:
        one = make_track("a", 1.0, 2.0, DataContext({"a": [0.0, 4.0, math.inf, -math.inf, math.nan]}))
        assert one.ends == ("0", "4")

    def test_a_level_that_looks_missing_is_a_level(self) -> None:
        one = make_track("a", "NaT", "<NA>", DataContext({"a": ["NaT", "<NA>"]}))
        assert (one.before, one.after) == (0.0, 1.0)

    def test_many_levels_are_cut_but_never_the_two_that_matter(self) -> None:
        data = {"city": [f"city {number % 40}" for number in range(400)] + ["rare"]}
        shown = make_track("city", "rare", "city 39", DataContext(data))
        assert len(shown.levels) == 8
        assert {"rare", "city 39"} <= {level for _, level in shown.levels}

    @given(
        st.floats(-1e6, 1e6),
        st.floats(-1e6, 1e6),
        st.lists(st.floats(-1e6, 1e6), max_size=20),
        st.tuples(st.none() | st.floats(-1e6, 1e6), st.none() | st.floats(-1e6, 1e6)),
    )
    def test_places_always_lie_on_the_track(
        self, now: float, then: float, data: list[float], allowed: tuple[float | None, float | None]
    ) -> None:
        one = make_track("a", now, then, DataContext({"a": data}, {"a": allowed}))
        places = [one.before, one.after, *(place for place, _ in one.shape), *(one.allowed or ())]
        assert all(place is not None and 0 <= place <= 1 for place in places)

    def test_unknown_column_of_the_population_is_refused(self) -> None:
        with pytest.raises(ssba.errors.ArgumentError, match="population has no column 'chol'"):
            tracks_of(FOUND, DataContext({"rate": [1]}))

    @pytest.mark.parametrize("allowed", [3, "ab", (1, 2, 3), ("a", "b")])
    def test_bad_allowed_range_is_refused(self, allowed: Any) -> None:
        with pytest.raises(ssba.errors.ArgumentError, match=r"allowed\['chol'\] is"):
            tracks_of(FOUND, DataContext(allowed={"chol": allowed}))

    @pytest.mark.parametrize("number", [-1, 3, True, "0"])
    def test_answer_that_is_not_there_is_refused(self, number: Any) -> None:
        with pytest.raises(ssba.errors.ArgumentError, match="there are 3 answers"):
            tracks_of(FOUND, answer=number)


@pytest.mark.parametrize("picture", PICTURES.values(), ids=PICTURES)
class TestPictures:
    def test_title_stands_above_and_begins_what_screen_readers_say(self, picture: Picture) -> None:
        assert told(picture)[0] == "A"
        assert picture.title.startswith("A: ")

    def test_every_number_is_finite_and_every_class_has_a_style(self, picture: Picture) -> None:
        assert not re.search(r"\b(nan|inf)\b", picture.svg)
        looks = set(" ".join(re.findall(r' class="([^"]*)"', picture.drawn)).split())
        assert looks <= set(re.findall(r"\.(\w+)", picture_style()))

    def test_matplotlib_is_not_needed(self, picture: Picture, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(sys.modules, "matplotlib", None)
        assert picture.svg


class TestChangeChart:
    def test_every_column_has_a_line_named_by_its_meaning(self) -> None:
        shown = told(change_chart(FOUND, AROUND))
        named = ["serum cholesterol", "rate", "chest pain on exercise", "vessels", "sex"]
        assert [one for one in shown if one in named] == named

    def test_changes_are_told_beside_their_line(self) -> None:
        shown = told(change_chart(FOUND, AROUND))
        for caption in ("286 to 240.5 mg/dl", "male, fixed", "missing, unchanged"):
            assert caption in shown

    def test_marks_lie_at_now_and_proposed_and_the_arrow_between(self) -> None:
        picture = change_chart(FOUND, AROUND, only_changes=True)
        chol = track(FOUND, "chol")
        assert chol.before is not None
        assert chol.after is not None
        # A track is 300 pixels wide, with 14 left free at either end.
        now, then = 14 + 272 * chol.before, 14 + 272 * chol.after
        assert place(drawn(picture, "query")[0], "cx") == pytest.approx(now, abs=0.1)
        assert first_point(drawn(picture, "answer")[0])[0] == pytest.approx(then - 6.5, abs=0.1)
        start, end = re.findall(r"[MH]([\d.]+)", drawn(picture, "arrow")[0].get("d") or "")
        assert float(start) == pytest.approx(now, abs=0.1)
        assert then < float(end) < now

    def test_what_is_allowed_is_coloured(self) -> None:
        box = drawn(change_chart(FOUND, AROUND, only_changes=True), "allowed")[0]
        allowed = track(FOUND, "chol").allowed
        assert allowed is not None
        assert place(box, "x") == pytest.approx(14 + 272 * allowed[0], abs=0.1)
        assert place(box, "width") == pytest.approx(272 * (allowed[1] - allowed[0]), abs=0.2)

    def test_key_names_only_what_is_drawn(self) -> None:
        signs = ["now", "proposed", "fixed", "allowed by the constraints", "how often in the data"]
        assert told(change_chart(FOUND, AROUND))[-5:] == signs
        assert told(change_chart(FOUND, only_changes=True))[-2:] == ["now", "proposed"]
        assert "fixed" not in told(change_chart(FOUND, only_changes=True))

    def test_bounded_move_is_named_as_one(self) -> None:
        picture = change_chart(BOUNDED)
        assert "bounded move" in told(picture)
        assert "proposed" not in told(picture)
        assert drawn(picture, "bounded")
        assert not drawn(picture, "answer")

    def test_another_answer_is_drawn_when_asked_for(self) -> None:
        assert "yes to no" in told(change_chart(FOUND, AROUND, answer=1))

    @pytest.mark.parametrize("explanation", EVERY.values(), ids=EVERY)
    def test_every_kind_of_result_can_be_drawn(self, explanation: ssba.results.Explanation) -> None:
        assert len(drawn(change_chart(explanation, AROUND), "line")) == len(QUERY)

    def test_long_names_are_wrapped_and_names_of_near_levels_stand_below_each_other(self) -> None:
        levels = [f"a level with number {number} of them" for number in range(8)]
        move = answer({"pain": levels[1]})
        one = replace(FOUND, query={**QUERY, "pain": levels[0]}, counterfactuals=(move,))
        around = DataContext({**AROUND.population, "pain": levels}, meanings={"pain": "word " * 40})
        picture = change_chart(one, around, only_changes=True)
        near = [text for text in drawn(picture, "small", "text") if (text.text or "").startswith("a level")]
        assert [place(text, "y") for text in near] == [47.0, 60.0]
        label = [line for line in told(picture) if line.startswith("word")]
        assert len(label) == 3
        assert label[-1].endswith("…")


class TestParallelChart:
    def test_only_changed_columns_have_an_axis(self) -> None:
        labels = [label.get_text() for label in parallel_chart(FOUND).get_xticklabels()]
        assert labels == ["chol (mg/dl)", "rate (beats/min)", "pain", "vessels"]

    def test_query_and_every_answer_have_a_line(self) -> None:
        assert legend(parallel_chart(FOUND)) == ["answer 1", "answer 2", "answer 3", "query"]

    def test_lines_pass_where_the_values_lie(self) -> None:
        # chol goes from 240.5 to 286, rate from 108 to 131.
        ax = parallel_chart(FOUND)
        lines = {line.get_label(): np.asarray(line.get_ydata(), dtype=float) for line in ax.lines}
        assert lines["query"][:2].tolist() == [1.0, 0.0]
        # Answers are drawn a little apart, the one in the middle where it lies.
        assert lines["answer 2"][0] == pytest.approx((261 - 240.5) / 45.5)
        assert lines["answer 3"][1] == pytest.approx(1.0, abs=0.02)

    def test_missing_value_is_a_gap(self) -> None:
        lines = {line.get_label(): np.asarray(line.get_ydata()) for line in parallel_chart(FOUND).lines}
        assert math.isnan(lines["query"][3])
        assert not math.isnan(lines["answer 3"][3])

    def test_bounded_move_is_one_line(self) -> None:
        assert legend(parallel_chart(BOUNDED)) == ["bounded move", "query"]

    def test_many_answers_share_one_scale_of_levels(self) -> None:
        cities = [f"city {number}" for number in range(12)]
        rows = tuple(answer({"pain": city}) for city in cities)
        ax = parallel_chart(replace(FOUND, counterfactuals=rows))
        assert legend(ax) == [*(f"answer {number}" for number in range(1, 8)), "query"]
        heights = sorted(float(np.asarray(line.get_ydata())[0]) for line in ax.lines[-8:])
        # Levels lie a seventh apart, and lines up to 0.05 aside.
        assert np.diff(heights).min() > 0.09

    def test_result_without_answers_is_refused(self) -> None:
        with pytest.raises(ssba.errors.ArgumentError, match="'infeasible' and changes nothing"):
            parallel_chart(INFEASIBLE)


class TestPlanChart:
    def test_scores_are_marked_as_reached_or_not(self) -> None:
        picture = plan_chart(PLAN)
        # The last of each kind is that of the key.
        heights = [place(one, "cy") for one in drawn(picture, "query")[:-1]]
        heights += [first_point(one)[1] for one in drawn(picture, "answer")[:-1]]
        assert len(heights) == 3
        # As the scores do: 0.3125, 0.4688, 0.5312.
        assert (heights[0] - heights[1]) / (heights[0] - heights[2]) == pytest.approx(
            0.1563 / 0.2187, abs=0.01
        )
        assert told(picture)[-2:] == ["target not reached", "target reached"]

    def test_steps_are_named_and_gains_told(self) -> None:
        shown = told(plan_chart(PLAN))
        assert shown[0] == "score of 'well'"
        assert shown[1:6] == ["0.3125", "0.4688", "+0.156", "0.5312", "+0.0624"]
        assert shown[6:9] == ["now", "chol 286 to 240.5 mg/dl", "rate 108 to 120 beats/min"]

    def test_long_plan_is_numbered_and_its_changes_are_listed(self) -> None:
        shown = told(plan_chart(replace(PLAN, steps=PLAN.steps[:1] * 9)))
        start = shown.index("now")
        assert shown[start : start + 10] == ["now", *"123456789"]
        assert shown[start + 10] == "1: chol 286 to 240.5 mg/dl"
        assert sum("chol 286" in one for one in shown) == 9

    def test_score_of_a_step_that_loses_stands_below_its_place(self) -> None:
        worse = replace(PLAN.steps[0], score_after=0.1, gain=-0.2125)
        picture = plan_chart(replace(PLAN, steps=(worse,)))
        first, second = drawn(picture, "strong")
        marks = drawn(picture, "query")
        assert place(first, "y") < place(marks[0], "cy")
        assert place(second, "y") > place(marks[1], "cy")

    def test_plan_without_scores_or_steps_is_refused(self) -> None:
        with pytest.raises(ssba.errors.ArgumentError, match="no scores"):
            plan_chart(replace(PLAN, score=None))
        with pytest.raises(ssba.errors.ArgumentError, match="no steps"):
            plan_chart(replace(PLAN, steps=()))


class TestLineChart:
    def test_scores_and_the_turn_lie_where_they_were_seen(self) -> None:
        ax = line_chart(SCAN)
        scores, turn = ax.lines
        assert np.asarray(scores.get_xydata()).tolist() == [[0, 0.2], [50, 0.4], [100, 0.8]]
        assert list(np.asarray(turn.get_xdata())) == [62.5, 62.5]
        assert words(ax) == ["ill → well"]

    def test_what_reaches_the_target_is_coloured_from_turn_to_turn(self) -> None:
        (part,) = line_chart(SCAN).patches
        assert (part.get_label(), part.get_extents().width > 0) == ("target reached", True)
        back = replace(
            SCAN, reached=(True, True, False), crossings=(replace(SCAN.crossings[0], reached=False),)
        )
        spans = [patch for patch in line_chart(back).patches if isinstance(patch, Rectangle)]
        assert [(one.get_x(), one.get_width()) for one in spans] == [(0, 62.5)]

    def test_without_scores_only_turns_are_drawn(self) -> None:
        ax = line_chart(replace(SCAN, scores=(None, None, None)))
        assert len(ax.lines) == 1
        assert ax.get_ylabel() == ""


class TestFrequencyChart:
    def test_bars_are_shares_of_the_answers_most_frequent_first(self) -> None:
        shown = told(frequency_chart(COHORT, meanings=AROUND.meanings))
        assert shown[:4] == ["serum cholesterol", "2 of 2 (100%)", "rate", "2 of 2 (100%)"]
        assert shown[4:] == ["raised", "lowered"]

    def test_bar_is_as_long_as_its_share_of_the_whole(self) -> None:
        other = replace(FOUND, counterfactuals=(answer({"rate": 90}),))
        picture = frequency_chart(cohort_of([FOUND, FOUND, FOUND, other]))
        whole = place(drawn(picture, "whole")[0], "width")
        rate = [place(drawn(picture, look)[0], "width") / whole for look in ("up", "down")]
        assert rate == pytest.approx([0.75, 0.25])

    def test_cohort_without_answers_is_refused(self) -> None:
        with pytest.raises(ssba.errors.ArgumentError, match="no query of the cohort has a counterfactual"):
            frequency_chart(cohort_of([BOUNDED]))


class TestDistanceChart:
    def test_curve_is_the_share_of_rows_within_each_distance(self) -> None:
        picture = distance_chart(DISTANCES)
        ways = [one.get("d") or "" for one in drawn(picture, "curve")]
        # From 64 to 716 for distances from 0 to 4; from 230 up to 30 for shares.
        assert ways[0] == "M64 230H145.5V180.0H227.0V130.0H308.5V80.0H390.0V30.0H716"
        assert ways[1] == "M64 230H104.8V130.0H716.0V30.0H716"
        assert told(picture)[-2:] == ["ill (4 rows)", "well (2 rows)"]

    def test_half_lie_within_the_median_of_the_table(self) -> None:
        distances = [0.25, 1.0, 2.0, 4.5]
        picture = distance_chart({"ill": distances})
        assert f"half within {quantiles(distances)['median']:g}" in picture.title

    def test_axes_are_named_with_the_unit_and_have_round_numbers(self) -> None:
        shown = told(distance_chart({"all": [0.0, 1.0, 2.0, 2.3]}, unit="sd"))
        assert "distance to the boundary (sd)" in shown
        assert "rows within that distance" in shown
        assert ["0", "0.5", "1", "1.5", "2"] == [one for one in shown if re.fullmatch(r"[\d.]+", one)]

    def test_large_data_make_no_large_picture(self) -> None:
        distances = np.random.default_rng(0).gamma(2, 2, 100_000).tolist()
        assert len(distance_chart({"all": distances}).svg) < 100_000

    def test_many_groups_are_told_apart(self) -> None:
        picture = distance_chart({str(number): [1.0 + number] for number in range(6)})
        assert len({one.get("class") for one in drawn(picture, "curve")}) == 6

    @pytest.mark.parametrize("only", [0.0, 5e-324, 1e300])
    def test_any_distance_can_be_drawn(self, only: float) -> None:
        assert "nan" not in distance_chart({"all": [only]}).drawn

    def test_distances_are_told_apart_by_prediction(self) -> None:
        well = replace(FOUND, prediction="well", counterfactuals=(answer({"chol": 1.0}, distance=3.0),))
        assert distances_by_prediction([FOUND, well, BOUNDED]) == {"ill": [1.25], "well": [3.0]}

    @pytest.mark.parametrize("given", [[math.nan], [math.inf], [-1.0], [[1.0]]])
    def test_what_is_no_distance_is_refused(self, given: Any) -> None:
        with pytest.raises(ssba.errors.ArgumentError, match=r"distances\['a'\] must be finite numbers"):
            distance_chart({"a": given})

    def test_nothing_to_draw_is_refused(self) -> None:
        with pytest.raises(ssba.errors.ArgumentError, match="no distance to draw"):
            distance_chart({"a": []})


class TestDeclaredOrder:
    """An ordinal column is drawn as it was declared, low to the left and at the bottom."""

    @pytest.mark.parametrize("data", [None, DataContext(SCHOOLED)], ids=["alone", "with data"])
    def test_a_track_goes_from_the_lowest_level_to_the_highest(self, data: DataContext | None) -> None:
        (track,) = tracks_of(ORDINAL, data)
        assert tuple(level for _, level in track.levels) == SCHOOLING
        assert (track.before, track.after) == (0.0, 1.0)

    def test_the_change_chart_puts_low_left_of_high(self) -> None:
        picture = change_chart(ORDINAL, DataContext(SCHOOLED))
        places = [
            (float(one.get("x") or 0), one.text)
            for one in ElementTree.fromstring(picture.svg).iter()
            if one.text in SCHOOLING and one.get("x")
        ]
        assert [name for _, name in sorted(places)] == ["school", "phd"]

    def test_of_many_levels_those_that_matter_are_drawn_in_order(self) -> None:
        order = [f"grade {number}" for number in range(16)]
        track = make_track("a", "grade 14", "grade 3", DataContext({"a": order[::-1]}), order=order)
        levels = [level for _, level in track.levels]
        assert levels == sorted(levels, key=order.index)
        assert {"grade 3", "grade 14"} <= set(levels)
        assert track.before is not None
        assert track.after is not None
        assert track.after < track.before

    def test_numbers_declared_downward_are_drawn_so(self) -> None:
        track = make_track("a", 3, 1, DataContext({"a": [1, 2, 3]}), order=(3, 2, 1))
        assert (track.before, track.after) == (0.0, 1.0)

    def test_parallel_axes_have_the_lowest_level_at_the_bottom(self) -> None:
        ax = parallel_chart(ORDINAL)
        heights = {one.get_text(): one.get_position()[1] for one in ax.texts if one.get_text() in SCHOOLING}
        assert heights == {"school": 0.0, "college": 0.5, "phd": 1.0}


FRAME = pd.DataFrame({"chol": [200.0, 250.0, 300.0]})
WRONG: dict[str, tuple[Callable[[Any], Any], str]] = {
    "change_chart": (change_chart, r"explanation is .*; give what explain\(\) returned"),
    "parallel_chart": (parallel_chart, r"explanation is .*; give what explain\(\) returned"),
    "plan_chart": (plan_chart, r"plan is .*; give what explainer.plan\(explanation\) returned"),
    "line_chart": (line_chart, r"way is .*; give what explainer.scan_line\(x, y\) returned"),
    "frequency_chart": (frequency_chart, r"cohort is .*; give answers.cohort\(\)"),
    "distance_chart": (distance_chart, r"distances is .*; give a mapping .*distances_by_prediction"),
    "distances_by_prediction": (distances_by_prediction, r"explanations is .*; give what explain_many\(\)"),
    "decision_map": (charts.decision_map, r"drawn is .*; give ssba.charts.DecisionMap\("),
}


class TestWrongArguments:
    @pytest.mark.parametrize(
        "given", [FRAME, None, "heart", 3, [1, 2]], ids=["frame", "none", "text", "3", "list"]
    )
    @pytest.mark.parametrize("name", WRONG)
    def test_a_chart_says_what_to_give_instead_of_something_else(self, name: str, given: Any) -> None:
        draw, says = WRONG[name]
        with pytest.raises(ssba.errors.ArgumentError, match=says):
            draw(given)

    @pytest.mark.parametrize("draw", [change_chart, parallel_chart])
    def test_of_many_results_one_is_to_be_picked(self, draw: Callable[[Any], Any]) -> None:
        with pytest.raises(
            ssba.errors.ArgumentError, match=r"of type Explanations; pick one of them, such as"
        ):
            draw(MANY)

    def test_results_are_neither_plans_nor_cohorts(self) -> None:
        with pytest.raises(ssba.errors.ArgumentError, match="plan is of type Explanation;"):
            plan_chart(FOUND)  # type: ignore[arg-type]
        with pytest.raises(ssba.errors.ArgumentError, match="cohort is of type Explanations;"):
            frequency_chart(MANY)  # type: ignore[arg-type]

    @pytest.mark.parametrize("library", [pd.DataFrame, pl.DataFrame, dict])
    def test_a_frame_is_taken_where_the_data_are_wanted(self, library: Callable[[Any], Any]) -> None:
        columns = {name: [now, now] for name, now in QUERY.items()}
        context = DataContext(columns)
        assert change_chart(FOUND, library(columns)).svg == change_chart(FOUND, context).svg

    def test_what_is_neither_a_frame_nor_a_context_is_refused(self) -> None:
        for draw in (change_chart, parallel_chart):
            with pytest.raises(ssba.errors.ArgumentError, match=r"data is 3; give a frame with the columns"):
                draw(FOUND, 3)

    def test_a_context_takes_mappings(self) -> None:
        with pytest.raises(ssba.errors.ArgumentError, match=r"meanings is 'x'; give a mapping"):
            DataContext(meanings="x")  # type: ignore[arg-type]
        with pytest.raises(ssba.errors.ArgumentError, match=r"allowed is \[1\]; give a mapping"):
            DataContext(allowed=[1])  # type: ignore[arg-type]
