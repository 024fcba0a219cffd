"""scikit-learn's warning about names of columns, which a search would show a hundred times."""

import re
import warnings
from typing import Any

from ssba.columns.frames import is_frame


def silence_repeats(model: Any, rows: Any) -> None:
    """Show no more of what was said as a model fitted on an array was asked about a frame, or the reverse.

    Python would show it once a place, but forgets what it showed whenever its rules change, as they do in
    many a call of scikit-learn. The rule is about this text alone, and comes after all rules of the user.
    """
    asked = _first_to_look(model)
    is_named, knows_names = is_frame(rows), hasattr(asked, "feature_names_in_")
    if is_named == knows_names or not hasattr(asked, "n_features_in_"):
        return
    has, fitted = ("has", "without") if is_named else ("does not have valid", "with")
    text = f"X {has} feature names, but {type(asked).__name__} was fitted {fitted} feature names"
    pattern = re.compile(re.escape(text), re.IGNORECASE)
    if not any(rule[1] == pattern for rule in warnings.filters):
        warnings.filterwarnings("ignore", pattern.pattern, UserWarning, append=True)


def _first_to_look(model: Any) -> Any:
    """Return the estimator that sees the rows first, within pipelines and searches for settings."""
    best, steps = getattr(model, "best_estimator_", None), getattr(model, "steps", None)
    if best is not None:
        return _first_to_look(best)
    if isinstance(steps, list) and steps and isinstance(steps[0], tuple):
        return _first_to_look(steps[0][1])
    return model
