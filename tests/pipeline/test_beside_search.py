"""Searches beside a torch module find what searches on the host do; here the device is the processor."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import torch

import ssba
from ssba.errors import ModelError
from ssba.pipeline import beside_search, evidence, nearest_rows
from ssba.pipeline.beside_search import fit_beside
from ssba.search import nearest
from ssba.search.evidence import draw_rows
from ssba.search.ledger import Ledger

COLUMNS = 12
_rng = np.random.default_rng(5)
X = _rng.normal(size=(600, COLUMNS))
WEIGHTS = np.linspace(0.5, 1.5, COLUMNS)


class OutOfMemoryError(RuntimeError):
    """What torch raises where a device has no room, by its name."""


class NotANumberBetween(torch.nn.Module):
    """A logit that is no number just before the boundary, where no background row is."""

    def forward(self, rows: Any) -> Any:
        logit = rows @ torch.as_tensor(WEIGHTS, dtype=rows.dtype)
        return torch.where((logit > -1e-3) & (logit < 0), torch.nan, logit)


def network(dtype: Any = torch.float64, outputs: int = 2) -> Any:
    torch.manual_seed(2)
    layers = torch.nn.Linear(COLUMNS, 24), torch.nn.ReLU(), torch.nn.Linear(24, outputs)
    module = torch.nn.Sequential(*layers).eval()
    with torch.no_grad():
        module[2].bias -= module(torch.as_tensor(X, dtype=torch.float32)).median(dim=0).values
    return module.to(dtype)


def linear() -> Any:
    module = torch.nn.Linear(COLUMNS, 1).double()
    with torch.no_grad():
        module.weight[:] = torch.as_tensor(WEIGHTS)
        module.bias[:] = -1.0
    return module.eval()


def drawn(
    monkeypatch: pytest.MonkeyPatch, explainer: ssba.Explainer, rows: Any, *how: Any
) -> list[tuple[str, Any, Any]]:
    """Return where rows were drawn while others were explained, these rows, and whose each is."""
    made: list[tuple[str, Any, Any]] = []

    def noting(ledger: Ledger, *what: Any) -> Any:
        found, of = draw_rows(ledger, *what)
        made.append(("beside" if ledger.is_beside else "host", np.asarray(found), of))
        return found, of

    with monkeypatch.context() as patched:
        patched.setattr(evidence, "draw_rows", noting)
        explainer.explain_many(rows, *how)
    return made


def negatives(explainer: ssba.Explainer, count: int) -> Any:
    """Return rows that do not reach the target yet."""
    return X[[one.prediction == 0 for one in explainer.predict_many(X)]][:count]


@pytest.fixture
def searches(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Note where each search is made."""
    made: list[str] = []
    searched = nearest.search_all

    def noting(ledger: Ledger, *how: Any) -> Any:
        made.append("beside" if ledger.is_beside else "host")
        return searched(ledger, *how)

    monkeypatch.setattr(nearest_rows, "search_all", noting)
    return made


def best(answer: ssba.results.Explanation) -> ssba.results.Counterfactual:
    """Return the answer that there is."""
    assert answer.best is not None
    return answer.best


def explained_on_host(
    monkeypatch: pytest.MonkeyPatch, explainer: ssba.Explainer, rows: Any, *how: Any, **options: Any
) -> Any:
    with monkeypatch.context() as patched:
        patched.setattr(nearest_rows, "device_of", lambda states: None)
        return explainer.explain_many(rows, *how, **options)


def test_a_plane_is_met_at_its_foot(searches: list[str]) -> None:
    explainer = ssba.Explainer(linear(), X, target=1, distance=ssba.Distance("l2", scale="none"))
    rows = negatives(explainer, 40)
    answers = explainer.explain_many(rows)
    assert searches == ["beside"]
    limits = (1.0 - rows @ WEIGHTS) / np.linalg.norm(WEIGHTS)
    assert [one.status for one in answers] == ["found"] * len(rows)
    ratios = np.array([best(one).distance for one in answers]) / limits
    assert ratios.min() > 1 - 1e-9
    assert ratios.max() < 1.002


def test_rows_are_drawn_beside_the_model_as_on_the_host(monkeypatch: pytest.MonkeyPatch) -> None:
    """Balls around the same queries, as far as the same answers."""
    explainer = ssba.Explainer(linear(), X, target=1)
    rows, rules = negatives(explainer, 20), [ssba.fixed("x1"), "x2 >= x.x2"]
    ((where, beside, of),) = drawn(monkeypatch, explainer, rows, rules)
    asked: list[Any] = []

    def only_the_search(states: Any, regions: Any) -> Any:
        asked.append(regions)
        return fit_beside(states, regions) & (len(asked) == 1)

    with monkeypatch.context() as patched:
        # The search before them ends in the same rows.
        patched.setattr(nearest_rows, "fit_beside", only_the_search)
        ((other, host, owners),) = drawn(monkeypatch, explainer, rows, rules)
    assert (where, other) == ("beside", "host")
    assert len(beside) == 20 * ssba.Options().evidence
    assert (of == owners).all()
    np.testing.assert_allclose(beside, host, rtol=0, atol=1e-12)
    assert (beside[:, 2] >= rows[of, 2]).all()


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_answers_are_as_near_as_those_of_the_host(
    searches: list[str], monkeypatch: pytest.MonkeyPatch, dtype: Any
) -> None:
    explainer = ssba.Explainer(network(dtype), X, target=1)
    rows = negatives(explainer, 40)
    rules = [ssba.fixed("x1", "x2"), ssba.between("x0", -1.0, 1.0)]
    beside = explainer.explain_many(rows, rules)
    assert set(searches) >= {"beside"}
    host = explained_on_host(monkeypatch, explainer, rows, rules)
    assert searches[-1] == "host"
    assert [one.status for one in beside] == [one.status for one in host]
    found = [i for i, one in enumerate(host) if one.status == "found"]
    assert len(found) > 20
    ratios = np.array([best(beside[i]).distance / best(host[i]).distance for i in found])
    assert ratios.mean() < 1.005
    changed = {name for i in found for name in best(beside[i]).changes}
    assert changed
    assert not changed & {"x1", "x2"}
    assert all(-1 <= best(beside[i]).values["x0"] <= 1 for i in found if "x0" in best(beside[i]).changes)


def test_a_query_has_the_same_answer_alone_and_among_others(searches: list[str]) -> None:
    explainer = ssba.Explainer(network(torch.float32), X, target=1)
    rows = negatives(explainer, 12)
    together = explainer.explain_many(rows)
    assert len(together) == 12
    for row, among in zip(rows, together, strict=True):
        assert explainer.explain(row).best == among.best


def test_a_larger_budget_is_never_worse(searches: list[str]) -> None:
    explainer = ssba.Explainer(network(), X, target=1)
    rows = negatives(explainer, 10)
    budgets = [ssba.Budget(rows=most) for most in (5, 30, 60, 120, 250, 500, 1000, 4000)]
    told = [explainer.explain_many(rows, budget=each) for each in budgets]
    nearest = np.array([[one.evidence.nearer_than for one in some] for some in told])
    assert (np.diff(nearest, axis=0) <= 1e-9).all()
    far = np.array([[best(one).distance for one in some] for some in told])
    assert (far[1:] <= 1.0011 * far[:-1]).all()
    assert (far[-1] < far[0]).all()
    assert (far[-1] < 0.99 * far[3]).any()


def test_queries_of_several_goals_are_searched_together(
    searches: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    explainer = ssba.Explainer(network(outputs=3), X)
    rows = X[:30]
    beside = explainer.explain_many(rows)
    assert "beside" in searches
    host = explained_on_host(monkeypatch, explainer, rows)
    assert {one.prediction for one in host} == {0, 1, 2}
    ratios = [best(a).distance / best(b).distance for a, b in zip(beside, host, strict=True)]
    assert np.mean(ratios) < 1.005


def test_a_number_is_reached(searches: list[str]) -> None:
    explainer = ssba.Explainer(
        torch.nn.Sequential(network(outputs=1), torch.nn.Softplus()), X, target=ssba.value_between(0.8, None)
    )
    rows = X[[one.prediction < 0.7 for one in explainer.predict_many(X)]][:10]
    answers = explainer.explain_many(rows)
    assert searches[0] == "beside"
    assert [one.status for one in answers] == ["found"] * len(rows)
    assert min(best(one).prediction for one in answers) >= 0.8


def test_where_memory_ends_fewer_are_searched_at_a_time(
    searches: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    explainer = ssba.Explainer(network(), X, target=1)
    rows = negatives(explainer, 16)
    expected = explainer.explain_many(rows)
    assert searches == ["beside"]
    searches.clear()
    slopes = beside_search.ReaderBeside.slopes

    def refusing(reader: Any, rows: Any, query: Any) -> Any:
        if len(rows) > 60:
            raise OutOfMemoryError("no room")
        return slopes(reader, rows, query)

    monkeypatch.setattr(beside_search.ReaderBeside, "slopes", refusing)
    found = explainer.explain_many(rows)
    assert searches.count("beside") > 2
    assert "host" not in searches
    assert [best(one).distance for one in found] == [best(one).distance for one in expected]


def test_what_is_no_number_is_told_by_the_host(searches: list[str]) -> None:
    explainer = ssba.Explainer(NotANumberBetween(), X, target=1)
    row = X[np.argmin(X @ WEIGHTS)]
    with pytest.raises(ModelError, match="nan"):
        explainer.explain(row)
    assert searches == ["beside", "host"]


@pytest.mark.parametrize(
    ("rules", "options"),
    [
        ([ssba.only("x0", "x1", "x2")], {}),
        (["x0 + x1 <= 3"], {}),
        ([], {"max_changes": 3}),
        ([], {"plausible": True}),
        ([], {"margin": ssba.score_margin(0.01)}),
        ([], {"calls": "few"}),
    ],
    ids=["few columns", "relation", "max_changes", "plausible", "score margin", "few calls"],
)
def test_what_needs_more_than_bounds_is_searched_on_the_host(
    searches: list[str], rules: Any, options: Any
) -> None:
    explainer = ssba.Explainer(network(), X, target=1)
    row = negatives(explainer, 1)[0]
    explainer.explain(row, rules, **options)
    assert searches
    assert "beside" not in searches


class Stairs(torch.nn.Module):
    """A sum of whole numbers, which has no slope anywhere."""

    def forward(self, rows: Any) -> Any:
        return torch.round(rows) @ torch.as_tensor(WEIGHTS, dtype=rows.dtype) - 1.0


class Untold(torch.nn.Module):
    """A sum that is computed where torch cannot see it."""

    def forward(self, rows: Any) -> Any:
        return torch.as_tensor(rows.detach().numpy() @ WEIGHTS - 1.0)


@pytest.mark.parametrize("module", [Stairs(), Untold()], ids=["no slope", "no gradient"])
def test_where_a_module_tells_no_slopes_it_is_searched_on_the_host(
    searches: list[str], module: torch.nn.Module
) -> None:
    explainer = ssba.Explainer(module, X, target=1)
    row = negatives(explainer, 1)[0]
    assert best(explainer.explain(row)).prediction == 1
    assert searches == ["beside", "host"]


def test_l1_is_searched_on_the_host(searches: list[str]) -> None:
    explainer = ssba.Explainer(network(), X, target=1, distance="l1")
    explainer.explain(negatives(explainer, 1)[0])
    assert searches == ["host"]


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_a_module_that_works_in_place_does_not_spoil_the_rows(searches: list[str], dtype: Any) -> None:
    plain = network(dtype)
    spoiling = torch.nn.Sequential(torch.nn.Hardtanh(-1.0, 1.0, inplace=True), *plain)
    careful = torch.nn.Sequential(torch.nn.Hardtanh(-1.0, 1.0), *plain)
    explainers = [ssba.Explainer(module, X, target=1) for module in (spoiling, careful)]
    rows = negatives(explainers[1], 20)
    told, expected = (explainer.explain_many(rows) for explainer in explainers)
    assert "beside" in searches
    near, nearer = (np.array([best(one).distance for one in some]) for some in (told, expected))
    np.testing.assert_allclose(near, nearer, rtol=0.02)
    far = [[abs(best(one).values[name]) for name in best(one).values] for one in told]
    assert np.max(far) > 1


@pytest.fixture(autouse=True)
def same_threads() -> Iterator[None]:
    """Leave the number of threads as it is: sums of 32-bit numbers depend on it."""
    before = torch.get_num_threads()
    yield
    assert torch.get_num_threads() == before


class Batchy(torch.nn.Module):
    """A sum that comes out a little larger among other rows than alone, as sums of 32 bits may."""

    def __init__(self) -> None:
        super().__init__()
        self.weights = torch.nn.Parameter(torch.as_tensor(WEIGHTS, dtype=torch.float32))

    def forward(self, rows: Any) -> Any:
        return rows @ self.weights + (1e-4 if len(rows) > 1 else 0.0)


def test_answers_of_32_bits_reach_when_tried_alone() -> None:
    module = Batchy()
    explainer = ssba.Explainer(module, X, target=1)
    rows = X[WEIGHTS @ X.T < -0.1][:60]
    found = [best(one) for one in explainer.explain_many(rows)]
    assert len(found) == 60
    tried = torch.as_tensor(np.array([list(one.values.values()) for one in found]), dtype=torch.float32)
    with torch.no_grad():
        alone = [float(module(row[None])[0]) for row in tried]
    assert min(alone) > 0
    # So near that among others a nearer row would have been enough.
    assert min(alone) < 1e-3
