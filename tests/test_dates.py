"""Columns of dates, from the frame to the report: read, constrained, changed, shown and written back."""

import datetime as dt
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from tests.support import every

import ssba

_rng = np.random.default_rng(0)
_starts = pd.Timestamp("2022-01-01") + pd.to_timedelta(_rng.integers(0, 700, 200), unit="D")
CONTRACTS = pd.DataFrame(
    {
        "signed": _starts,
        "ends": _starts + pd.to_timedelta(_rng.integers(10, 200, 200), unit="D"),
        "pay": _rng.integers(20, 80, 200),
    }
)
QUERY: dict[str, Any] = {"signed": "2023-01-10", "ends": "2023-03-01", "pay": 50}
FORMS: dict[str, Callable[[], Any]] = {
    "pandas": lambda: CONTRACTS,
    "pandas seconds": lambda: CONTRACTS.astype({"signed": "datetime64[s]", "ends": "datetime64[ns]"}),
    "pandas arrow": lambda: CONTRACTS.astype({"signed": pd.ArrowDtype(pa.timestamp("us"))}),
    "polars": lambda: pl.from_pandas(CONTRACTS),
    "polars dates": lambda: pl.from_pandas(CONTRACTS).with_columns(pl.col("signed", "ends").cast(pl.Date)),
    "pyarrow": lambda: pa.Table.from_pandas(CONTRACTS),
    "pyarrow dates": lambda: pa.Table.from_pandas(CONTRACTS).cast(
        pa.schema([("signed", pa.date32()), ("ends", pa.date32()), ("pay", pa.int64())])
    ),
}


def days(rows: Any) -> Any:
    """Return how many days lie between signing and end."""
    frame = nw.from_native(rows, eager_only=True)
    ends, signed = (np.asarray(frame[name].to_numpy(), dtype="datetime64[us]") for name in ("ends", "signed"))
    return (ends - signed) / np.timedelta64(1, "D")


def is_long(rows: Any) -> Any:
    return days(rows) + nw.from_native(rows, eager_only=True)["pay"].to_numpy() > 180


def explainer(form: str = "pandas", **settings: Any) -> ssba.Explainer:
    return ssba.Explainer(is_long, FORMS[form](), True, **settings)


@pytest.mark.parametrize("form", FORMS)
class TestEveryLibrary:
    def test_the_model_gets_the_dtypes_of_the_data(self, form: str) -> None:
        data, seen = FORMS[form](), []

        def model(rows: Any) -> Any:
            seen.append(nw.from_native(rows, eager_only=True).schema)
            return is_long(rows)

        ssba.Explainer(model, data, True).explain(QUERY)
        assert every(one == nw.from_native(data, eager_only=True).schema for one in seen)

    def test_an_answer_is_a_row_of_them_that_the_model_takes(self, form: str) -> None:
        answer = explainer(form).explain(QUERY, ["pay == x.pay", "signed == x.signed"])
        # 180 days less 50 of pay, and one more, since the model asks for more than that.
        assert answer.best is not None
        assert answer.best.values == {**QUERY, "ends": "2023-05-21"}
        assert is_long(answer.best.row).tolist() == [True]
        assert nw.from_native(answer.best.row).schema == nw.from_native(FORMS[form]()).schema
        assert answer.evidence.proof == "exhausted"

    def test_rows_of_the_data_are_queries(self, form: str) -> None:
        rows = nw.from_native(FORMS[form](), eager_only=True).head(6).to_native()
        many = explainer(form).explain_many(rows)
        assert [one.query["signed"] for one in many] == [f"{one:%Y-%m-%d}" for one in CONTRACTS["signed"][:6]]
        assert nw.from_native(many.rows()).schema == nw.from_native(rows).schema

    def test_results_survive_json_and_pickle(self, form: str) -> None:
        answer = explainer(form).explain(QUERY)
        again = ssba.results.Explanation.from_json(answer.to_json())
        assert again == answer == pickle.loads(pickle.dumps(answer))  # noqa: S301
        assert again.best is not None
        assert is_long(again.best.row).tolist() == [True]

    def test_a_missing_cell_may_be_filled(self, form: str) -> None:
        frame = nw.from_native(FORMS[form](), eager_only=True)
        gaps = frame.with_columns(nw.when(nw.col("pay") < 70).then(nw.col("ends"))).to_native()
        explainer = ssba.Explainer(lambda rows: np.nan_to_num(days(rows), nan=0.0) > 100, gaps, True)
        query = {**QUERY, "ends": None}
        assert explainer.explain(query, ["signed == x.signed"]).best is None
        best = explainer.explain(query, ["signed == x.signed", ssba.may_fill("ends")]).best
        assert best is not None
        assert best.values["ends"] > "2023-04-20"


class TestConstraints:
    @pytest.mark.parametrize(
        "limit",
        [
            "ends <= '2023-04-30'",
            ssba.between("ends", None, "2023-04-30"),
            ssba.between("ends", None, dt.date(2023, 4, 30)),
            ssba.between("ends", None, pd.Timestamp("2023-04-30")),
            ssba.between("ends", None, np.datetime64("2023-04-30")),
        ],
    )
    def test_limits_are_dates_in_any_form(self, limit: Any) -> None:
        best = explainer().explain(QUERY, [limit, "pay == x.pay"]).best
        assert best is not None
        assert best.values["ends"] <= "2023-04-30"
        assert str(limit).endswith("ends <= '2023-04-30'")

    def test_a_range_of_dates_is_read_from_text(self) -> None:
        best = explainer().explain(QUERY, ["'2023-02-01' <= signed <= '2023-02-10'"]).best
        assert best is not None
        assert "2023-02-01" <= best.values["signed"] <= "2023-02-10"

    def test_they_are_compared_with_the_query_and_with_each_other(self) -> None:
        rules = ["signed >= x.signed", "ends - signed <= 120", "ends <= x.ends + 90"]
        best = explainer().explain(QUERY, rules).best
        assert best is not None
        assert best.values["signed"] >= QUERY["signed"]
        assert days(best.row)[0] <= 120
        assert best.values["ends"] <= "2023-05-30"

    def test_within_is_a_number_of_days(self) -> None:
        answer = explainer().explain(QUERY, [ssba.within("ends", amount=20), "signed within 5", "pay <= 200"])
        assert answer.best is not None
        assert answer.best.values["ends"] <= "2023-03-21"
        assert answer.best.values["signed"] >= "2023-01-05"

    def test_values_are_listed_and_rules_have_conditions(self) -> None:
        rules = ["ends in {'2023-06-01', '2023-07-01'}", "if signed >= '2023-01-01': pay == x.pay"]
        best = explainer().explain(QUERY, rules).best
        assert best is not None
        assert best.values["ends"] == "2023-06-01"

    @pytest.mark.parametrize(
        ("rule", "words"),
        [
            ("signed >= 19000", ["'signed'", "19000 is not a date", "2024-01-31"]),
            ("signed >= 2023-06-01", ["'signed' holds dates", "'2023 - 6 - 1'", "in quotes"]),
            ("2023-06-01 <= x.signed", ["'signed' holds dates", "in quotes"]),
            ("signed >= 'soon'", ["'signed'", "'soon' is not a date"]),
            ("signed >= pay", ["'signed' holds dates", "'pay' is integer"]),
            ("signed within 20%", ["'signed' holds dates", "amount=30"]),
            ("'2023-05-01' <= signed <= '2023-01-01'", ["above", "swap"]),
            ("pay >= '2023-05-01'", ["'pay'", "not a number"]),
        ],
    )
    def test_what_is_no_date_is_refused(self, rule: str, words: list[str]) -> None:
        with pytest.raises(ssba.errors.ConstraintError) as caught:
            explainer().explain(QUERY, [rule])
        for word in words:
            assert word in str(caught.value)

    def test_the_size_of_a_relaxation_is_a_share_of_the_dates_there_are(self) -> None:
        told = ssba.Explainer(lambda rows: (rows["signed"] >= "2023-06-01").to_numpy(), CONTRACTS, True)
        found = told.explain(QUERY, ["signed <= '2023-02-01'"])
        why = told.why_not(found)
        assert why.best is not None
        width = (CONTRACTS["signed"].max() - CONTRACTS["signed"].min()).days
        assert why.best.size == pytest.approx(120 / width, rel=0.02)


class TestCells:
    def test_a_row_without_a_date_is_a_query(self) -> None:
        data = CONTRACTS.copy()
        data.loc[::9, "ends"] = pd.NaT
        told = ssba.Explainer(lambda rows: np.nan_to_num(days(rows), nan=0.0) > 100, data, True)
        assert told.explain(data.iloc[[0]]).query["ends"] is None
        assert told.explain(data.iloc[0]).query["ends"] is None

    @pytest.mark.parametrize("cell", [5, "yesterday", dt.datetime(2024, 1, 1, tzinfo=dt.UTC), "3000-01-01"])
    def test_a_cell_that_is_no_date_of_the_column_is_refused(self, cell: Any) -> None:
        with pytest.raises(ssba.errors.SchemaError, match="'ends'"):
            explainer("pandas seconds").explain({**QUERY, "ends": cell})

    def test_a_column_of_numbers_is_not_taken_for_dates(self) -> None:
        with pytest.raises(ssba.errors.SchemaError, match=r"'signed'.*convert"):
            explainer().explain_many(CONTRACTS.assign(signed=1.0))

    def test_moments_keep_the_step_of_the_data(self) -> None:
        hours = pd.Timestamp("2024-01-01") + pd.to_timedelta(np.arange(300) * 7 % 500, unit="h")
        data = pd.DataFrame({"at": hours, "load": _rng.normal(size=300)})
        told = ssba.Explainer(
            lambda rows: rows["at"].to_numpy() > np.datetime64("2024-01-10T05:30"), data, True
        )
        answer = told.explain({"at": "2024-01-02T03:00:00", "load": 0.5})
        assert answer.best is not None
        assert answer.best.values["at"] == "2024-01-10T06:00:00"
        assert told.columns["at"].step == pytest.approx(1 / 24)


class TestAdvice:
    def test_columns_show_dates(self) -> None:
        line = repr(explainer().columns).splitlines()[3]
        assert line.split()[:6] == ["signed", "date", CONTRACTS["signed"].min().date().isoformat(), "to",
                                    CONTRACTS["signed"].max().date().isoformat(), "days"]  # fmt: skip

    def test_the_sentence_has_iso_dates(self) -> None:
        answer = explainer().explain(QUERY, ["pay == x.pay", "signed == x.signed"])
        assert "ends from 2023-03-01 to 2023-05-21" in answer.sentence

    def test_a_plan_makes_visits_of_so_many_days(self) -> None:
        told = explainer()
        answer = told.explain(QUERY, ["pay == x.pay", "signed == x.signed"])
        plan = told.plan(answer, max_step={"ends": 40})
        reached = [step.values["ends"] for step in plan.steps]
        assert reached == ["2023-04-10", "2023-05-20", "2023-05-21"]

    def test_ranges_and_trials_are_of_dates(self) -> None:
        told = explainer()
        answer = told.explain(QUERY, ["pay == x.pay", "signed == x.signed"])
        assert told.ranges(answer, n_samples=50)["ends"].low == "2023-05-21"
        assert not told.try_values(answer, {"ends": "2023-05-20"}).reached
        assert told.try_values(answer, {"ends": dt.date(2023, 5, 21)}).reached

    def test_what_to_relax_is_a_date(self) -> None:
        told = explainer()
        bounded = told.explain(QUERY, ["pay == x.pay", "signed == x.signed", "ends <= '2023-04-01'"])
        first = told.why_not(bounded).relaxations[0]
        assert first.sentence.startswith("Let ends be as late as 2023-05-21 instead of 2023-04-01")

    def test_the_cohort_counts_days(self) -> None:
        use = (
            explainer()
            .explain_many(CONTRACTS[:12], ["pay == x.pay", "signed == x.signed"])
            .cohort()
            .columns[0]
        )
        assert (use.column, use.unit) == ("ends", "days")
        assert use.up > 0
        assert use.moves == ()

    def test_reports_and_certificates_have_dates(self, tmp_path: Path) -> None:
        told = explainer()
        answer = told.explain(QUERY, ["pay == x.pay", "signed == x.signed"])
        page = told.report(answer, tmp_path / "report.html").read_text(encoding="utf-8")
        assert "2023-05-21" in page
        assert "Timestamp" not in page
        assert told.check_certificate(told.certificate(answer)).passed

    def test_suggested_room_is_in_days(self) -> None:
        proposed = ssba.suggest_constraints(CONTRACTS)
        assert "%" not in proposed.texts[0]
        explainer().explain(QUERY, list(proposed.texts))
