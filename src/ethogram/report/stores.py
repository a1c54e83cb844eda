"""Stores as text: imports, contents, what was removed, and how people use a service."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from ..errors import did_you_mean
from .coverage import skipped_text
from .wording import clean, plural, printable, stamp

if TYPE_CHECKING:
    from ..app.importing import Imported
    from ..app.moving import Copied
    from ..store.records import Info
    from ..usage import UsageSignals
    from ..usage.signals import Looked, News


CLEAN_LATER = "Another program has the store open: run purge again when it has closed it."
MENTIONED = {
    "settled": "settled verdict",
    "counts": "verdict count",
    "tries": "learning attempt",
    "states": "conversation state",
    "looks": "audit line",
}
"""What kinds of rows are called, where that is not the kind itself."""


def imported_lines(done: Imported) -> Iterator[str]:
    """What an import added and skipped."""
    from ..patterns.catalogue import load_vocabulary

    resumed = f" (continued after {plural(done.resumed_after, 'staged event')})" if done.resumed_after else ""
    yield f"{plural(done.added, 'event')} added to {printable(done.store)}{resumed}."
    if done.repeated:
        yield f"Already known: {plural(done.repeated, 'event')}"
    if done.bad:
        yield f"Skipped: {plural(done.bad, 'invalid line')}"
    for what, count in sorted(done.skipped.items()):
        yield f"Skipped: {skipped_text(what, count, done.not_events)}"
    for name, count in sorted(done.strays.items()):
        near = did_you_mean(name, load_vocabulary().signals)
        yield f"Stored as an attribute: the column {clean(name)!r} ({plural(count, 'cell')}){near}"


def copied_lines(done: Copied) -> Iterator[str]:
    """What a copy has."""
    counts = [plural(done.rows.get(f"{name}s", 0), name) for name in ("event", "detection", "verdict")]
    yield f"Copied to {printable(done.store)}: {', '.join(counts)}."


def info_lines(info: Info) -> Iterator[str]:
    """What is in a store."""
    from ..store.records import COUNTED

    size = f"{info.bytes / 1e6:,.1f} MB, " if info.bytes else ""  # Neo4j does not say
    yield f"{printable(info.store)}: {size}schema {info.schema}"
    names = {"runner_states": "engine state", "readings": "measured reading"}
    for name in COUNTED:
        yield f"  {plural(getattr(info, name), names.get(name, name.removesuffix('s')))}"
    if info.first_at and info.last_at:
        yield f"  from {stamp(info.first_at)} to {stamp(info.last_at)} UTC"
    for source in info.sources:
        yield f"  source {clean(source.name)}" + ("" if source.timed else ", without times")
    for staged in info.unfinished_imports:
        yield f"  unfinished import: {plural(staged, 'staged event')}"
    if info.last_sweep:
        yield f"  last swept as of {stamp(info.last_sweep)} UTC"


def purged_lines(removed: str, *, is_clean: bool) -> Iterator[str]:
    """What was removed, and whether copies are left."""
    yield f"Removed{' permanently' if is_clean else ''}: {removed}."
    if not is_clean:
        yield CLEAN_LATER


def mentions_line(mentions: Mapping[str, int], placeholder: str | None) -> str:
    """What became of the id in rows of others.

    >>> mentions_line({"events": 2, "verdicts": 1}, None)
    'Others still mention the id, in 2 events and 1 verdict; --redact replaces it.'
    """
    *most, last = [
        plural(count, MENTIONED.get(kind, kind.removesuffix("s"))) for kind, count in mentions.items()
    ]
    rows = f"{', '.join(most)} and {last}" if most else last
    if placeholder is not None:
        return f"Replaced by {placeholder} where others mention the id: {rows}."
    return f"Others still mention the id, in {rows}; --redact replaces it."


# --- usage ----------------------------------------------------------------------------------


def recorded_lines(done: Mapping[str, int], store: str, retention_days: float, days: int) -> Iterator[str]:
    """What was recorded; `days` are those from the oldest event to the newest of all."""
    yield f"{plural(done['added'], 'event')} recorded in {store}."
    if done["known"]:
        yield f"Already known: {plural(done['known'], 'event')}"
    if done["not_by_person"]:
        yield f"Skipped, not by the person: {plural(done['not_by_person'], 'event')}"
    if done["too_old"]:
        old = f"{plural(done['too_old'], 'event')} over {retention_days:g} days before the newest"
        yield f"Not stored: {old}. To keep them, record into a new store with --retention {days}d."


def usage_lines(subject: str, signals: UsageSignals) -> Iterator[str]:
    """The signals of a person: what is unusual first, then the rest."""
    yield f"{clean(subject)}: behavioural score {signals.score:.2f}"
    if signals.status != "ok":
        yield "  Insufficient data."
    order = {"medium": 0, "low": 1, "none": 2}
    for finding in sorted(
        signals.findings.values(), key=lambda finding: (order[finding.severity], not finding.is_ok)
    ):
        word = finding.severity.upper() if finding.severity != "none" else "-" if finding.is_ok else "?"
        yield f"  {word:<7}{finding.name}: {finding.sentence}"


def news_lines(news: News) -> Iterator[str]:
    """What is new about a person."""
    yield f"{news.severity.upper()} {clean(news.subject or news.person)} (score {news.signals.score:.2f})"
    yield from (f"  {finding.severity:<7}{finding.name}: {finding.sentence}" for finding in news.findings)


def not_judged_lines(looked: Looked) -> Iterator[str]:
    """What a sweep could not judge, and for how many people."""
    if looked.not_judged:
        counts = ", ".join(f"{name} {count:,}" for name, count in looked.not_judged.most_common())
        yield f"Too little data to judge, of {plural(looked.people, 'person')}: {counts}"


def look_line(look: Mapping[str, Any]) -> str:
    """One line of the audit."""
    person = f" {look['person']}" if look["person"] else ""
    why = f": {clean(look['why'])}" if look["why"] else ""
    return f"{look['at']}  {look['what']}{person}  by {clean(look['who']) or 'unknown'}{why}"


def people_and_events(people: int, events: int) -> str:
    """Counts of people and events.

    >>> people_and_events(1, 2000)
    '1 person, 2,000 events'
    """
    return f"{plural(people, 'person')}, {plural(events, 'event')}"
