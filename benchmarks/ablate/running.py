"""All cases under one variant, in a process of its own."""

from pathlib import Path

from benchmarks.ablate.measuring import Found, Place, Table, chosen, measure
from benchmarks.ablate.variants import Variant
from benchmarks.golden.table import Half
from benchmarks.nearest.limits import Limits
from benchmarks.nearest.plans import build
from benchmarks.nearest.sources import NoDataError


def run(variant: Variant, names: list[str], half: Half, most: int | None, data: Path | None) -> Table:
    """Measure all cases under one variant."""
    limits = Limits()
    found: dict[Place, Found] = {}
    with variant.in_force():
        for name in names:
            try:
                case = build(name, data)
            except NoDataError:
                continue
            which = chosen(case, limits, half, most)
            places: list[Place] = [(name, "labels"), (name, "scores")] if which else []
            for place in places:
                found[place] = measure(case, place[1], which, limits)
    return found
