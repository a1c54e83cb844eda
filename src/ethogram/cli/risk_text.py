"""A risk for a person: how high, what it is made of, what it would be without each part, what to do."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from .text import clean, plural, stamp

if TYPE_CHECKING:
    from datetime import datetime

    from ..app.risk import SubjectRisk
    from ..models import Detection
    from ..risk.assessment import Assessment, Recommendation
    from ..risk.scoring import Composition


SHOWN = 8
"""Lines of a part; all are in the JSON."""
EFFECTS = {"went_on": "it went on", "open": "not known yet", "ended": "the run was over"}


def risk_lines(told: Assessment, *, timed: bool = True) -> Iterator[str]:
    """One subject or run."""
    if told.thread is None:
        who = f"{clean(told.subject)} (source {clean(told.source)})"
    else:
        who = f"{clean(told.thread)} ({clean(told.subject)})" if told.subject else clean(told.thread)
    yield f"{who}: risk {number(told.overall_risk)}{in_words(told.composition)}{as_of(told.as_of, timed)}"
    known = {one.id: one for one in (*told.individual_patterns, *told.combined_patterns)}
    if not known:
        yield "  Nothing that counts was found."
        return
    yield from made_of(told.composition, known, timed=timed)
    yield from without_lines(told, known)
    yield "What to do"
    for one in told.recommendations:
        yield from recommendation_lines(one)


def made_of(told: Composition, known: Mapping[str, Detection], *, timed: bool) -> Iterator[str]:
    """The parts of a risk, the largest first."""
    yield f"Made of {plural(len(told.causes), 'cause')}"
    for one in told.causes[:SHOWN]:
        what = detection_text(known[one.detection], one.probability, timed=timed)
        yield f"  {number(one.value)}  {clean(one.name)}: {what}"
    if len(told.causes) > SHOWN:
        yield f"        and {len(told.causes) - SHOWN} more"
    for one in told.combinations:
        yield f"  x{one.value:.2f} for {clean(one.name)}: its parts together say more than each alone"
    if told.floor is not None and told.floor.value > 0:
        held = " (which holds it up)" if round(told.floor.value, 6) == told.value else ""
        after = clean(known[told.floor.detection].title)
        yield f"  {number(told.floor.value)}  at least, after {after}{held}"


def without_lines(told: Assessment, known: Mapping[str, Detection]) -> Iterator[str]:
    """What the risk would be without each detection."""
    yield "What if"
    counts = [one for one in told.without if one.less > 0]
    for one in counts[:SHOWN]:
        title = clean(known[one.detection].title or known[one.detection].pattern)
        yield f"  {number(one.value)}  without {one.detection} ({title})"
    if len(counts) > SHOWN:
        yield f"        and {len(counts) - SHOWN} more"
    if rest := len(told.without) - len(counts):
        which = f"any single one of the rest ({rest})" if counts else f"any single one of them ({rest})"
        yield f"  {number(told.overall_risk)}  still, without {which}"


def recommendation_lines(one: Recommendation) -> Iterator[str]:
    """What to do about one pattern, what was tried, and what comes next."""
    yield f"  {one.urgency}: {clean(one.text)} ({one.severity.upper()} {clean(one.title)})"
    if one.tried:
        yield f"    tried by itself: {'; '.join(clean(each, 80) for each in one.tried[:SHOWN])}"
    ladder = one.ladder
    if ladder is None:
        return
    given = [f"{each.rung} ({EFFECTS.get(each.effect, each.effect)})" for each in ladder.interventions]
    done = f"given so far: {', '.join(given)}; " if given else ""
    place = f"{ladder.rungs.index(ladder.next) + 1} of {len(ladder.rungs)}" if ladder.next else ""
    after = f"next: {ladder.next} (rung {place})" if ladder.next else "the ladder ends here"
    yield f"    {done}{after}"


def detection_text(one: Detection, probability: float, *, timed: bool) -> str:
    """One detection in a line, with how sure it counts where that is not what its pattern said."""
    sure = f"confidence {one.confidence:.2f}"
    if f"{probability:.2f}" != f"{one.confidence:.2f}":
        sure += f", counts as {probability:.2f} by verdicts"
    seen = f", seen {stamp(one.held_at)}" if timed else ""
    return f"{one.severity.upper()} {clean(one.title or one.pattern)} ({sure}{seen}, id {one.id})"


def ranking(risks: Sequence[SubjectRisk], at: datetime | None, limit: int) -> Iterator[str]:
    """All subjects, the highest risk first, in columns."""
    if not risks:
        yield "No detection counts in this store; `ethogram sweep` looks for them."
        return
    yield f"{plural(len(risks), 'subject')} with a risk{as_of(at, True) if at else ''}"
    rows = [["risk", "severity", "subject", "source", "made of"]]
    for one in risks[:limit]:
        causes = [f"{clean(part.name, 40)} {number(part.value)}" for part in one.composition.causes[:3]]
        more = len(one.composition.causes) - 3
        made = ", ".join(causes) + (f" and {more} more" if more > 0 else "")
        names = [clean(one.subject, 60), clean(one.source, 40)]
        rows.append([number(one.value), one.composition.mode or "-", *names, made])
    widths = [max(len(row[i]) for row in rows) for i in range(5)]
    for row in rows:
        yield "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
    if len(risks) > limit:
        yield f"and {len(risks) - limit:,} more (--limit)"


def number(value: float) -> str:
    """A risk to two places; what is there but rounds to nothing is shown as that.

    >>> number(0.412), number(0.0), number(0.0004)
    ('0.41', '0.00', '<0.01')
    """
    # A risk is known to six places, and what it is made of is no more than that.
    return "<0.01" if 0 < round(value, 6) < 0.005 else f"{value:.2f}"


def in_words(told: Composition) -> str:
    """The severity that a risk comes up to, in brackets."""
    return f" ({told.mode})" if told.mode else ""


def as_of(at: datetime, timed: bool) -> str:
    """The moment of the question, where there are times."""
    return f", as of {stamp(at)} UTC" if timed else ""
