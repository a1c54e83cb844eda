"""Tuning: propose a better parameter from verdicts."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

import numpy as np
from numpy.typing import NDArray

from ..models import stable_hash
from ..stats import Interval
from .changes import AUTOMATIC, Change, Changes
from .parameter_grid import Bools, Judged, Line, Overlay, Replay, finer, found_again, is_whole, lines, reach
from .proposal import Effect, Nothing, Proposal, effect

# Choose: the best value on some lines by a stated objective, and whether that is more than luck.
#
# The objective: the share of true things that are found, less the share of false ones that are (Youden's J).
# A hundredth of the confirmed is given up only for more than a hundredth of the false alarms. How many of the
# judged happen to be true does not enter, and what nobody has judged is taken to be as good as what was,
# which leaves it as it is.

Floats = NDArray[np.float64]
FOLDS = 5
SHUFFLES = 999
AT_ONCE = 500
"""Of these in memory; later tries ask for very many."""


def worth(true: Bools, bools: Bools) -> Floats:
    """The objective for each column of `kept`; 0 where nothing, or everything, is found."""
    n_true, n_false = max(1, int(true.sum())), max(1, int((~true).sum()))
    result: Floats = true.astype(float) @ bools / n_true - (~true).astype(float) @ bools / n_false
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
    run = min(runs, key=lambda run: int(np.abs(run - now).min()))
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
    floats: Floats = member @ true
    for side in sides:
        kept[side] -= kept[side].mean(axis=0)
        floats[side] -= floats[side].mean()
    spread = np.sqrt((kept**2).sum(axis=0))
    kept = kept[:, spread > 1e-12] / spread[spread > 1e-12]
    if not kept.size or np.abs(floats).max() < 1e-12:
        return 1.0
    rng = np.random.default_rng(seed)
    real = float((floats @ kept).max())
    done, as_good = 0, 1
    while done < shuffles and as_good <= limit * (1 + shuffles):
        some = min(AT_ONCE, shuffles - done)
        dealt = np.empty((some, len(floats)))
        for side in sides:
            dealt[:, side] = rng.permuted(np.tile(floats[side], (some, 1)), axis=1)
        as_good += int(((dealt @ kept).max(axis=1) >= real - 1e-12).sum())
        done += some
    return as_good / (1 + done)


def _dealt_together(groups: Sequence[str], now: Bools) -> tuple[Floats, list[Bools]]:
    """What takes the mean of each group, found now and not found apart; and which means are of which side."""
    cells = list(zip(groups, now.tolist(), strict=True))
    names = {fromkey: place for place, fromkey in enumerate(dict.fromkeys(cells))}
    member = np.zeros((len(names), len(cells)))
    member[[names[cell] for cell in cells], np.arange(len(cells))] = 1
    member /= member.sum(axis=1, keepdims=True)
    found = np.array([side for _, side in names], dtype=bool)
    return member, [side for side in (found, ~found) if side.any()]


def fold_of(group: str, salt: str) -> int:
    """Which part of a cross-validation a group is in."""
    return int(stable_hash("fold", salt, group)[:8], 16) % FOLDS


def held_out(lines: Sequence[Line], true: Bools, groups: Sequence[str], salt: str = "") -> Bools:
    """For each judged thing, whether it is found by what would have been chosen without its group's part."""
    folds = np.array([fold_of(group, salt) for group in groups])
    kept = np.zeros(len(true), dtype=bool)
    for fold in range(FOLDS):
        out = folds == fold
        if out.any() and (~out).any():
            number, column = best(lines, true, ~out)
            kept[out] = lines[number].kept[out, column]
    return kept


# Turning point: where on a line judged things turn from mostly false to mostly true, with an interval.
#
# What a threshold keeps is confirmed with some probability, what it drops with a smaller one; neither is
# known, and both are averaged over (flat priors). That makes a probability for every value of the parameter,
# and an interval from it. Judges who err, or a share of true things far from one half, change the two
# probabilities and not the place where they meet.

CERTAINTY = 0.95
_GRID = np.linspace(0.0, 1.0, 401)[1:-1]


def likelihoods(true: Bools, bools: Bools) -> Floats:
    """Log probability of the verdicts for each column of `kept`, given that what is kept is the truer."""
    out: dict[tuple[int, int, int, int], float] = {}
    # Whole numbers first: of truth values the product is truth again.
    yes, no, held = true.astype(int), (~true).astype(int), bools.astype(int)
    sums = np.stack([yes @ held, no @ held, yes @ (1 - held), no @ (1 - held)], axis=1)
    for counts in {tuple(row) for row in sums.tolist()}:
        out[counts] = _evidence(*counts)
    return np.array([out[tuple(row)] for row in sums.tolist()])


def _evidence(true_kept: int, false_kept: int, true_dropped: int, false_dropped: int) -> float:
    both = _log_beta(true_kept, false_kept) + _log_beta(true_dropped, false_dropped)
    return both + math.log(
        max(1e-300, 2 * _is_larger((true_kept, false_kept), (true_dropped, false_dropped)))
    )


def _log_beta(a: int, b: int) -> float:
    return math.lgamma(a + 1) + math.lgamma(b + 1) - math.lgamma(a + b + 2)


def _is_larger(numbers: tuple[int, int], other: tuple[int, int]) -> float:
    """Probability that the share behind one pair of counts is larger than that behind another."""
    first, second = _density(*numbers), _density(*other)
    return float((first * (np.cumsum(second) - second / 2)).sum())


def _density(yes: int, no: int) -> Floats:
    log = yes * np.log(_GRID) + no * np.log1p(-_GRID)
    raw: Floats = np.exp(log - log.max())
    raw /= raw.sum()
    return raw


def repetition(true: Bools, bools: Bools, groups: Sequence[str]) -> float:
    """How many times over the same thing was said, where things come in groups: 1 for independent ones.

    What is left of the verdicts after kept and dropped is added up by group, and compared with single things.
    """
    left = np.zeros(len(true))
    for side in (bools, ~bools):
        left[side] = true[side] - (true[side].sum() + 1) / (side.sum() + 2)
    numbers = {fromkey: place for place, fromkey in enumerate(dict.fromkeys(groups))}
    sums = np.bincount([numbers[group] for group in groups], left)
    return max(1.0, float((sums**2).sum() / (left**2).sum()))


def posterior(line: Line, true: Bools, groups: Sequence[str] = ()) -> Floats:
    """The probability of each value of a line to be the turning point; a wide gap counts for more.

    What comes in groups is worth so much less as it repeats itself.
    """
    values = np.array(line.values)
    widths = np.gradient(values) if len(values) > 1 else np.ones(1)
    log = likelihoods(true, line.kept)
    if groups:
        log = log / repetition(true, line.kept[:, int(log.argmax())], groups)
    mass: Floats = np.exp(log - log.max()) * np.abs(widths)
    mass /= mass.sum()
    return mass


def interval(line: Line, true: Bools, groups: Sequence[str] = (), certainty: float = CERTAINTY) -> Interval:
    """From where to where the turning point is likely to lie.

    It ends at the neighbours of the outermost likely values, since between two values that were tried
    anything may be; of whole numbers, those between.
    """
    below = np.cumsum(posterior(line, true, groups))
    tail = (1 - certainty) / 2
    first = int(np.searchsorted(below, tail, side="right"))
    last = int(np.searchsorted(below, 1 - tail, side="left"))
    values, item = line.values, 1 if is_whole(line.now) else 0
    low = values[first - 1] + item if first else values[0]
    high = values[last + 1] - item if last + 1 < len(values) else values[-1]
    return low, high


# Learn: propose a better parameter where verdicts show that a pattern is too often wrong.
#
# It takes four things for a proposal: enough verdicts on what the present value finds, with a precision below
# the bar; a value that goes better with them than random verdicts would go with any (luck); a gain over the
# present value, and one also on subjects that had no part in the choice. One parameter at a time, so that a
# person can see what it does.

BAR = 0.7
CLOSER = 2
"""How many parameters are looked at more closely than the rest."""


@dataclass(frozen=True, slots=True)
class Learning:
    """When to propose: with `minimum` verdicts on detections, `each` of both kinds, precision below `bar`.

    `luck` is the chance of ever getting a proposal from random verdicts, however often it is tried: `tries`
    is how often it was before, and each further try must show more. `rounds` is how often to look closer.
    `step` is the share of a line that is looked at closely beside the present value, for going a step at a
    time.
    """

    bar: float = BAR
    minimum: int = 30
    each: int = 5
    luck: float = 0.02
    tries: int = 0
    rounds: int = 2
    step: float = 0.1
    seed: int = 0

    @property
    def chance(self) -> float:
        """The chance of a proposal from random verdicts at this try; over all tries they add up to `luck`.

        >>> round(Learning().chance, 4), round(sum(Learning(tries=n).chance for n in range(1000)), 3)
        (0.0122, 0.02)
        """
        return self.luck * 6 / (math.pi * (self.tries + 1)) ** 2

    @property
    def shuffles(self) -> int:
        """Enough random verdicts to tell so small a chance."""
        return max(SHUFFLES, math.ceil(10 / self.chance))


def learn(
    pattern: str,
    parameters: Overlay,
    judged: Sequence[Judged],
    replay: Replay,
    *,
    spans: Mapping[str, tuple[float, float]] | None = None,
    learning: Learning | None = None,
) -> Proposal | Nothing:
    """A proposal for one parameter of a pattern, or why there is none.

    `parameters` are those in force, `spans` from where to where each may go.
    """
    learning = learning or Learning()
    why = reason_not_to(judged, learning)
    if why:
        return Nothing(pattern, why)
    found = lines(judged, parameters, replay, spans)
    if not found:
        return Nothing(pattern, "no parameter makes a difference to what was judged", is_try=True)
    now = found[0].kept_now
    why = reason_not_to(judged, learning, now)
    if why:
        return Nothing(pattern, why)
    true = np.array([item.true for item in judged])
    groups = [item.group for item in judged]
    chance = luck(found, true, groups, learning.seed, learning.shuffles, learning.chance, now)
    if chance > learning.chance:
        why = f"verdicts dealt at random would fit as well ({chance:.3f} of the time)"
        return Nothing(pattern, why, is_try=True)
    # The few values at first may suit one parameter better than another that has the best value of all.
    for number in ranked(found, true)[:CLOSER]:
        for _ in range(learning.rounds):
            found[number] = finer(found[number], judged, replay, *interval(found[number], true, groups))
    number, _ = best(found, true)
    proposal = _proposed(pattern, found, number, judged, true, chance)
    if isinstance(proposal, Nothing):
        return proposal
    near = finer(found[number], judged, replay, *_beside(proposal, learning.step))
    return replace(proposal, effects=tuple(_effects(near, judged, true)))


def reason_not_to(judged: Sequence[Judged], learning: Learning, now: Bools | None = None) -> str:
    """Why there is nothing to learn; empty where there is.

    `now` is what the numbers in force find of the judged, whatever found it first: the bar is for these
    alone. Without it, before anything is replayed, only what cannot be otherwise is told.

    >>> reason_not_to([], Learning())
    'insufficient verdicts: 0 of 30'
    """
    kept = [item.detected for item in judged] if now is None else now.tolist()
    trues = [item.true for item, is_found in zip(judged, kept, strict=True) if is_found]
    confirmed = sum(trues)
    if len(trues) < learning.minimum:
        what = "" if now is None else " on what is found now"
        return f"insufficient verdicts{what}: {len(trues)} of {learning.minimum}"
    is_few = min(confirmed, len(trues) - confirmed) < learning.each
    if confirmed / len(trues) >= learning.bar and (is_few or now is not None):
        return f"precision {confirmed / len(trues):.2f} is not below {learning.bar:g}"
    if is_few:
        return f"it takes {learning.each} confirmed and {learning.each} false alarms to tell them apart"
    return ""


def found_now(judged: Sequence[Judged], parameters: Overlay, replay: Replay) -> Bools:
    """For each judged thing, whether the numbers in force find it."""
    (found,) = replay([parameters])
    return found_again(judged, found or ())


def _beside(proposal: Proposal, step: float) -> tuple[float, float]:
    """From the present value one step towards the new one."""
    far = min(
        reach(step, proposal.tried[1] - proposal.tried[0], proposal.old), abs(proposal.new - proposal.old)
    )
    return proposal.old, proposal.old + (far if proposal.new > proposal.old else -far)


def _effects(line: Line, judged: Sequence[Judged], true: Bools) -> Iterator[tuple[float, Effect]]:
    detected = np.array([item.detected for item in judged])
    for value, kept in zip(line.values, line.kept.T, strict=True):
        yield value, effect(true, detected, kept, line.kept_now)


def _proposed(
    pattern: str, result: Sequence[Line], number: int, judged: Sequence[Judged], true: Bools, chance: float
) -> Proposal | Nothing:
    line = result[number]
    groups = [item.group for item in judged]
    detected = np.array([item.detected for item in judged])
    _, column = best([line], true)
    new, now = line.values[column], line.kept_now
    if worth(true, line.kept[:, [column]])[0] <= worth(true, now[:, None])[0] + 1e-12:
        return Nothing(pattern, "no other value is better than the present one", is_try=True)
    # The whole choice is made anew without each part, the choice of the parameter too.
    left_out = held_out(result, true, groups)
    if worth(true, left_out[:, None])[0] <= worth(true, now[:, None])[0] + 1e-12:
        return Nothing(pattern, "what is chosen on some subjects does not help with others", is_try=True)
    return Proposal(
        pattern=pattern,
        parameter=line.parameter,
        old=line.now,
        new=new,
        interval=interval(line, true, groups),
        tried=(line.values[0], line.values[-1]),
        before=effect(true, detected, now, now),
        after=effect(true, detected, line.kept[:, column], now),
        held_out=effect(true, detected, left_out, now),
        luck=chance,
        verdicts=len(judged),
        groups=len(set(groups)),
    )


# Overlays: how far learning may go when nobody is asked.


@dataclass(frozen=True, slots=True)
class Steps:
    """How far learning may go when nobody is asked. Shares are of the width of what was tried; a whole number
    may always go by one.

    `step` at a time, `far` from the number in the file in all, `lose` of the confirmed at most, and `apart`
    from the last automatic change of the pattern, so that verdicts on the new version can come in.
    """

    step: float = 0.1
    far: float = 0.25
    lose: float = 0.05
    apart: timedelta = timedelta(days=7)


def automatic(
    proposal: Proposal,
    *,
    file_value: float,
    changes: Changes = (),
    at: datetime,
    steps: Steps | None = None,
) -> tuple[float, Effect] | str:
    """How far to go towards a proposal without asking, and what that does; or why nothing may be done.

    The value is one of those tried, so what it does to every verdict is known. `file_value` is the number of
    the pattern's file or the settings, which nothing was learned over.
    """
    steps = steps or Steps()
    low, high = proposal.interval
    if low <= proposal.old <= high:
        return "the present value may well be the right one"
    own = [change for change in changes if change.pattern == proposal.pattern]
    if own and own[-1].undoes is not None:
        return "the last change was taken back by hand; accept the proposal to go on from it"
    last = max((change.at for change in changes if _is_own(change, proposal.pattern)), default=None)
    if last is not None and at - last < steps.apart:
        return f"the last automatic change was less than {steps.apart.days} days ago"
    return _furthest(proposal, steps, file_value)


def _is_own(change: Change, pattern: str) -> bool:
    return change.pattern == pattern and change.by == AUTOMATIC and change.undoes is None


def _furthest(proposal: Proposal, steps: Steps, file_value: float) -> tuple[float, Effect] | str:
    """The furthest value within the limits that does good, or which of the limits there is none within."""
    width = proposal.tried[1] - proposal.tried[0]
    before, far = proposal.before, reach(steps.far, width, proposal.old)
    near = _towards(proposal, reach(steps.step, width, proposal.old))
    allowed = [item for item in near if abs(item[0] - file_value) <= far + 1e-9]
    helping = [item for item in allowed if item[1].false_alarms < before.false_alarms]
    most = steps.lose * (before.confirmed + before.caught)
    for value, after in helping:
        if after.lost <= most:
            return value, after
    if not near:
        return "nothing was tried within a step of the present value"
    if not allowed:
        return f"without asking it may go no further than {far:g} from {file_value:g}"
    if not helping:
        return "no step small enough avoids a false alarm"
    return "every step that avoids a false alarm loses too many confirmed detections"


def _towards(proposal: Proposal, step: float) -> list[tuple[float, Effect]]:
    """Values on the way from the old to the new one that are within a step, the furthest first."""
    low, high = sorted((proposal.old, proposal.new))
    within = [
        (value, after)
        for value, after in proposal.effects
        if value != proposal.old and low <= value <= high and abs(value - proposal.old) <= step + 1e-9
    ]
    return sorted(within, key=lambda item: -abs(item[0] - proposal.old))
