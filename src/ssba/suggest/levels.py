"""Whether texts look like levels with an order, such as low, middle, high."""

import re
from collections.abc import Sequence

# Lowest first; words that stand for the same rung are alternatives.
_LADDERS = tuple(
    tuple(frozenset(word.strip() for word in rung.split("|")) for rung in ladder.split(","))
    for ladder in (
        "very low|lowest|extremely low, low|below normal|small|minor, "
        "medium|moderate|middle|normal|average|mid, high|above normal|large|major, "
        "very high|highest|extremely high",
        "none|no|absent|never, minimal|slight|trace|very mild, mild|light, moderate|medium, "
        "severe|serious|heavy|strong, very severe|extreme|critical",
        "never, rarely|seldom, sometimes|occasionally, often|frequently|regularly, usually, always",
        "very poor|very bad|terrible, poor|bad, fair|acceptable|average|neutral|ok, good, very good, "
        "excellent",
        "extra small|xs, small|s, medium|m, large|l, extra large|xl, xxl",
        "strongly disagree, disagree, neutral|neither agree nor disagree|undecided, agree, strongly agree",
        "very dissatisfied, dissatisfied, neutral, satisfied, very satisfied",
        "no education|no schooling|preschool|illiterate, "
        "primary|primary school|elementary|elementary school, "
        "middle school|lower secondary|secondary|secondary school, "
        "high school|hs|hs grad|upper secondary|high school graduate, some college|vocational, "
        "associate|associates, bachelor|bachelors|undergraduate|college|university, "
        "master|masters|graduate|graduate school, doctorate|doctoral|phd",
        "child|infant, teen|teenager|adolescent, young|young adult, adult|middle aged, senior|elderly|old",
        "beginner|novice, intermediate, advanced, expert",
        "junior, mid|regular, senior, lead|principal",
        "bronze, silver, gold, platinum",
        "first|1st, second|2nd, third|3rd, fourth|4th, fifth|5th",
        "down|downsloping|falling|decreasing|worse|declining, flat|stable|level|unchanged|same|constant, "
        "up|upsloping|rising|increasing|better|improving",
        "daily, weekly, monthly, quarterly, yearly|annually",
    )
)

_ROMAN = {"i": 1, "ii": 2, "iii": 3, "iv": 4, "v": 5, "vi": 6, "vii": 7, "viii": 8, "ix": 9, "x": 10}
_NUMBER = re.compile(r"\d+(?:\.\d+)?")
_FEWEST = 3


def ordered_levels(levels: Sequence[str]) -> tuple[str, ...] | None:
    """Return the levels lowest first where they look ordered; None where they do not.

    Examples
    --------
    >>> ordered_levels(["High", "low", "Medium"])
    ('low', 'Medium', 'High')
    >>> ordered_levels(["20-29", ">= 30", "< 20"])
    ('< 20', '20-29', '>= 30')
    >>> ordered_levels(["stage II", "stage I", "stage IV"])
    ('stage I', 'stage II', 'stage IV')
    >>> ordered_levels(["red", "low", "blue"]) is None
    True
    """
    if len(levels) < _FEWEST:
        return None
    for ranks in (_by_ladder(levels), _by_number(levels), _by_roman(levels)):
        if ranks is not None and len(set(ranks)) == len(levels):
            return tuple(level for _, level in sorted(zip(ranks, levels, strict=True)))
    return None


def _by_ladder(levels: Sequence[str]) -> list[float] | None:
    plain = [" ".join(re.split(r"[\W_]+", level.casefold())).strip() for level in levels]
    for ladder in _LADDERS:
        rungs = [next((i for i, rung in enumerate(ladder) if level in rung), -1) for level in plain]
        if -1 not in rungs:
            return [float(rung) for rung in rungs]
    return None


def _by_number(levels: Sequence[str]) -> list[float] | None:
    """Rank by the first number; `less than 5` comes before `5 to 9`, `more than 9` behind it."""
    ranks = []
    frames = set()
    for level in levels:
        text = level.casefold().strip()
        numbers = _NUMBER.findall(text)
        if not numbers or len(numbers) > 2:
            return None
        frames.add(_frame(text))
        ranks.append(float(numbers[0]) + _aside(text))
    return ranks if len(frames) == 1 else None


def _frame(text: str) -> str:
    """Return what is left of a level without numbers, signs and words of comparison."""
    return re.sub(
        r"\d+(?:\.\d+)?|[\W_]+|\b(?:to|over|under|above|below|less|more|than|and|or|up)\b", "", text
    )


def _aside(text: str) -> float:
    if re.match(r"(?:<|under|below|less|up to)", text):
        return -0.5e-6
    return 0.5e-6 if re.match(r"(?:>|over|above|more)", text) else 0.0


def _by_roman(levels: Sequence[str]) -> list[float] | None:
    split = [level.casefold().split() for level in levels]
    if any(not words or words[-1] not in _ROMAN for words in split):
        return None
    if len({tuple(words[:-1]) for words in split}) > 1:
        return None
    return [float(_ROMAN[words[-1]]) for words in split]
