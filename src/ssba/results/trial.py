"""A trial: what the model says about an edited row, and what is still missing."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from ssba.json_form import JsonForm
from ssba.results.explanation import Counterfactual
from ssba.results.plan import change_words
from ssba.results.prediction import says
from ssba.results.words import cell, columns, join, quoted, show_both


@dataclass(frozen=True)
class Trial(JsonForm):
    """The query with some cells edited by the user, and the model's answer to it.

    Attributes
    ----------
    tried : dict
        What was edited: column -> (before, after).
    values : dict
        The whole edited row.
    prediction, score
        What the model says about it; the score is None where the model gives none.
    score_before : float or None
        The score of the query.
    reached : bool
        Whether the edited row reaches the target.
    broken : tuple of str
        The constraints that it breaks, as text; for a limit, the option as it was given, such as
        ``max_changes=1``. A row that reaches the target may break the margin that was asked for beside it.
    outside : tuple of str
        Cells beyond what the data show or the column holds, in words.
    enough : bool
        Whether the edited row is an answer: it reaches the target and nothing stands against it.
    answer : Counterfactual or None
        The nearest row that was found to be an answer, with what was tried kept where that is possible. None
        where the trial itself is enough, or where no answer was found.
    missing : dict
        What still has to change, from the edited row to that answer: column -> (tried, needed).
    distance_left : float or None
        How far that is, in the explainer's metric.
    keeps : bool
        Whether the answer keeps all that was tried; true where there is none.
    target : str
        What is to be reached, in words.
    units : dict
        The units of the columns that have one.
    """

    tried: dict[str, tuple[Any, Any]]
    values: dict[str, Any]
    prediction: Any
    score: float | None
    score_before: float | None
    reached: bool
    broken: tuple[str, ...]
    outside: tuple[str, ...]
    enough: bool
    answer: Counterfactual | None
    missing: dict[str, tuple[Any, Any]]
    distance_left: float | None
    keeps: bool
    target: str
    units: dict[str, str] = field(default_factory=dict)

    @property
    def sentence(self) -> str:
        """What came of it, in a few plain sentences."""
        return " ".join([_verdict(self), *_objections(self), *_still_missing(self)])

    def __repr__(self) -> str:
        if not self.missing:
            return self.sentence
        lines = [("column", "tried", "needed")]
        lines += [(name, *show_both(*both, self.units.get(name))) for name, both in self.missing.items()]
        return f"{self.sentence}\n\n{columns(lines)}"


def _verdict(trial: Trial) -> str:
    edits = join(f"{name} = {cell(after, trial.units.get(name))}" for name, (_, after) in trial.tried.items())
    edited = f"With {edits}" if trial.tried else "With nothing edited"
    return f"{edited} the model predicts {says(trial)}."


def _objections(trial: Trial) -> Iterable[str]:
    if trial.broken:
        yield f"It breaks {quoted(trial.broken)}."
    if trial.outside:
        yield f"{join(trial.outside)}."


def _still_missing(trial: Trial) -> Iterable[str]:
    if trial.enough:
        yield "Nothing is missing."
    elif trial.answer is None:
        all_of_it = " with all that was asked for" if trial.reached else ""
        yield f"From there no feasible row was found that reaches the target{all_of_it}."
    else:
        kept = "" if trial.keeps else " (the nearest answer does not keep every edit)"
        yield f"Still missing{kept}: {change_words(trial.missing, trial.units)}."
