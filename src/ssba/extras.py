"""Optional libraries: one wording where a feature needs one that is not installed."""

from importlib.util import find_spec

from ssba.errors import MissingExtra


def require(module: str, extra: str, purpose: str) -> None:
    """Refuse to go on where an optional library is missing, and say how to get it.

    >>> require("numpy", "none", "counting")
    """
    if find_spec(module) is None:
        raise MissingExtra(f"{purpose} needs {module}: pip install 'ssba[{extra}]'")
