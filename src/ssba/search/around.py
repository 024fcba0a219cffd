"""Directions that no slope shows: single columns, and with few columns all around query and best row."""

import numpy as np

from ssba.search.descend import descend, ways_from
from ssba.search.draws import Draws
from ssba.search.ledger import Ledger
from ssba.search.rays import race, rays_to
from ssba.search.regions import Matrix, Numbers, Vector
from ssba.search.settings import SETTINGS


def along_columns(ledger: Ledger, at: Numbers) -> None:
    """Ask about a change of each column alone, both ways, a little nearer than the best row."""
    regions, settings = ledger.regions, SETTINGS.around
    at = at[np.isfinite(ledger.best[at])]
    who, column = np.nonzero(regions.moves[at])
    both = []
    for sign in (1.0, -1.0):
        ends = regions.start[at[who]]
        ends[np.arange(len(who)), column] += sign * ledger.best[at[who]] * regions.scale[column]
        both.append(ends)
    of = np.concatenate([at[who], at[who]])
    order = np.argsort(of, kind="stable")
    pulled, fine = regions.pull_in(np.concatenate(both)[order], of[order])
    rays = rays_to(ledger, pulled[fine], of[order][fine])
    shares = rays.shares(settings.along * ledger.best[rays.at])
    _go_in(ledger, rays.rows(np.arange(len(rays.at)), shares), rays.at)


def _go_in(ledger: Ledger, rows: Matrix, at: Numbers) -> Numbers:
    """Ask about those rows that are feasible and nearer than the best; close in where one reaches."""
    kept = np.flatnonzero(ledger.regions.contains(rows, at) & (ledger.distance(rows, at) < ledger.best[at]))
    kept = kept[np.argsort(at[kept], kind="stable")]
    rows, at = rows[kept], at[kept]
    hits = ledger.ask(rows, at).reached
    names, group = np.unique(at[hits], return_inverse=True)
    race(rays_to(ledger, rows[hits], at[hits]), group, 1, SETTINGS.descent.tight)
    return names


def _few_columns(ledger: Ledger, at: Numbers) -> Numbers:
    columns = ledger.regions.moves[at].sum(axis=1)
    return np.asarray(
        at[(columns > 1) & (columns <= SETTINGS.race.few_columns) & np.isfinite(ledger.best[at])]
    )


def elsewhere(ledger: Ledger, at: Numbers, start_margin: Vector | None, draws: Draws) -> None:
    """Ask all around the query, a little nearer than the best row, and go down from where that reaches.

    With few columns this finds other arms of the boundary; with many it would find nothing.
    """
    regions, settings = ledger.regions, SETTINGS.around
    at = _few_columns(ledger, at)
    for number in range(settings.tries):
        at = at[ledger.goes_on(at)]
        if not len(at):
            return
        rng = draws.of("elsewhere", number).generator
        drawn = rng.normal(size=(settings.directions, regions.x.shape[1]))
        inward = np.where(rng.random(len(drawn)) < 0.5, 0.99, rng.uniform(0.4, 0.99, len(drawn)))
        of = np.repeat(at, len(drawn))
        way = np.where(regions.moves[of], np.tile(drawn, (len(at), 1)), 0.0)
        way /= np.sqrt((way * way).sum(axis=1))[:, None]
        best = ledger.best_row[of]
        aims = regions.start[of] + settings.out * ledger.best[of][:, None] * way * regions.scale
        aims = np.where(regions.moves[of], aims, best)
        pulled, fine = regions.pull_in(aims, of)
        rays = rays_to(ledger, pulled[fine], of[fine])
        far = np.tile(inward, len(at))[fine] * ledger.best[of[fine]]
        rows = rays.rows(np.arange(len(rays.at)), rays.shares(far))
        before = ledger.best.copy()
        kept = ledger.regions.contains(rows, rays.at) & (ledger.distance(rows, rays.at) < before[rays.at])
        rows, of = rows[kept], rays.at[kept]
        hits = ledger.ask(rows, of).reached
        at, group = np.unique(of[hits], return_inverse=True)
        crossings = race(rays_to(ledger, rows[hits], of[hits]), group, 2, SETTINGS.descent.tight)
        ways = ways_from(ledger, crossings.rows, at[crossings.group], None)
        if start_margin is not None and len(ways.at):
            ways.margin = np.asarray(ledger.ask(ways.row, ways.at).margin)
        descend(ledger, ways, start_margin, SETTINGS.descent.rounds)


def around_best(ledger: Ledger, at: Numbers, draws: Draws) -> None:
    """Draw rows around the best one, in ever smaller balls, and ask about those directions a little nearer.

    With few columns this gets into corners and along bent edges, where no plane shows the way; with many it
    would find nothing.
    """
    regions, settings = ledger.regions, SETTINGS.around
    few = _few_columns(ledger, at)
    for place, width in enumerate(settings.balls):
        left = few
        for number in range(settings.tries):
            left = left[ledger.goes_on(left)]
            if not len(left):
                break
            drawn = draws.of("ball", place * settings.tries + number).normal(
                settings.in_a_ball, regions.x.shape[1]
            )
            of = np.repeat(left, len(drawn))
            best, far = ledger.best_row[of], ledger.best[of]
            moves = np.where(regions.moves[of], np.tile(drawn, (len(left), 1)), 0.0)
            aims = best + width * far[:, None] * moves * regions.scale
            pulled, fine = regions.pull_in(aims, of)
            rays = rays_to(ledger, pulled[fine], of[fine])
            shares = rays.shares((1 - settings.nearer * width) * far[fine])
            left = _go_in(ledger, rays.rows(np.arange(len(rays.at)), shares), rays.at)
