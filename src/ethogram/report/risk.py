"""Risk and subjects as text: how high, what it is made of, what it would be without each part, what to do."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime

from ..app.judging.risk import SubjectRisk
from ..app.subject import SubjectContext
from ..models import Detection
from ..models.detection import STANDING
from ..risk.assessment import Assessment, Recommendation
from ..risk.scoring import Composition
from ..store.records import SubjectRow
from .wording import aligned, clean, listed, pairs_text, plural, span, stamp, title_of, value_text, whom

SHOWN = 8
"""Lines of a part; the JSON has all."""
EFFECTS = {"went_on": "it went on", "open": "not known yet", "ended": "the run was over"}


def risk_lines(assessment: Assessment, *, timed: bool = True) -> Iterator[str]:
    """The risk of one subject or run."""
    if assessment.thread is None:
        who = f"{clean(assessment.subject)} (source {clean(assessment.source)})"
    else:
        subject = f" ({clean(assessment.subject)})" if assessment.subject else ""
        who = f"{clean(assessment.thread)}{subject}"
    yield f"{who}: risk {risk_text(assessment, timed)}"
    detections = (*assessment.individual_patterns, *assessment.combined_patterns)
    known = {detection.id: detection for detection in detections}
    if not known:
        yield "  No detections count."
        return
    yield from cause_lines(assessment.composition, known, timed=timed)
    yield from without_lines(assessment, known)
    yield "What to do"
    for recommendation in assessment.recommendations:
        yield from recommendation_lines(recommendation)


def risk_text(assessment: Assessment, timed: bool) -> str:
    """A risk with its severity, and the time it is as of."""
    severity = f" ({assessment.composition.mode})" if assessment.composition.mode else ""
    return f"{number(assessment.overall_risk)}{severity}{as_of_text(assessment.as_of, timed)}"


def cause_lines(composition: Composition, known: Mapping[str, Detection], *, timed: bool) -> Iterator[str]:
    """The parts of a risk, the largest first."""
    yield f"Made of {plural(len(composition.causes), 'cause')}"
    for cause in composition.causes[:SHOWN]:
        detection = known[cause.detection]
        sure = f"confidence {detection.confidence:.2f}"
        if f"{cause.probability:.2f}" != f"{detection.confidence:.2f}":
            sure += f", counts as {cause.probability:.2f} by verdicts"
        if timed:
            sure += f", seen {stamp(detection.held_at)}"
        what = f"{detection.severity.upper()} {title_of(detection)} ({sure}, id {detection.id})"
        yield f"  {number(cause.value)}  {clean(cause.name)}: {what}"
    if len(composition.causes) > SHOWN:
        yield f"        and {len(composition.causes) - SHOWN} more"
    for factor in composition.combinations:
        yield f"  x{factor.value:.2f} for {clean(factor.name)}: its parts weigh more together"
    if composition.floor is not None and composition.floor.value > 0:
        held = " (in effect)" if round(composition.floor.value, 6) == composition.value else ""
        after = clean(known[composition.floor.detection].title)
        yield f"  {number(composition.floor.value)}  minimum after {after}{held}"


def without_lines(assessment: Assessment, known: Mapping[str, Detection]) -> Iterator[str]:
    """What the risk would be without each detection."""
    yield "What if"
    lower = [each for each in assessment.without if each.less > 0]
    for each in lower[:SHOWN]:
        yield f"  {number(each.value)}  without {each.detection} ({title_of(known[each.detection])})"
    if len(lower) > SHOWN:
        yield f"        and {len(lower) - SHOWN} more"
    if rest := len(assessment.without) - len(lower):
        which = f"any one of the other {rest}" if lower else f"any one of these {rest}"
        yield f"  {number(assessment.overall_risk)}  still, without {which}"


def recommendation_lines(recommendation: Recommendation) -> Iterator[str]:
    """What to do about one pattern, what was tried, and what comes next."""
    why = f"{recommendation.severity.upper()} {clean(recommendation.title)}"
    yield f"  {recommendation.urgency}: {clean(recommendation.text)} ({why})"
    if recommendation.tried:
        yield f"    tried by the agent: {'; '.join(clean(each, 80) for each in recommendation.tried[:SHOWN])}"
    ladder = recommendation.ladder
    if ladder is None:
        return
    steps = [f"{each.rung} ({EFFECTS.get(each.effect, each.effect)})" for each in ladder.given]
    done = f"given so far: {', '.join(steps)}; " if steps else ""
    place = f"{ladder.rungs.index(ladder.next) + 1} of {len(ladder.rungs)}" if ladder.next else ""
    after = f"next: {ladder.next} (rung {place})" if ladder.next else "no further rung"
    yield f"    {done}{after}"


def ranking_lines(risks: Sequence[SubjectRisk], at: datetime | None, limit: int) -> Iterator[str]:
    """All subjects, the highest risk first, in columns."""
    if not risks:
        yield "No detection counts in this store; `ethogram sweep` looks for them."
        return
    yield f"{plural(len(risks), 'subject')} with a risk{as_of_text(at, True) if at else ''}"
    rows = [["risk", "severity", "subject", "source", "made of"]]
    for risk in risks[:limit]:
        causes = [f"{clean(cause.name, 40)} {number(cause.value)}" for cause in risk.composition.causes]
        names = [clean(risk.subject, 60), clean(risk.source, 40)]
        rows.append([number(risk.value), risk.composition.mode or "-", *names, listed(causes, 3)])
    yield from aligned(rows)
    if len(risks) > limit:
        yield f"and {len(risks) - limit:,} more (--limit)"


def detection_lines(
    detections: Sequence[Detection], untimed: set[str], total: int, offset: int
) -> Iterator[str]:
    """One line for each detection of a page, in columns."""
    if not detections:
        yield "No detections match." if not total else f"No detections after the first {total:,}."
        return
    rows = [["severity", "pattern", "who", "when", "id"]]
    for item in detections:
        when = span(item.opened_at, item.closed_at, timed=item.source not in untimed)
        rows.append([item.severity, clean(item.pattern, 40), whom(item), when, item.id])
    yield from aligned(rows)
    last = offset + len(detections)
    if last < total:
        yield f"{offset + 1:,} to {last:,} of {total:,} (next: --offset {last})"


def number(value: float) -> str:
    """A risk to two places; one that rounds to nothing is shown as such.

    >>> number(0.412), number(0.0), number(0.0004)
    ('0.41', '0.00', '<0.01')
    """
    # A risk is known to six places, and its parts are no more exact.
    return "<0.01" if 0 < round(value, 6) < 0.005 else f"{value:.2f}"


def as_of_text(at: datetime, timed: bool) -> str:
    """The time of the evaluation, where there are times."""
    return f", as of {stamp(at)} UTC" if timed else ""


# --- subjects -------------------------------------------------------------------------------


def subject_lines(context: SubjectContext, risk: Assessment) -> Iterator[str]:
    """Where one subject stands."""
    source = f"(source {clean(context.source)})"
    yield f"{clean(context.subject)} {source}: {plural(context.events, 'event')}"
    if context.first_at and context.last_at and context.timed:
        yield f"  from {stamp(context.first_at)} to {stamp(context.last_at)} UTC"
    yield f"  risk {risk_text(risk, context.timed)}; see `ethogram risk` for its causes"
    for title, counts in (("kinds", context.kinds), ("towards", context.targets)):
        if counts:
            yield f"  {title}: {listed([f'{clean(name)} {n:,}' for name, n in counts.items()], SHOWN)}"
    if context.signals:
        yield "Signals (newest 50 readings each)"
    for signal in context.signals:
        head = f"  {clean(signal.signal)}: {plural(signal.count, 'reading')}"
        if signal.values:
            values = list(signal.values.items())[:6]
            yield f"{head}; {', '.join(f'{clean(name)} {n}' for name, n in values)}"
        else:
            trend = f", {signal.trend} ({signal.rise:+.2f})" if signal.rise is not None else ""
            yield f"{head}; mean {value_text(signal.mean)}, latest {value_text(signal.latest)}{trend}"
    yield "Detections" if context.detections else "Detections: none; `ethogram sweep` looks for them"
    for detection in context.detections:
        when = span(detection.opened_at, detection.closed_at, timed=context.timed)
        more = f", {detection.state}" if detection.state not in STANDING else ""
        if detection.probability is not None:
            more += f", by verdicts right in {detection.probability:.0%} of such cases"
        head = f"  {detection.severity.upper()} {title_of(detection)}"
        yield f"{head}, {when}{more} (id {detection.id})"
    if context.stages:
        yield "Partial matches"
    for stage in context.stages:
        rest = {name: value for name, value in stage.history.items() if name != "subject"}
        where = f" ({pairs_text(rest)})" if rest else ""
        since, at = (stamp(moment, timed=context.timed) for moment in (stage.since, stage.last))
        events = plural(stage.events, "event")
        reached = f"{stage.stage} of {plural(stage.of, 'step')}, {events} since {since}"
        last = f"last {clean(stage.step)!r} at {at}; next {clean(stage.next)!r}"
        yield f"  {clean(stage.pattern)}{where}: {reached}, {last}"


def subject_rows(
    rows: Sequence[SubjectRow], counts: Mapping[tuple[str, str], int], untimed: set[str]
) -> Iterator[str]:
    """The subjects of a store, in columns."""

    def cells(row: SubjectRow) -> list[str]:
        timed = row.source not in untimed
        ends = [stamp(row.first_at, timed=timed), stamp(row.last_at, timed=timed)]
        return [clean(row.name), clean(row.source), f"{row.events:,}", *ends, str(counts[row.who])]

    yield from aligned([["subject", "source", "events", "first", "last", "detections"], *map(cells, rows)])
