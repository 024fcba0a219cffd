"""The door for models that can be opened: told by their types, and checked on rows."""

from dataclasses import dataclass
from typing import Any, final

from ssba.columns.space import Matrix, Space
from ssba.models.model import Model
from ssba.whitebox.additive import Additive, is_linear, open_linear
from ssba.whitebox.check_reading import NotReadable, the_users_code
from ssba.whitebox.count_nodes import count_nodes
from ssba.whitebox.forest import Trees, open_trees
from ssba.whitebox.smooth import Smooth, open_smooth
from ssba.whitebox.structure import take_apart

# Nodes of trees that are read without being asked to, which takes up to 8 microseconds each, by library.
_QUICKLY_READ = 60_000

Opened = Additive | Trees
"""A model whose scores are known everywhere, not only where it was asked."""


@final
@dataclass(frozen=True)
class Closed:
    """A model that stays closed, and why, in words for the user."""

    reason: str


def open_model(source: Any, model: Model, space: Space, background: Matrix) -> Opened | Closed:
    """Open a linear model or an ensemble of trees.

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
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> from ssba.models.model import adapt
    >>> from ssba.columns.space import build_space
    >>> rows = np.array([[0.0, 1.0], [1.0, 0.5], [2.0, 3.0], [3.0, 2.0]])
    >>> fitted = LogisticRegression().fit(rows, [0, 0, 1, 1])
    >>> space, Z = build_space(rows)
    >>> opened = open_model(fitted, adapt(fitted, rows), space, Z)
    >>> bool(np.allclose(opened.weight, fitted.coef_))
    True
    >>> other = KNeighborsClassifier(1).fit(rows, [0, 0, 1, 1])
    >>> open_model(other, adapt(other, rows), space, Z).reason
    'KNeighborsClassifier is neither a linear model nor trees that can be opened'
    """
    try:
        parts = take_apart(source)
        if is_linear(parts.last):
            return open_linear(parts, model, space, background)
        return open_trees(parts, model, space, background)
    except NotReadable as reason:
        return Closed(str(reason))


def is_quickly_read(source: Any) -> bool:
    """Tell whether a model is of trees that are few enough to be read in about half a second.

    They are counted, not read, so that it takes no time to leave a large model closed.
    """
    try:
        with the_users_code():
            nodes = count_nodes(take_apart(source).last)
    except NotReadable:
        return False
    return nodes is not None and nodes <= _QUICKLY_READ


def open_slopes(source: Any, model: Model, space: Space, background: Matrix) -> Smooth | None:
    """Open a network or a kernel machine for its slopes, which is quick; return None for any other."""
    try:
        return open_smooth(take_apart(source), model, space, background)
    except NotReadable:
        return None


def open_linear_model(source: Any, model: Model, space: Space, background: Matrix) -> Additive | None:
    """Open a linear model, which is quick; return None for any other."""
    try:
        parts = take_apart(source)
        return open_linear(parts, model, space, background) if is_linear(parts.last) else None
    except NotReadable:
        return None
