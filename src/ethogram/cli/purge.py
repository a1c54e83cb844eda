"""`ethogram purge`: a person, or what is old, out of a store for good."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

import typer

from .inputs import AsJson, Source
from .output import write_json, write_line
from .stored import StoreUrl, moment, now
from .usage_common import IsPseudonym, KeyFile, Who, Why, open_tracker, path_of, user_name, whom

CLEAN_LATER = "Another program reads the store: copies are in its files still. Purge again when it is closed."
UNCLEAN = 1
MENTIONED = {
    "settled": "settled verdict",
    "counts": "verdict count",
    "tries": "learning attempt",
    "states": "conversation state",
    "looks": "audit line",
}
"""What kinds of rows are called, where that is not the kind itself."""
Redact = Annotated[bool, typer.Option("--redact", help="Replace the subject's id where others mention it.")]


def register(app: typer.Typer) -> None:
    """Adds the command."""
    app.command("purge")(purge)


def purge(
    store: StoreUrl,
    subject: Annotated[str, typer.Option(metavar="ID", help="Everything of this one.")] = "",
    before: Annotated[str, typer.Option(metavar="TIME", help="Everything before this moment.")] = "",
    redact: Redact = False,
    source: Source = "",
    key: KeyFile = "",
    why: Why = "",
    who: Who = "",
    is_pseudonym: IsPseudonym = False,
    as_json: AsJson = False,
) -> None:
    """Remove a person, or what is old, for good: no copy of it stays in any file of the store.

    What others wrote stays. Where it mentions the person's id, it is counted, and --redact replaces it. The
    audit keeps that something was removed, not who.
    """
    from ..usage.store import is_usage_store

    check(subject, before, source, redact=redact)
    given = whom(subject, is_pseudonym)
    if not is_usage_store(path_of(store)):
        how = {"key": key, "who": who, "why": why}
        purge_stored(store, given, source, before, redact=redact, as_json=as_json, **how)
        return
    with open_tracker(store, key, who) as tracker:
        done = tracker.purge(given or None, moment(before, "--before"), why or None)
    if as_json:
        write_json(done)
    else:
        people = "1 person" if done.people == 1 else f"{done.people:,} people"
        tell(f"{people} and {events_of(done.events, before)}", is_clean=done.clean)
    if not done.clean:
        raise typer.Exit(UNCLEAN)


def events_of(events: int, before: str) -> str:
    """The events that were removed, in words."""
    from .text import plural

    return plural(events, "event") + (" before that moment" if before else " that they had")


def purge_stored(
    store: str,
    subject: str,
    source: str,
    before: str,
    *,
    redact: bool = False,
    key: str = "",
    who: str = "",
    why: str = "",
    as_json: bool = False,
) -> None:
    """The same for a store of events."""
    from ..app.stored_events import note_looks, stored_name, stored_source
    from ..store import open_store
    from .text import plural

    check(subject, before, source, redact=redact)
    with open_store(store) as opened:
        name = stored_name(opened, subject, key) if subject else ""
        whose = (stored_source(opened, source, key), name) if source else name or None
        note_looks(opened, "purge", [None], at=now(), who=who or user_name(), why=why, subject=subject)
        done = opened.purge(subject=whose, before=moment(before, "--before"), redact=redact)
    if as_json:
        write_json(done)
    else:
        more = f", {plural(done.states, 'state')} of conversations" if done.states else ""
        gone = f"{plural(done.events, 'event')} and {plural(done.detections, 'detection')}{more}"
        tell(gone, is_clean=done.clean)
        if done.mentions:
            write_line(mentions_line(done.mentions, done.placeholder))
    if not done.clean:
        raise typer.Exit(UNCLEAN)


def mentions_line(mentions: Mapping[str, int], placeholder: str | None) -> str:
    """What became of the id in rows of others.

    >>> mentions_line({"events": 2, "verdicts": 1}, None)
    'The id is still mentioned by others, in 2 events and 1 verdict; --redact replaces it there, too.'
    """
    from .text import plural

    *most, last = [
        plural(count, MENTIONED.get(kind, kind.removesuffix("s"))) for kind, count in mentions.items()
    ]
    rows = f"{', '.join(most)} and {last}" if most else last
    if placeholder is not None:
        return f"Replaced by {placeholder} where others mention the id: {rows}."
    return f"The id is still mentioned by others, in {rows}; --redact replaces it there, too."


def check(subject: str, before: str, source: str, *, redact: bool = False) -> None:
    """Nothing, where the options say what is to go; else BadUsage."""
    from ..errors import BadUsage

    if not subject and not before:
        raise BadUsage("purge what? Give --subject NAME or --before TIME, or both")
    if source and not subject:
        raise BadUsage("--source goes with --subject")
    if redact and (before or not subject):
        raise BadUsage("--redact goes with --subject, and not with --before: then the subject stays")


def tell(gone: str, *, is_clean: bool) -> None:
    """Say what was removed, and whether old pages are left."""
    write_line(f"Removed{' for good' if is_clean else ''}: {gone}.")
    if not is_clean:
        write_line(CLEAN_LATER)
