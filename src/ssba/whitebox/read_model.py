"""The door for models that can be opened: told by their types, and checked on rows."""

from collections.abc import Callable
from typing import Any, TypeVar

from ssba.columns.space import Matrix, Space
from ssba.models.model import Model
from ssba.whitebox.additive import Additive, open_linear
from ssba.whitebox.check_reading import NotReadable
from ssba.whitebox.forest import Trees, open_trees

Opened = Additive | Trees
"""A model whose scores are known everywhere, not only where it was asked."""

Read = TypeVar("Read", Additive, Trees)


def open_model(source: Any, model: Model, space: Space, background: Matrix) -> Opened | None:
    """Open a linear model or an ensemble of trees, or return None for a model that we cannot read.

    Parameters
    ----------
    source
        The user's model, as given. It is asked, never changed.
    model
        The same model, adapted; what is read must give its answers on background rows.
    space
        The columns that encoded rows have.
    background
        Encoded rows.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LogisticRegression
    >>> from ssba.models.model import adapt
    >>> from ssba.columns.space import build_space
    >>> rows = np.array([[0.0, 1.0], [1.0, 0.5], [2.0, 3.0], [3.0, 2.0]])
    >>> fitted = LogisticRegression().fit(rows, [0, 0, 1, 1])
    >>> space, Z = build_space(rows)
    >>> opened = open_model(fitted, adapt(fitted, rows), space, Z)
    >>> bool(np.allclose(opened.weight, fitted.coef_))
    True
    """
    linear = open_linear_model(source, model, space, background)
    return linear if linear is not None else _through(open_trees, source, model, space, background)


def open_linear_model(source: Any, model: Model, space: Space, background: Matrix) -> Additive | None:
    """Open a linear model, which is quick; return None for any other."""
    return _through(open_linear, source, model, space, background)


def _through(row_check: Callable[..., Read | None], *asked: Any) -> Read | None:
    try:
        return row_check(*asked)
    except NotReadable:
        return None
