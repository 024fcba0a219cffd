"""The sections of a report about one query."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from ssba.html import Cell, Markup, element, joined
from ssba.results import prose, text, words
from ssba.views.charts.tracks import DataContext, Track, move_of, tracks_of
from ssba.views.report.pieces import codes, facts, key, note, paragraph, section, table, tiles
from ssba.views.svg import track_picture, track_signs

if TYPE_CHECKING:
    from ssba.results.explanation import Counterfactual, Explanation
    from ssba.results.why_not import WhyNot

_BADGES = {
    "found": ("A feasible change was found", "good"),
    "bounded": ("No feasible change was found", "warn"),
    "infeasible": ("The constraints contradict each other", "bad"),
    "already_there": ("Nothing has to change", "good"),
    "out_of_budget": ("The search ran out of its budget", "warn"),
}


def summary(
    explanation: "Explanation",
    around: DataContext,
    why_not: "WhyNot | None" = None,
) -> Markup:
    """Say what came out: in a word, in a paragraph, in a few numbers."""
    badge, look = _BADGES[explanation.status.value]
    if explanation.status.value == "out_of_budget" and explanation.stopped == "interrupted":
        badge = "The search was interrupted"
    said = prose.sentences(explanation, why_not=why_not, meanings=around.meanings)
    return section(
        "In short",
        element("p", badge, class_=f"badge {look}"),
        paragraph(" ".join(said)),
        tiles(_key_facts(explanation)),
        note(prose.CAUTION),
    )


def _key_facts(explanation: "Explanation") -> dict[str, Any]:
    move = move_of(explanation)
    (now, score), *answers = text.spoken(explanation)
    said: dict[str, Any] = {}
    if explanation.prediction is not None:
        said["The model says now"] = element("span", now, class_="now")
    said["Target"] = explanation.target.strip("'")
    if move is None:
        return said
    reaches = bool(explanation.counterfactuals)
    look = "then" if reaches else "moved"
    after = "With the change" if reaches else "With the bounded move"
    then, score_then = answers[0]
    said[after] = element("span", then, class_=look)
    has_scores = explanation.score is not None and move.score is not None
    if has_scores and not text.is_value(move.prediction, move.score):
        said["Score of the target"] = f"{score} → {score_then}"
    said[f"Distance ({explanation.metric})"] = words.show(move.distance)
    return said


def changes(explanation: "Explanation", around: DataContext) -> Markup | None:
    """Show what changes, now and proposed, against the data."""
    move = move_of(explanation)
    if move is None or not move.changes:
        return None
    reaches = bool(explanation.counterfactuals)
    drawn = tracks_of(explanation, around, only_changes=True)
    wording = prose.wording_of(explanation)
    title = "What would change" if reaches else "The bounded move"
    caption = "Values that change, now and proposed"
    heads = [
        "Column",
        "Now",
        "Proposed",
        "Direction",
        "Where it lies in the data" if drawn[0].shape else "From now to then",
    ]
    return section(
        title,
        key(track_signs(drawn, reaches)),
        table(caption, heads, [_change_row(one, reaches, wording) for one in drawn]),
        _all_answers(explanation, around) if len(explanation.counterfactuals) > 1 else None,
    )


def _change_row(track: Track, reaches: bool, wording: prose.Wording) -> list[Any]:
    look = "then" if reaches else "moved"
    return [
        column_name(track.name, track.label),
        Cell(element("span", words.cell(track.now, track.unit), class_="now"), "value"),
        Cell(element("span", words.cell(track.proposed, track.unit), class_=look), "value"),
        prose.direction_of(track.name, track.now, track.proposed, wording),
        Cell(track_picture(track, reaches).inline, "picture"),
    ]


def column_name(name: str, label: str) -> Markup:
    """Write what a column means, and its name behind."""
    if name == label:
        return element("span", name)
    return joined([label, " ", element("code", name, class_="soft")])


def _all_answers(explanation: "Explanation", around: DataContext) -> Markup:
    answers = explanation.counterfactuals
    changed = [name for name in explanation.query if any(name in one.changes for one in answers)]
    rows = [_answers_row(explanation, around, name) for name in changed]
    predictions, scores = zip(*text.spoken(explanation), strict=True)
    rows.append(["The model says", *predictions])
    if explanation.score is not None and not text.is_value(explanation.prediction, explanation.score):
        rows.append(["Score of the target", *scores])
    rows.append(["Distance", "0", *(words.show(one.distance) for one in answers)])
    heads = ["Column", "Now", *(f"Answer {number + 1}" for number in range(len(answers)))]
    return joined(
        [
            element("h3", "Several answers"),
            table("Answers side by side; changed values are marked", heads, rows),
        ]
    )


def _answers_row(explanation: "Explanation", around: DataContext, name: str) -> list[Any]:
    unit = explanation.units.get(name)
    cells = [_answer_cell(one, name, unit) for one in explanation.counterfactuals]
    now = Cell(words.cell(explanation.query[name], unit), "value")
    return [column_name(name, around.label(name)), now, *cells]


def _answer_cell(answer: "Counterfactual", name: str, unit: str | None) -> Cell:
    written = words.cell(answer.values[name], unit)
    return Cell(element("span", written, class_="changed") if name in answer.changes else written, "value")


def evidence(explanation: "Explanation") -> Markup | None:
    """Say what speaks for there being no nearer answer."""
    lines = text.shown_lines(explanation)
    if not lines:
        return None
    return section(
        "How sure it is", *(paragraph(line) for line in lines), paragraph(_ROWS_ASKED, class_="soft small")
    )


_ROWS_ASKED = (
    "The proposed row was written in the units of the data, checked against every constraint and asked of "
    "the model again."
)


def unchanged(explanation: "Explanation", around: DataContext) -> Markup | None:
    """Show the rest of the row: what stays, and what a constraint holds."""
    stays = [track for track in tracks_of(explanation, around) if not track.is_changed]
    if not stays:
        return None
    title = "What stays" if move_of(explanation) else "The row"
    rows = [_stays_row(track) for track in stays]
    has_data = any(track.shape for track in stays)
    heads = ["Column", "Value", "Rule", *(["Where it lies in the data"] if has_data else [])]
    if not has_data:
        rows = [row[:3] for row in rows]
    return section(title, table("Values that stay as they are", heads, rows))


def _stays_row(track: Track) -> list[Any]:
    return [
        column_name(track.name, track.label),
        Cell(words.cell(track.now, track.unit), "value"),
        "fixed" if track.is_fixed else "may change",
        Cell(track_picture(track).inline, "picture"),
    ]


def constraints(explanation: "Explanation") -> Markup | None:
    """List what was asked for, as text."""
    if not (explanation.constraints or explanation.options.limits):
        return None
    parts: list[Any] = []
    if explanation.constraints:
        parts += [
            paragraph(
                "Every proposed row meets all of these. A bare name is the new value, x.name the value now.",
                class_="soft small",
            )
        ]
        parts.append(codes(explanation.constraints))
    if explanation.clash:
        parts += [element("h3", "These contradict each other"), codes(explanation.clash)]
    if explanation.options.limits:
        parts += [element("h3", "Further limits"), codes(explanation.options.limits)]
    return section("Constraints", *parts)


def provenance(explanations: Iterable["Explanation"]) -> Markup:
    """Say how results were found, for whoever wants to repeat it."""
    items = list(explanations)
    first = items[0]
    versions = sorted({f"{name} {version}" for one in items for name, version in one.versions.items()})
    said = {
        "Model rows asked": f"{sum(one.rows_used for one in items):,}",
        "Seconds": f"{sum(one.seconds for one in items):.2f}",
        "Seed": words.join(sorted({str(one.seed) for one in items})),
        "Distance": words.join(sorted({one.metric for one in items})),
        "Target": words.join(sorted({one.target for one in items})[:5]),
        "Model fingerprint": element("code", first.model_fingerprint) if first.model_fingerprint else "none",
        "Versions": ", ".join(versions) or "unknown",
    }
    return section("How it was found", facts(said))
