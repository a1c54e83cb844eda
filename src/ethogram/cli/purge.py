"""`ethogram purge`: a person, or what is old, out of a store for good."""

from __future__ import annotations

from typing import Annotated

import typer

from .inputs import AsJson, Source
from .output import write_json, write_line
from .stored import StoreUrl, moment, now
from .usage_common import IsPseudonym, KeyFile, Who, Why, open_tracker, path_of, user_name, whom

CLEAN_LATER = "Another program reads the store: copies are in its files still. Purge again when it is closed."
UNCLEAN = 1


def register(app: typer.Typer) -> None:
    """Adds the command."""
    app.command("purge")(purge)


def purge(
    store: StoreUrl,
    subject: Annotated[str, typer.Option(metavar="ID", help="Everything of this one.")] = "",
    before: Annotated[str, typer.Option(metavar="TIME", help="Everything before this moment.")] = "",
    source: Source = "",
    key: KeyFile = "",
    why: Why = "",
    who: Who = "",
    is_pseudonym: IsPseudonym = False,
    as_json: AsJson = False,
) -> None:
    """Remove a person, or what is old, for good: no copy stays in any file of the store.

    The audit keeps that something was removed, not who.
    """
    from ethogram.usage.kept_schema import is_usage_store

    check(subject, before, source)
    given = whom(subject, is_pseudonym)
    if not is_usage_store(path_of(store)):
        purge_stored(store, given, source, before, key=key, who=who, why=why, as_json=as_json)
        return
    with open_tracker(store, key, who) as tracker:
        done = tracker.purge(given or None, moment(before, "--before"), why or None)
    if as_json:
        write_json({"record": "usage_purge", **done._asdict()})
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
    key: str = "",
    who: str = "",
    why: str = "",
    as_json: bool = False,
) -> None:
    """The same for a store of events."""
    from ethogram.modes.private import note_looks, stored_name, stored_source
    from ethogram.stores import open_store

    from .text import plural

    check(subject, before, source)
    with open_store(store) as opened:
        name = stored_name(opened, subject, key) if subject else ""
        whose = (stored_source(opened, source, key), name) if source else name or None
        note_looks(opened, "purge", [None], at=now(), who=who or user_name(), why=why, subject=subject)
        done = opened.purge(subject=whose, before=moment(before, "--before"))
    if as_json:
        write_json({"record": "purge", **done._asdict()})
    else:
        more = f", {plural(done.states, 'state')} of conversations" if done.states else ""
        gone = f"{plural(done.events, 'event')} and {plural(done.detections, 'detection')}{more}"
        tell(gone, is_clean=done.clean)
    if not done.clean:
        raise typer.Exit(UNCLEAN)


def check(subject: str, before: str, source: str) -> None:
    """Nothing, where the options say what is to go; else BadUsage."""
    from ethogram.errors import BadUsage

    if not subject and not before:
        raise BadUsage("purge what? Give --subject NAME or --before TIME, or both")
    if source and not subject:
        raise BadUsage("--source goes with --subject")


def tell(gone: str, *, is_clean: bool) -> None:
    """Say what was removed, and whether old pages are left."""
    write_line(f"Removed{' for good' if is_clean else ''}: {gone}.")
    if not is_clean:
        write_line(CLEAN_LATER)
