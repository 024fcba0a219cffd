"""A model that says that its calls are expensive."""

from dataclasses import dataclass
from typing import Any, final


@final
@dataclass(frozen=True)
class Costly:
    """A model whose calls are expensive however few rows they have, such as calls over a network.

    ``Explainer(ssba.Costly(model), data)`` asks about more rows at once and in fewer calls, as
    ``Options(calls="few")`` does; ``calls="many"`` in a call asks as usual.

    Parameters
    ----------
    model
        Any model that `Explainer` takes.

    Examples
    --------
    >>> Costly(len).model is len
    True
    """

    model: Any
