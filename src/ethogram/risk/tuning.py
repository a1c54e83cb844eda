"""Tuning: propose a better parameter value from verdicts.

A proposal needs enough verdicts on what the current value detects, with a precision below the bar; a value
that fits them better than random verdicts would fit any (a permutation test); and a gain over the current
value that also holds in cross-validation by subject. Only one parameter changes at a time, so that a person
can see what it does.

The objective is Youden's J: the share of true items detected minus the share of false ones. It does not
depend on how many of the judged items are true, and takes unjudged items to be like the judged.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime, timedelta

import numpy as np
from numpy.typing import NDArray

from ..models import stable_hash
from ..models.slotted import dataclass, replace
from ..stats import Interval
from .changes import AUTOMATIC, Changes
from .parameter_grid import (
    Bools,
    JudgedItem,
    Overlay,
    ParameterGrid,
    Replay,
    build_grids,
    detected_again,
    is_integer,
    refine,
    step_size,
)
from .proposal import NoProposal, Proposal, TriedValue, measure_effect

Floats = NDArray[np.float64]
FOLDS = 5
PERMUTATIONS = 999
CHUNK = 500
"""Permutations in memory at a time."""
REFINED, ROUNDS = 2, 2
"""How many parameters get a finer grid, and how often it is refined."""
EPSILON = 1e-12
SHARES = np.linspace(0.0, 1.0, 401)[1:-1]
"""Values of a probability that is integrated over."""


# --- the best value -------------------------------------------------------------------------


def youden(true: Bools, hits: Bools) -> Floats:
    """Youden's J of each column of `hits`; 0 where nothing or everything is detected."""
    n_true, n_false = max(1, int(true.sum())), max(1, int((~true).sum()))
    result: Floats = true.astype(float) @ hits / n_true - (~true).astype(float) @ hits / n_false
    return result


def best_value(grids: Sequence[ParameterGrid], true: Bools, rows: Bools | None = None) -> tuple[int, int]:
    """The grid and column with the highest objective on these rows.

    On a plateau it is the middle value; of several plateaus the one nearest to the current value.
    """
    rows = np.ones(len(true), dtype=bool) if rows is None else rows
    candidates = []
    for number, grid in enumerate(grids):
        values = youden(true[rows], grid.hits[rows])
        column = _plateau_middle(values, grid)
        candidates.append((-round(float(values[column]), 12), number, column))
    _, number, column = min(candidates)
    return number, column


def _plateau_middle(objective: Floats, grid: ParameterGrid) -> int:
    top = np.flatnonzero(objective >= objective.max() - EPSILON)
    plateaus = np.split(top, np.flatnonzero(np.diff(top) > 1) + 1)
    nearest = min(plateaus, key=lambda columns: int(np.abs(columns - grid.current_column).min()))
    values = np.array(grid.values)[nearest]
    return int(nearest[np.abs(values - (values[0] + values[-1]) / 2).argmin()])


def permutation_p(
    grids: Sequence[ParameterGrid],
    true: Bools,
    groups: Sequence[str],
    seed: int,
    permutations: int = PERMUTATIONS,
    limit: float = 1.0,
    current: Bools | None = None,
) -> float:
    """How often permuted verdicts fit some value of some grid as well as the real ones.

    Group means are permuted, since items of one subject are alike. Verdicts on what the current value detects
    (`current`) are permuted among themselves, and those on the rest too, so that what it does well already
    supports no other value. Stops once the result is certain to exceed the limit.
    """
    means, strata = _group_means(groups, np.ones(len(true), dtype=bool) if current is None else current)
    hits = np.unique(np.column_stack([means @ grid.hits for grid in grids]), axis=1)
    truth: Floats = means @ true
    for stratum in strata:
        hits[stratum] -= hits[stratum].mean(axis=0)
        truth[stratum] -= truth[stratum].mean()
    norm = np.sqrt((hits**2).sum(axis=0))
    hits = hits[:, norm > EPSILON] / norm[norm > EPSILON]
    if not hits.size or np.abs(truth).max() < EPSILON:
        return 1.0
    rng = np.random.default_rng(seed)
    observed = float((truth @ hits).max())
    done, as_good = 0, 1
    while done < permutations and as_good <= limit * (1 + permutations):
        size = min(CHUNK, permutations - done)
        permuted = np.empty((size, len(truth)))
        for stratum in strata:
            permuted[:, stratum] = rng.permuted(np.tile(truth[stratum], (size, 1)), axis=1)
        as_good += int(((permuted @ hits).max(axis=1) >= observed - EPSILON).sum())
        done += size
    return as_good / (1 + done)


def _group_means(groups: Sequence[str], current: Bools) -> tuple[Floats, list[Bools]]:
    """The matrix that averages by group and stratum (detected now or not), and the rows of each stratum."""
    cells = list(zip(groups, current.tolist(), strict=True))
    rows = {cell: row for row, cell in enumerate(dict.fromkeys(cells))}
    means = np.zeros((len(rows), len(cells)))
    means[[rows[cell] for cell in cells], np.arange(len(cells))] = 1
    means /= means.sum(axis=1, keepdims=True)
    detected = np.array([side for _, side in rows], dtype=bool)
    return means, [side for side in (detected, ~detected) if side.any()]


def cross_validate(grids: Sequence[ParameterGrid], true: Bools, groups: Sequence[str]) -> Bools:
    """For each item, whether the value chosen without its fold of groups detects it."""
    folds = np.array([int(stable_hash("fold", "", group)[:8], 16) % FOLDS for group in groups])
    hits = np.zeros(len(true), dtype=bool)
    for fold in range(FOLDS):
        out = folds == fold
        if out.any() and (~out).any():
            number, column = best_value(grids, true, ~out)
            hits[out] = grids[number].hits[out, column]
    return hits


# --- the interval of the right threshold ----------------------------------------------------


def posterior(grid: ParameterGrid, true: Bools, groups: Sequence[str] = ()) -> Floats:
    """The probability of each value to be the right threshold, in proportion to the gap around it.

    What a threshold detects is true with some probability, what it drops with a smaller one; both are
    integrated over with flat priors. Repeated verdicts on one group count accordingly less.
    """
    values = np.array(grid.values)
    widths = np.gradient(values) if len(values) > 1 else np.ones(1)
    # As integers: the product of booleans is boolean again.
    yes, no, held = true.astype(int), (~true).astype(int), grid.hits.astype(int)
    counts = np.stack([yes @ held, no @ held, yes @ (1 - held), no @ (1 - held)], axis=1).tolist()
    known = {row: _log_evidence(*row) for row in {tuple(row) for row in counts}}
    log = np.array([known[tuple(row)] for row in counts])
    if groups:
        log = log / _repetition(true, grid.hits[:, int(log.argmax())], groups)
    mass: Floats = np.exp(log - log.max()) * np.abs(widths)
    mass /= mass.sum()
    return mass


def _log_evidence(true_hits: int, false_hits: int, true_dropped: int, false_dropped: int) -> float:
    """Log probability of the counts, given that detected items are true more often than dropped ones."""
    hit, dropped = _density(true_hits, false_hits), _density(true_dropped, false_dropped)
    is_larger = float((hit * (np.cumsum(dropped) - dropped / 2)).sum())
    both = _log_beta(true_hits, false_hits) + _log_beta(true_dropped, false_dropped)
    return both + math.log(max(1e-300, 2 * is_larger))


def _log_beta(a: int, b: int) -> float:
    return math.lgamma(a + 1) + math.lgamma(b + 1) - math.lgamma(a + b + 2)


def _density(yes: int, no: int) -> Floats:
    log = yes * np.log(SHARES) + no * np.log1p(-SHARES)
    raw: Floats = np.exp(log - log.max())
    raw /= raw.sum()
    return raw


def _repetition(true: Bools, hits: Bools, groups: Sequence[str]) -> float:
    """The design effect of groups on the residuals of the verdicts: 1 for independent items."""
    residuals = np.zeros(len(true))
    for side in (hits, ~hits):
        residuals[side] = true[side] - (true[side].sum() + 1) / (side.sum() + 2)
    numbers = {group: number for number, group in enumerate(dict.fromkeys(groups))}
    sums = np.bincount([numbers[group] for group in groups], residuals)
    return max(1.0, float((sums**2).sum() / (residuals**2).sum()))


def threshold_interval(grid: ParameterGrid, true: Bools, groups: Sequence[str] = ()) -> Interval:
    """The 95 % interval of the right threshold.

    It ends at the neighbours of the outermost likely values (for integers, just before them), since the
    threshold may lie anywhere between two tested values.
    """
    below = np.cumsum(posterior(grid, true, groups))
    first = int(np.searchsorted(below, 0.025, side="right"))
    last = int(np.searchsorted(below, 0.975, side="left"))
    values, inset = grid.values, 1 if is_integer(grid.current) else 0
    low = values[first - 1] + inset if first else values[0]
    high = values[last + 1] - inset if last + 1 < len(values) else values[-1]
    return low, high


# --- proposals ------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class LearningOptions:
    """When to propose: `minimum` verdicts on detections, `each` of both kinds, precision below `bar`.

    `luck` is the probability of ever getting a proposal from random verdicts, `tries` the number of tests
    before this one, `step` the share of a grid next to the current value that is refined for automatic steps.
    """

    bar: float = 0.7
    minimum: int = 30
    each: int = 5
    luck: float = 0.02
    tries: int = 0
    step: float = 0.1
    seed: int = 0

    @property
    def alpha(self) -> float:
        """The significance level of this test; over all tests the levels add up to `luck`.

        >>> options = [LearningOptions(tries=n) for n in range(1000)]
        >>> round(options[0].alpha, 4), round(sum(item.alpha for item in options), 3)
        (0.0122, 0.02)
        """
        return self.luck * 6 / (math.pi * (self.tries + 1)) ** 2

    @property
    def permutations(self) -> int:
        """Permutations needed to test at this level."""
        return max(PERMUTATIONS, math.ceil(10 / self.alpha))


def learn(
    pattern: str,
    parameters: Overlay,
    items: Sequence[JudgedItem],
    replay: Replay,
    *,
    options: LearningOptions | None = None,
) -> Proposal | NoProposal:
    """A proposal for one of the parameters in force of a pattern, or why there is none."""
    options = options or LearningOptions()
    if why := reason_not_to_learn(items, options):
        return NoProposal(pattern, why)
    grids = build_grids(items, parameters, replay)
    if not grids:
        return NoProposal(pattern, "no parameter makes a difference to what was judged", is_try=True)
    current = grids[0].current_hits
    if why := reason_not_to_learn(items, options, current):
        return NoProposal(pattern, why)
    true, groups = np.array([item.true for item in items]), [item.group for item in items]
    p = permutation_p(grids, true, groups, options.seed, options.permutations, options.alpha, current)
    if p > options.alpha:
        why = f"verdicts dealt at random would fit as well ({p:.3f} of the time)"
        return NoProposal(pattern, why, is_try=True)
    # The coarse grid may favour one parameter over another that has the best value of all.
    highest = [-round(float(youden(true, grid.hits).max()), 12) for grid in grids]
    for number in sorted(range(len(grids)), key=lambda number: (highest[number], number))[:REFINED]:
        for _ in range(ROUNDS):
            interval = threshold_interval(grids[number], true, groups)
            grids[number] = refine(grids[number], items, replay, *interval)
    number, column = best_value(grids, true)
    proposal = _propose(pattern, grids, number, column, items, p)
    if isinstance(proposal, NoProposal):
        return proposal
    # Values within a step of the current one, for automatic steps.
    width = proposal.tried[1] - proposal.tried[0]
    step = min(step_size(options.step, width, proposal.old), abs(proposal.new - proposal.old))
    end = proposal.old + math.copysign(step, proposal.new - proposal.old)
    grid = refine(grids[number], items, replay, proposal.old, end)
    detected = np.array([item.detected for item in items])
    effects = (measure_effect(true, detected, hits, grid.current_hits) for hits in grid.hits.T)
    tried = (TriedValue(**asdict(e), value=v) for e, v in zip(effects, grid.values, strict=True))
    return replace(proposal, values=tuple(tried))


def _propose(
    pattern: str,
    grids: Sequence[ParameterGrid],
    number: int,
    column: int,
    items: Sequence[JudgedItem],
    p: float,
) -> Proposal | NoProposal:
    grid, current = grids[number], grids[number].current_hits
    true, detected = np.array([item.true for item in items]), np.array([item.detected for item in items])
    groups = [item.group for item in items]

    def is_better(hits: Bools) -> bool:
        new, old = youden(true, np.column_stack([hits, current]))
        return bool(new > old + EPSILON)

    if not is_better(grid.hits[:, column]):
        return NoProposal(pattern, "no other value is better than the present one", is_try=True)
    # Every fold repeats the whole choice, including that of the parameter.
    held_out = cross_validate(grids, true, groups)
    if not is_better(held_out):
        return NoProposal(pattern, "what is chosen on some subjects does not help with others", is_try=True)
    low, high = threshold_interval(grid, true, groups)
    return Proposal(
        pattern=pattern,
        parameter=grid.parameter,
        old=grid.current,
        new=grid.values[column],
        low=low,
        high=high,
        tried=(grid.values[0], grid.values[-1]),
        before=measure_effect(true, detected, current, current),
        after=measure_effect(true, detected, grid.hits[:, column], current),
        held_out=measure_effect(true, detected, held_out, current),
        luck=p,
        verdicts=len(items),
        groups=len(set(groups)),
    )


def reason_not_to_learn(
    items: Sequence[JudgedItem], options: LearningOptions, current: Bools | None = None
) -> str:
    """Why there is nothing to learn; empty where there is.

    `current` is what the values in force detect of the items, to which the bar applies. Without it, before
    any replay, only certain reasons are given.

    >>> reason_not_to_learn([], LearningOptions())
    'insufficient verdicts: 0 of 30'
    """
    hits = [item.detected for item in items] if current is None else current.tolist()
    judged = [item.true for item, is_hit in zip(items, hits, strict=True) if is_hit]
    if len(judged) < options.minimum:
        what = "" if current is None else " on what is found now"
        return f"insufficient verdicts{what}: {len(judged)} of {options.minimum}"
    confirmed, precision = sum(judged), sum(judged) / len(judged)
    is_few = min(confirmed, len(judged) - confirmed) < options.each
    if precision >= options.bar and (is_few or current is not None):
        return f"precision {precision:.2f} is not below {options.bar:g}"
    if is_few:
        return f"it takes {options.each} confirmed and {options.each} false alarms to tell them apart"
    return ""


def detected_now(items: Sequence[JudgedItem], parameters: Overlay, replay: Replay) -> Bools:
    """For each item, whether the values in force detect it."""
    (detections,) = replay([parameters])
    return detected_again(items, detections or ())


# --- automatic steps ------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class StepLimits:
    """How far learning may go without asking, in shares of the range tested; an integer may always move by 1.

    `step` at a time, `far` from the value in the file, `lose` of the confirmed detections, and `apart` since
    the last automatic change of the pattern, so that verdicts on the new version can come in.
    """

    step: float = 0.1
    far: float = 0.25
    lose: float = 0.05
    apart: timedelta = timedelta(days=7)


def automatic_step(
    proposal: Proposal,
    *,
    file_value: float,
    changes: Changes = (),
    at: datetime,
    limits: StepLimits | None = None,
) -> TriedValue | str:
    """The furthest tested value towards a proposal within the limits; or why there is none.

    `file_value` is the value of the pattern's file or the settings, before anything was learned.
    """
    limits = limits or StepLimits()
    old, before = proposal.old, proposal.before
    if proposal.low <= old <= proposal.high:
        return "the present value may well be the right one"
    own = [change for change in changes if change.pattern == proposal.pattern]
    if own and own[-1].undoes is not None:
        return "the last change was taken back by hand; accept the proposal to go on from it"
    automatic = [change.at for change in own if change.by == AUTOMATIC and change.undoes is None]
    if automatic and at - max(automatic) < limits.apart:
        return f"the last automatic change was less than {limits.apart.days} days ago"
    width = proposal.tried[1] - proposal.tried[0]
    step, far = step_size(limits.step, width, old), step_size(limits.far, width, old)
    low, high = sorted((old, proposal.new))
    near = [
        item
        for item in sorted(proposal.values, key=lambda item: -abs(item.value - old))
        if item.value != old and low <= item.value <= high and abs(item.value - old) <= step + 1e-9
    ]
    allowed = [item for item in near if abs(item.value - file_value) <= far + 1e-9]
    helping = [item for item in allowed if item.false_alarms < before.false_alarms]
    for item in helping:
        if item.lost <= limits.lose * before.true:
            return item
    if not near:
        return "nothing was tried within a step of the present value"
    if not allowed:
        return f"without asking it may go no further than {far:g} from {file_value:g}"
    if not helping:
        return "no step small enough avoids a false alarm"
    return "every step that avoids a false alarm loses too many confirmed detections"
