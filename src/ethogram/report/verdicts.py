"""Verdicts as text: verdicts, accuracy, agreement, calibration, and what is learned from them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime

from ..app.judging.learning import LearningResult
from ..models import Verdict
from ..risk.accuracy import Accuracy, Agreement, Kappa, Precision
from ..risk.calibration import Reliability
from ..risk.changes import Change
from ..risk.proposal import NoProposal
from .wording import clean, plural, stamp

NO_VERDICTS = "insufficient verdicts: none; see `ethogram verdict`"
WIDE, HIGH = 41, 11
"""Columns and rows of the plot in text."""


def verdict_line(verdict: Verdict) -> str:
    """One verdict on one line."""
    what = f"{clean(verdict.pattern)} {verdict.detection}"
    if verdict.detection is None:
        where = f"{clean(verdict.first_event or '')} to {clean(verdict.last_event or '')}"
        what = f"{clean(verdict.pattern)} of {clean(verdict.subject or '')}, {where}"
    why = f": {clean(verdict.why)}" if verdict.why else ""
    blind = ", blind" if verdict.blind else ""
    return f"{stamp(verdict.at)}  {verdict.verdict}  {what}  by {clean(verdict.by)}{blind}{why}"


# --- accuracy -------------------------------------------------------------------------------


def accuracy_lines(rows: Sequence[Accuracy], together: Agreement, blind: Agreement) -> Iterator[str]:
    """One block for each version of a pattern, then how far judges agree."""
    for row in rows:
        yield f"{clean(row.pattern)} (version {row.version[:12]})"
        yield f"  {counts_text(row.whole)}; {row.unjudged:,} not judged"
        yield f"  precision {precision_text(row.whole)}"
        most, least = row.recall.at_most, row.recall.at_least
        if most is not None:
            yield f"  recall at most {most:.2f}: more may have been missed than is known"
        if least is not None:
            sample = f"if the judged silences are a random sample of {row.silences:,}"
            yield f"  recall at least {least:.2f}, {sample}"
        for title, parts in (("source", row.by_source), ("month", row.by_month)):
            if len(parts) > 1:
                for name, part in parts.items():
                    known = clean(name) or "unknown"
                    yield f"    {title} {known}: {counts_text(part)}; precision {precision_text(part)}"
    if together.together is None:
        return
    yield f"Judges: {', '.join(f'{clean(name)} {n:,}' for name, n in together.judges.items())}"
    for title, agreement in (("all", together), ("blind only", blind)):
        if (kappa := agreement.together) is not None:
            yield f"  {title}: {kappa_text(kappa)} on {plural(kappa.items, 'detection')}"
    for (first, second), kappa in together.pairs.items():
        yield f"  {clean(first)} and {clean(second)}: {kappa_text(kappa)} on {kappa.items:,}"


def counts_text(precision: Precision) -> str:
    """The counts of verdicts.

    >>> from ethogram.risk.accuracy import Precision
    >>> from ethogram.risk.verdicts import Counts
    >>> counts_text(Precision(Counts(confirmed=3, missed=1)))
    '3 confirmed, 0 false alarms, 1 missed, 0 correct silences'
    """
    counts = precision.counts
    parts = [f"{counts.confirmed:,} confirmed", plural(counts.false_alarm, "false alarm")]
    parts += [f"{counts.missed:,} missed", plural(counts.correct_silence, "correct silence")]
    return ", ".join([*parts, f"{counts.disputed:,} disputed"] if counts.disputed else parts)


def precision_text(precision: Precision) -> str:
    """Precision with its interval, or that there are too few verdicts."""
    if precision.precision is None or precision.precision_low is None or precision.precision_high is None:
        return f"insufficient verdicts ({precision.counts.judged} of {precision.minimum})"
    return within(precision.precision, precision.precision_low, precision.precision_high)


def within(value: float, low: float, high: float) -> str:
    """A figure with its interval."""
    return f"{value:.2f} ({low:.2f} to {high:.2f})"


def kappa_text(kappa: Kappa) -> str:
    """Agreement as a share, and beyond chance."""
    if kappa.value is None or kappa.low is None or kappa.high is None:
        return f"agree in {kappa.observed:.0%}, as much as by chance"
    return f"agree in {kappa.observed:.0%}; kappa {within(kappa.value, kappa.low, kappa.high)}"


# --- calibration ----------------------------------------------------------------------------


def calibration_lines(calibrated: Reliability) -> Iterator[str]:
    """The table, then the plot."""
    few = "" if calibrated.sufficient else f" (insufficient: {calibrated.minimum} needed)"
    yield f"{clean(calibrated.pattern)}: {plural(calibrated.verdicts, 'verdict')}{few}"
    yield "  confidence     judged  right  share (95 %)          calibrated"
    for row in calibrated.rows:
        share = within(row.share, row.share_low, row.share_high)
        bounds = f"{row.low:.2f} to {row.high:.2f}"
        yield f"  {bounds:14} {row.count:6,}  {row.right:5,}  {share:20}  {row.probability:.2f}"
    yield f"  mean distance to the diagonal {calibrated.distance:.2f}, Brier score {calibrated.brier:.3f}"
    # Confidence (across) against share right (up): o a group, . the diagonal, - the calibrated curve.
    cells = [[" "] * WIDE for _ in range(HIGH)]

    def put(x: float, y: float, mark: str) -> None:
        cells[round((1 - y) * (HIGH - 1))][round(x * (WIDE - 1))] = mark

    columns = [column / (WIDE - 1) for column in range(WIDE)]
    for x in columns:
        put(x, x, ".")
    for x in columns:
        put(x, calibrated.calibration(x), "-")
    for row in calibrated.rows:
        put(row.said, row.share, "o")
    for index, line in enumerate(cells):
        label = {0: "1.0", (HIGH - 1) // 2: "0.5", HIGH - 1: "0.0"}.get(index, "")
        yield f"  {label:>4} |{''.join(line).rstrip()}"
    yield f"       +{'-' * WIDE}"
    yield f"        0{'confidence':^{WIDE - 2}}1"


# --- learning -------------------------------------------------------------------------------


def lesson_lines(lesson: LearningResult, at: datetime) -> Iterator[str]:
    """A proposal, or why there is none."""
    proposal = lesson.outcome
    # Saved results are reused until a fifth of the verdicts is new.
    since = (
        "" if lesson.at == at else f" (from {stamp(lesson.at)}; tried again when a fifth of verdicts is new)"
    )
    if isinstance(proposal, NoProposal):
        yield f"{proposal.pattern}: nothing to propose: {proposal.why}{since}"
        return
    yield proposal.sentence()
    yield from (f"  {text}" for text in proposal.diff().splitlines())
    yield f"  {f'on {proposal.verdicts} verdicts':24} confirmed  false alarms  precision"
    rows = (("now", proposal.before), ("proposed", proposal.after), ("proposed, held out", proposal.held_out))
    for title, effect in rows:
        shown = "no detections"
        if effect.precision is not None:
            shown = within(effect.precision, effect.precision_low, effect.precision_high)
        yield f"  {title:24} {effect.true:9,}  {effect.false_alarms:12,}  {shown}"
    if proposal.recent is not None:
        before, after = proposal.recent
        lost = f"losing {proposal.recent_lost:,} confirmed"
        yield f"  last 30 days: {plural(after, 'detection')} instead of {before:,}, {lost}"
    yield f"  random verdicts would look as good in {proposal.luck:.1%} of cases"
    yield f"  to apply it: ethogram learn {proposal.pattern} --accept --store ...{since}"


def change_line(change: Change) -> str:
    """One change of a parameter on one line."""
    name = f"{clean(change.pattern)}.{clean(change.parameter)}"
    return f"{name} {change.old:g} -> {change.new:g} by {clean(change.by)}"
