"""The door: what the user's code does wrong keeps a model closed, what ours does wrong is loud."""

import re
from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from ssba.columns.space import build_space
from ssba.models.model import adapt
from ssba.whitebox import additive, forest
from ssba.whitebox.read_model import Closed, Opened, open_model

DATA = np.random.default_rng(0).normal(size=(80, 2))
CLASS = DATA.sum(axis=1) > 0


def opened(model: Any) -> Opened | Closed:
    space, Z = build_space(DATA)
    return open_model(model, adapt(model, DATA), space, Z)


@pytest.mark.parametrize("last", [LogisticRegression(), DecisionTreeClassifier()])
def test_a_step_that_refuses_unusual_rows_keeps_the_model_closed(
    last: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = make_pipeline(StandardScaler(), last).fit(DATA, CLASS)
    assert not isinstance(opened(model), Closed)
    scaled = StandardScaler.transform

    def refusing(self: Any, rows: Any) -> Any:
        if (np.abs(rows) > 5).any():
            raise KeyError("never seen anything like it")
        return scaled(self, rows)

    monkeypatch.setattr(StandardScaler, "transform", refusing)
    assert opened(model) == Closed(
        "the model failed when rows were probed (KeyError: 'never seen anything like it')"
    )


@pytest.mark.parametrize(
    ("last", "module", "name"),
    [(LogisticRegression(), additive, "_read"), (DecisionTreeClassifier(), forest, "_leaves")],
)
def test_an_error_of_our_own_is_loud(
    last: Any, module: Any, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: Any) -> None:
        raise IndexError("a bug")

    monkeypatch.setattr(module, name, broken)
    with pytest.raises(IndexError, match="a bug"):
        opened(last.fit(DATA, CLASS))


def test_a_model_that_treats_one_value_between_the_datas_apart_stays_closed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # No scikit-learn model does this; the probes are a second net below the types.
    model = LogisticRegression().fit(np.round(DATA * 2) * 2, CLASS)
    plain = LogisticRegression.decision_function

    def odd(self: Any, rows: Any) -> Any:
        return plain(self, rows) + np.where(rows[:, 0] == 1.0, 3.0, 0.0)

    monkeypatch.setattr(LogisticRegression, "decision_function", odd)
    space, Z = build_space(np.round(DATA * 2) * 2)
    found = open_model(model, adapt(model, space.decode(Z)), space, Z)
    assert isinstance(found, Closed)
    assert re.fullmatch(r"the model as read disagrees with its own scores at \d+ of \d+ rows", found.reason)
