"""Choose: the best value on some lines by a stated objective, and whether that is more than luck.

The objective: the share of true things that are found, less the share of false ones that are (Youden's J).
A hundredth of the confirmed is given up only for more than a hundredth of the false alarms. How many of the
judged happen to be true does not enter, and what nobody has judged is taken to be as good as what was,
which leaves it as it is.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ..records import stable_hash
from .judged import Bools
from .lines import Line

Floats = NDArray[np.float64]
FOLDS = 5
SHUFFLES = 999
AT_ONCE = 500
"""Of these in memory; later tries ask for very many."""


def worth(true: Bools, kept: Bools) -> Floats:
    """The objective for each column of `kept`; 0 where nothing, or everything, is found."""
    n_true, n_false = max(1, int(true.sum())), max(1, int((~true).sum()))
    result: Floats = true.astype(float) @ kept / n_true - (~true).astype(float) @ kept / n_false
    return result


def best(lines: Sequence[Line], true: Bools, rows: Bools | None = None) -> tuple[int, int]:
    """The line and column with the highest objective on these rows.

    On a level stretch of equally good values it is the middle one, as far as can be from either mistake;
    between stretches the one nearest to the present value.
    """
    rows = np.ones(len(true), dtype=bool) if rows is None else rows
    told = []
    for number, line in enumerate(lines):
        values = worth(true[rows], line.kept[rows])
        column = _middle(values, line)
        told.append((-round(float(values[column]), 12), number, column))
    _, number, column = min(told)
    return number, column


def ranked(lines: Sequence[Line], true: Bools) -> list[int]:
    """The numbers of the lines, the one with the highest objective first."""
    tops = [-round(float(worth(true, line.kept).max()), 12) for line in lines]
    return sorted(range(len(lines)), key=lambda number: (tops[number], number))


def _middle(values: Floats, line: Line) -> int:
    """The middle of the level stretch of highest values that lies nearest to the present one."""
    top = np.flatnonzero(values >= values.max() - 1e-12)
    runs = np.split(top, np.flatnonzero(np.diff(top) > 1) + 1)
    now = line.column(line.now)
    run = min(runs, key=lambda one: int(np.abs(one - now).min()))
    tried = np.array(line.values)[run]
    return int(run[np.abs(tried - (tried[0] + tried[-1]) / 2).argmin()])


def luck(
    lines: Sequence[Line],
    true: Bools,
    groups: Sequence[str],
    seed: int,
    shuffles: int = SHUFFLES,
    limit: float = 1.0,
    now: Bools | None = None,
) -> float:
    """How often verdicts dealt out at random go as well with some value of some line as the real ones.

    Whole groups are dealt, by the mean of what was said of each, since what one subject does is alike; so
    verdicts that have nothing to do with the readings get below .01 in one case of a hundred, however many
    values are tried and whatever share of them is true. `now` is what the present value finds: verdicts on
    that are dealt among themselves, and those on the rest too, so that what the present value does well
    already speaks for no other. Once it is certain to be above the limit no more are dealt.
    """
    member, sides = _dealt_together(groups, np.ones(len(true), dtype=bool) if now is None else now)
    kept = np.unique(np.column_stack([member @ line.kept for line in lines]), axis=1)
    told: Floats = member @ true
    for side in sides:
        kept[side] -= kept[side].mean(axis=0)
        told[side] -= told[side].mean()
    spread = np.sqrt((kept**2).sum(axis=0))
    kept = kept[:, spread > 1e-12] / spread[spread > 1e-12]
    if not kept.size or np.abs(told).max() < 1e-12:
        return 1.0
    rng = np.random.default_rng(seed)
    real = float((told @ kept).max())
    done, as_good = 0, 1
    while done < shuffles and as_good <= limit * (1 + shuffles):
        some = min(AT_ONCE, shuffles - done)
        dealt = np.empty((some, len(told)))
        for side in sides:
            dealt[:, side] = rng.permuted(np.tile(told[side], (some, 1)), axis=1)
        as_good += int(((dealt @ kept).max(axis=1) >= real - 1e-12).sum())
        done += some
    return as_good / (1 + done)


def _dealt_together(groups: Sequence[str], now: Bools) -> tuple[Floats, list[Bools]]:
    """What takes the mean of each group, found now and not found apart; and which means are of which side."""
    cells = list(zip(groups, now.tolist(), strict=True))
    names = {one: place for place, one in enumerate(dict.fromkeys(cells))}
    member = np.zeros((len(names), len(cells)))
    member[[names[one] for one in cells], np.arange(len(cells))] = 1
    member /= member.sum(axis=1, keepdims=True)
    found = np.array([side for _, side in names], dtype=bool)
    return member, [side for side in (found, ~found) if side.any()]


def fold_of(group: str, salt: str) -> int:
    """Which part of a cross-validation a group is in."""
    return int(stable_hash("fold", salt, group)[:8], 16) % FOLDS


def held_out(lines: Sequence[Line], true: Bools, groups: Sequence[str], salt: str = "") -> Bools:
    """For each judged thing, whether it is found by what would have been chosen without its group's part."""
    folds = np.array([fold_of(one, salt) for one in groups])
    kept = np.zeros(len(true), dtype=bool)
    for fold in range(FOLDS):
        out = folds == fold
        if out.any() and (~out).any():
            number, column = best(lines, true, ~out)
            kept[out] = lines[number].kept[out, column]
    return kept
