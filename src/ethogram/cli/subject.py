"""`ethogram subject` and `ethogram subjects`: where one stands, and who there is."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..models.detection import STANDING
from .inputs import AsJson, Asked, Config, Parameters, Scorers, Source
from .output import write_json, write_line
from .risk import AsOf
from .stored import StoreUrl, note_all, now
from .usage_common import IsPseudonym, KeyFile, Who, Why, user_name, whom

if TYPE_CHECKING:
    from ..app.subject import SignalContext, Stage, SubjectContext
    from ..models import Detection
    from ..risk.assessment import Assessment
    from ..store import SubjectRow


SORTS = ("name", "events", "last", "detections")


def register(app: typer.Typer) -> None:
    """Adds the commands."""
    app.command("subject")(subject)
    app.command("subjects")(subjects)


def subject(
    name: Annotated[str, typer.Argument(help="The subject.", show_default=False)],
    store: StoreUrl,
    source: Source = "",
    as_of: AsOf = "",
    patterns: Annotated[
        list[str],
        typer.Option("--patterns", metavar="SELECTOR", help="Whose stages are told; a name, glob or file."),
    ] = [],  # noqa: B006 (typer copies it)
    scorers: Scorers = [],  # noqa: B006
    parameters: Parameters = [],  # noqa: B006
    key: KeyFile = "",
    why: Why = "",
    who: Who = "",
    is_pseudonym: IsPseudonym = False,
    config: Config = "",
    as_json: AsJson = False,
) -> None:
    """Say where a subject stands: what it did, where its readings go, what was detected, what may come."""
    from dataclasses import replace

    from ..app.analyze import load_library
    from ..app.risk import Muted, newest, subject_risk
    from ..app.stored_events import note_looks, stored_name
    from ..app.subject import find_subject, subject_context
    from ..store import open_store

    asked = Asked((), as_of, config, "", False, scorers, parameters, "", as_json)
    loaded = asked.loaded()
    settings = loaded.settings
    with open_store(store) as opened:
        given = whom(name, is_pseudonym)
        called, by = stored_name(opened, given, key), who or user_name()
        note_looks(opened, "subject", [called], at=now(), who=by, why=why, subject=given)
        row = find_subject(opened, called, source or None)
        library = load_library(patterns or None, loaded)
        at = asked.moment() or newest(opened)
        found = subject_context(opened, row.source, row.name, at, library=library, settings=settings)
        how: dict[str, Any] = {"source": row.source, "as_of": at, "settings": settings}
        risk = subject_risk(opened, row.name, **how, muted=Muted(asked.mutes(loaded), now()))
    if as_json:
        write_json(replace(found, risk=risk.overall_risk))
        return
    for line in subject_lines(found, risk):
        write_line(line)


def subject_lines(found: SubjectContext, risk: Assessment) -> Iterator[str]:
    """The text form."""
    from .risk_text import as_of, in_words, number
    from .text import clean, plural, stamp

    yield f"{clean(found.subject)} (source {clean(found.source)}): {plural(found.events, 'event')}"
    if found.first_at and found.last_at and found.timed:
        yield f"  from {stamp(found.first_at)} to {stamp(found.last_at)} UTC"
    how_high = f"{number(risk.overall_risk)}{in_words(risk.composition)}{as_of(risk.as_of, found.timed)}"
    yield f"  risk {how_high}; `ethogram risk` says what makes it up"
    for title, counts in (("kinds", found.kinds), ("towards", found.targets)):
        if counts:
            listed = ", ".join(f"{clean(name)} {n:,}" for name, n in list(counts.items())[:8])
            more = f" and {len(counts) - 8} more" if len(counts) > 8 else ""
            yield f"  {title}: {listed}{more}"
    if found.signals:
        yield "Signals (the newest 50 readings of each)"
        yield from (f"  {signal_line(one)}" for one in found.signals)
    yield "Detections" if found.detections else "Detections: none; `ethogram sweep` looks for them"
    yield from (f"  {detection_line(one, timed=found.timed)}" for one in found.detections)
    if found.stages:
        yield "Under way"
        yield from (f"  {stage_line(one, timed=found.timed)}" for one in found.stages)


def signal_line(one: SignalContext) -> str:
    """One signal: how often, how it is on average, where it goes."""
    from .text import clean, value_text

    if one.values:
        listed = ", ".join(f"{clean(name)} {n}" for name, n in list(one.values.items())[:6])
        return f"{clean(one.signal)}: {one.count:,} readings; {listed}"
    middle = f"mean {value_text(one.mean)}, latest {value_text(one.latest)}"
    trend = f", {one.trend} ({one.rise:+.2f} over them)" if one.rise is not None else ""
    return f"{clean(one.signal)}: {one.count:,} readings; {middle}{trend}"


def detection_line(one: Detection, *, timed: bool) -> str:
    """One detection: how grave, what, when."""
    from .text import clean, span

    when = span(one.opened_at, one.closed_at, timed=timed)
    state = f", {one.state}" if one.state not in STANDING else ""
    meant = "" if one.probability is None else f", by verdicts right in {one.probability:.0%} of such cases"
    return f"{one.severity.upper()} {clean(one.title or one.pattern)}, {when}{state}{meant} (id {one.id})"


def stage_line(one: Stage, *, timed: bool) -> str:
    """How far one sequence has come."""
    from .text import clean, pairs_text, stamp

    rest = {name: value for name, value in one.history.items() if name != "subject"}
    where = f" ({pairs_text(rest)})" if rest else ""
    far = f"{one.reached} of {one.steps} steps"
    last = f"{clean(one.step)!r} stood at {stamp(one.at, timed=timed)}"
    return (
        f"{clean(one.pattern)}{where}: {far}, {last}, since {stamp(one.since, timed=timed)}; "
        f"waits for {clean(one.next)!r}"
    )


def subjects(
    store: StoreUrl,
    source: Source = "",
    sort: Annotated[str, typer.Option(metavar="BY", help="name, events, last or detections.")] = "name",
    as_json: AsJson = False,
) -> None:
    """List the subjects of a store."""
    from collections import Counter

    from ..app.subject import SubjectRowRecord
    from ..errors import BadUsage, did_you_mean
    from ..store import open_store

    if sort not in SORTS:
        raise BadUsage(f"--sort takes {', '.join(SORTS)}, not {sort!r:.40}{did_you_mean(sort, SORTS)}")
    with open_store(store) as opened:
        note_all(opened, "subjects")
        rows = opened.subjects(source=source or None)
        kept = opened.detections(states=STANDING, parts=False)
        untimed = {one.name for one in opened.sources().values() if not one.timed}
    counts = Counter((one.source, one.subject) for one in kept if one.status != "shadow")
    rows.sort(key=_sorter(sort, counts))
    if as_json:
        for one in rows:
            row = SubjectRowRecord(
                source=one.source,
                subject=one.name,
                events=one.events,
                timed=one.source not in untimed,
                first_at=one.first_at,
                last_at=one.last_at,
                detections=counts[one.who],
            )
            write_json(row)
        return
    for line in table(rows, counts, untimed):
        write_line(line)


def _sorter(sort: str, counts: Any) -> Callable[[SubjectRow], Any]:
    by: dict[str, Callable[[SubjectRow], Any]] = {
        "name": lambda one: (one.name, one.source),
        "events": lambda one: (-one.events, one.name),
        "last": lambda one: (-one.last_at.timestamp(), one.name),
        "detections": lambda one: (-counts[one.who], one.name),
    }
    return by[sort]


def table(rows: list[SubjectRow], counts: Any, untimed: set[str]) -> Iterator[str]:
    """The text form, in columns."""
    from .text import clean, stamp

    def cells(one: SubjectRow) -> list[str]:
        timed = one.source not in untimed
        times = [stamp(one.first_at, timed=timed), stamp(one.last_at, timed=timed)]
        return [clean(one.name), clean(one.source), f"{one.events:,}", *times, str(counts[one.who])]

    lines = [["subject", "source", "events", "first", "last", "detections"], *map(cells, rows)]
    widths = [max(len(line[i]) for line in lines) for i in range(6)]
    for line in lines:
        yield "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
