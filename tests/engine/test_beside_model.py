"""Boundary points of torch modules are found beside the module: the same ones as through the host."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.ensemble import RandomForestClassifier

import ssba
from ssba.errors import ModelError
from ssba.index import sampling
from ssba.index.point_store import DeviceBlock, MemoryBlock

_rng = np.random.default_rng(3)
X = _rng.normal(size=(300, 6))


class OutOfMemoryError(RuntimeError):
    """What torch raises where a device has no room, by its name."""


class Narrow(torch.nn.Module):
    """A module that has room for so many rows."""

    def __init__(self, inner: Any, room: int) -> None:
        super().__init__()
        self.inner, self.room, self.refused = inner, room, 0

    def forward(self, rows: Any) -> Any:
        if len(rows) > self.room:
            self.refused += 1
            raise OutOfMemoryError("no room")
        return self.inner(rows)


class NotANumberBeyond(torch.nn.Module):
    """A logit that is not a number where the first column is large, though never for background rows."""

    def forward(self, rows: Any) -> Any:
        between = (rows[:, 0] > 0.4) & (rows[:, 0] < 0.6)
        return torch.where(between, torch.nan, rows[:, :1].squeeze(1))


def network(outputs: int = 2, dtype: Any = torch.float64) -> Any:
    torch.manual_seed(1)
    layers = torch.nn.Linear(6, 12), torch.nn.Tanh(), torch.nn.Linear(12, outputs)
    module = torch.nn.Sequential(*layers).eval()
    with torch.no_grad():
        module[2].bias -= module(torch.as_tensor(X, dtype=torch.float32)).median(dim=0).values
    return module.to(dtype)


def on_host(monkeypatch: pytest.MonkeyPatch, explainer: ssba.Explainer, count: int, **how: Any) -> Any:
    with monkeypatch.context() as patched:
        patched.setattr(sampling, "beside_model", lambda *_: None)
        found = explainer.sample_boundary(count, **how)
    assert all(isinstance(block, MemoryBlock) for block in found._store.blocks())
    return found


def beside(explainer: ssba.Explainer, count: int, **how: Any) -> Any:
    found = explainer.sample_boundary(count, **how)
    assert all(isinstance(block, DeviceBlock) for block in found._store.blocks())
    return found


TARGETS: dict[str, tuple[int, Any]] = {
    "class": (2, 1),
    "one of three": (3, 2),
    "any other": (3, None),
    "logit": (1, 1),
    "number": (1, ssba.value_between(low=0.1)),
}


@pytest.mark.parametrize("name", TARGETS)
def test_points_are_those_of_the_host(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    outputs, target = TARGETS[name]
    found = beside(ssba.Explainer(network(outputs), X, target=target), 3000)
    wanted = on_host(monkeypatch, ssba.Explainer(network(outputs), X, target=target), 3000)
    assert len(found) == len(wanted) == 3000
    assert found.rows_used == wanted.rows_used
    np.testing.assert_allclose(found.points, wanted.points, rtol=0, atol=1e-12)
    assert found.verify().held == 3000


def test_in_32_bits_they_are_so_up_to_rounding(monkeypatch: pytest.MonkeyPatch) -> None:
    data = X.astype(np.float32)
    found = beside(ssba.Explainer(network(dtype=torch.float32), data, target=1), 5000)
    wanted = on_host(monkeypatch, ssba.Explainer(network(dtype=torch.float32), data, target=1), 5000)
    assert found.points.dtype == np.float32
    assert found.verify().held == 5000
    # Where rounding decides a halving, the bracket is the one beside it.
    apart = np.abs(found.points - wanted.points).max(axis=1)
    assert (apart < 1e-5).mean() > 0.99
    assert apart.max() < 0.01


def test_whole_numbers_and_zero_one_columns_stay_legal(monkeypatch: pytest.MonkeyPatch) -> None:
    data = np.round(X * 4)
    data[:, 0] = X[:, 0] > 0
    found = beside(ssba.Explainer(network(), data, target=1), 2000)
    wanted = on_host(monkeypatch, ssba.Explainer(network(), data, target=1), 2000)
    assert (found.points == wanted.points).all()
    assert (found.points == np.round(found.points)).all()
    assert set(np.unique(found.points[:, 0])) == {0.0, 1.0}


@pytest.mark.parametrize("tolerance", [0.2, 1e-9])
def test_any_tolerance_is_kept(tolerance: float) -> None:
    module = network(dtype=torch.float32)
    found = beside(ssba.Explainer(module, X, target=1), 500, tolerance=tolerance)
    logits = module.double()(torch.as_tensor(found.points)).detach().numpy()
    lead = logits[:, 1] - logits[:, 0]
    assert (lead > -1e-6).all()
    assert (np.median(lead) < 1e-5) == (tolerance < 1e-6)


def test_less_room_takes_smaller_batches() -> None:
    narrow = Narrow(network(), 70_000)
    explainer = ssba.Explainer(narrow, X, target=1)
    narrow.room = 3000
    found = explainer.sample_boundary(20_000)
    assert narrow.refused >= 2
    assert found.digest() == beside(ssba.Explainer(network(), X, target=1), 20_000).digest()
    narrow.room = 100
    with pytest.raises(ModelError, match="raised OutOfMemoryError: no room"):
        explainer.sample_boundary(20_001)


def test_an_answer_that_is_no_number_is_told_as_ever() -> None:
    data = np.concatenate([np.full((50, 1), -1.0), np.full((50, 1), 1.0)])
    explainer = ssba.Explainer(NotANumberBeyond(), data + 0.01 * _rng.normal(size=(100, 1)), target=1)
    with pytest.raises(ModelError, match="nan"):
        explainer.sample_boundary(1000)


def test_files_hold_the_same_points_in_blocks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sampling, "BLOCK_PAIRS", 1000)
    explainer = ssba.Explainer(network(), X, target=1)
    kept = explainer.sample_boundary(2500, path=tmp_path / "index")
    assert [block.rows for block in kept._store.blocks()] == [1000, 1000, 500]
    more = explainer.sample_boundary(4000, path=tmp_path / "index")
    assert more.digest() == beside(ssba.Explainer(network(), X, target=1), 4000).digest()
    assert more.rows_used == kept.rows_used * 1500 // 2500


def test_a_module_that_moved_or_became_finer_is_followed() -> None:
    module = network(dtype=torch.float32)
    explainer = ssba.Explainer(module, X, target=1)
    in_32_bits = beside(explainer, 200)
    module.double()
    in_64_bits = beside(explainer, 200)
    assert (in_32_bits.points.astype(np.float32) == in_32_bits.points).all()
    assert not (in_64_bits.points.astype(np.float32) == in_64_bits.points).any(axis=1).all()


def test_answers_use_points_that_lie_on_the_device() -> None:
    explainer = ssba.Explainer(network(), X, target=1)
    known = beside(explainer, 2000)
    query = next(row for row in X if explainer.predict(row).prediction == 0)
    near = known.nearest(query, k=1)
    best = explainer.explain(query, boundary=known).best
    assert best is not None
    assert best.distance <= near.distances[0]


def test_what_needs_the_host_goes_there() -> None:
    def kinds(explainer: ssba.Explainer, **how: Any) -> set[type]:
        return {type(block) for block in explainer.sample_boundary(100, **how)._store.blocks()}

    missing = pd.DataFrame(X, columns=list("abcdef"))
    missing["g"] = np.where(_rng.random(300) < 0.3, "yes", "no")

    def by_text(rows: Any) -> Any:
        return network()(torch.as_tensor(rows[list("abcdef")].to_numpy().copy())).argmax(dim=1)

    assert kinds(ssba.Explainer(by_text, missing, target=1)) == {MemoryBlock}
    odds = ssba.Explainer(network(), X, target=ssba.probability(1, at_least=0.5))
    assert kinds(odds) == {MemoryBlock}
    assert kinds(ssba.Explainer(network(), X, target=1), crossings="all") == {MemoryBlock}


@pytest.mark.parametrize("target", ["high", None])
def test_twins_of_other_models_are_asked_beside_them_too(target: Any) -> None:
    labels = np.where(X[:, 0] + X[:, 1] * X[:, 2] > 0, "high", "low")
    forest = RandomForestClassifier(10, random_state=0).fit(X, labels)
    found = beside(ssba.Explainer(ssba.to_torch(forest, X), X, target=target), 2000)
    wanted = ssba.Explainer(forest, X, target=target).sample_boundary(2000)
    np.testing.assert_allclose(found.points, wanted.points, rtol=0, atol=1e-12)
    assert found.verify().held == 2000
