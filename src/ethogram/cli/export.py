"""`ethogram export`: everything that a store has of one person, for that person."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any

import typer

from .inputs import Source
from .output import write_json
from .stored import StoreUrl, now
from .usage_common import IsPseudonym, KeyFile, Who, Why, open_tracker, path_of, user_name, whom


def register(app: typer.Typer) -> None:
    """Adds the command."""
    app.command("export")(export)


def export(
    store: StoreUrl,
    subject: Annotated[str, typer.Option(metavar="ID", help="The person.")],
    source: Source = "",
    key: KeyFile = "",
    why: Why = "",
    who: Who = "",
    is_pseudonym: IsPseudonym = False,
) -> None:
    """Write a person's own data as lines of JSON: events, aggregates, what was told, and who looked."""
    from ..usage.store import is_usage_store

    given = whom(subject, is_pseudonym)
    if not is_usage_store(path_of(store)):
        for one in stored_data(store, given, source, key, who or user_name(), why):
            write_json(one)
        return
    with open_tracker(store, key, who) as tracker:
        for one in tracker.export(given, why or None):
            write_json(one)


def stored_data(
    store: str, subject: str, source: str, key: str, who: str, why: str
) -> Iterator[dict[str, Any]]:
    """The same of a store of events: events, detections, verdicts, conversations, and who looked."""
    from ..app.stored_events import note_looks, stored_name, stored_source
    from ..store import open_store
    from ..store.protocol import TALKS

    with open_store(store) as opened:
        name = stored_name(opened, subject, key)
        rows = [one.who for one in opened.subjects(name, stored_source(opened, source, key) or None)]
        kept = opened.states_of(name) if source in ("", TALKS) else []
        told = "export" if rows or kept else "unknown"
        note_looks(opened, told, [name], at=now(), who=who, why=why, subject=subject)
        for event in opened.events(rows) if rows else ():
            yield {"source": event.source, **event.to_dict()}
        found = opened.detections(subjects=rows) if rows else []
        yield from (one.to_dict() for one in found)
        ids = {one.id for one in found}
        for verdict in opened.verdicts():
            if verdict.detection in ids or verdict.subject == name:
                yield verdict.to_dict()
        yield from (one.to_dict(name) for one in kept)
        yield from (one.to_dict() for one in opened.looks(name))
