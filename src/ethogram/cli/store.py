"""`ethogram store`: events into a file of yours, what is in it, out again, and gone for good."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from .inputs import AsJson, Asked, Config, Paths, SkipBad, Source
from .output import printable, write_json, write_line
from .purge import Redact
from .stored import StoreUrl, note_all, run_import

if TYPE_CHECKING:
    from ..app.importing import Imported, ImportRecord
    from ..store import Info
    from ..store.protocol import StoreRecord


KeepText = Annotated[bool, typer.Option("--keep-text", help="Keep the text of events too.")]
Pseudonyms = Annotated[
    str,
    typer.Option(
        metavar="KEYFILE", help="People get other names by this key, and nothing of their words is kept."
    ),
]


def register(app: typer.Typer) -> None:
    """Adds the group."""
    group = typer.Typer(help="Keep events between runs.", no_args_is_help=True)
    group.command("import")(import_files)
    group.command("info")(info)
    group.command("export")(export)
    group.command("purge")(purge)
    app.add_typer(group, name="store")


def import_files(
    paths: Paths,
    store: StoreUrl,
    source: Source = "",
    skip_bad: SkipBad = False,
    keep_text: KeepText = False,
    pseudonyms: Pseudonyms = "",
    config: Config = "",
    as_json: AsJson = False,
) -> None:
    """Bring events into a store: all of them in one commit, or none.

    Interrupted, the same command goes on where it was.
    """
    from ..store import open_store

    asked = Asked(paths, config=config, source=source, skip_bad=skip_bad, as_json=as_json)
    if pseudonyms:
        make_private_file(store, pseudonyms)
    with open_store(store, create=True) as opened:
        done = run_import(opened, asked, asked.settings(), keep_text=keep_text, pseudonyms=pseudonyms)
    if as_json:
        write_json(imported_record(done, store))
    else:
        for line in imported_lines(done, store):
            write_line(line)


def make_private_file(store: str, key: str) -> None:
    """A new file that only its owner may read, where none is; the key is looked at before."""
    from ..files.sqlite import create
    from ..usage.pseudonym import read_keys
    from .usage_common import path_of

    read_keys(key)
    create(path_of(store))


def imported_record(done: Imported, url: str) -> ImportRecord:
    """What an import did, as a record."""
    from ..app.importing import ImportRecord

    return ImportRecord(
        store=url,
        added=done.added,
        repeated=done.repeated,
        files=done.files,
        files_known=done.known,
        resumed_after=done.resumed,
        bad=done.bad_count,
        skipped=done.skipped,
        not_events=done.not_events,
        strays=done.strays,
    )


def imported_lines(done: Imported, url: str) -> Iterator[str]:
    """The text form."""
    from ..errors import did_you_mean
    from ..patterns.catalogue import load_vocabulary
    from .report_rest import skipped_text
    from .text import clean, plural

    went_on = f" (went on after {plural(done.resumed, 'event')} kept aside)" if done.resumed else ""
    yield f"{plural(done.added, 'event')} added to {printable(url)}{went_on}."
    if done.repeated:
        yield f"Known already: {plural(done.repeated, 'event')}"
    if done.bad_count:
        yield f"Left out: {plural(done.bad_count, 'bad line')}"
    for what, count in sorted(done.skipped.items()):
        yield f"Left out: {skipped_text(what, count, done.not_events)}"
    for name, count in sorted(done.strays.items()):
        near = did_you_mean(name, load_vocabulary().signals)
        yield f"Kept as an attribute: the column {clean(name)!r} ({plural(count, 'cell')}){near}"


def info(store: StoreUrl, as_json: AsJson = False) -> None:
    """Say what is in a store."""
    from ..store import open_store

    with open_store(store) as opened:
        found = opened.info()
    if as_json:
        write_json(info_record(found))
        return
    for line in info_lines(found):
        write_line(line)


def info_record(found: Info) -> StoreRecord:
    """What is in a store, as a record."""
    from ..store.protocol import SourceRow, StoreRecord

    return StoreRecord(
        store=found.url,
        schema=found.schema,
        bytes=found.bytes,
        **found.counts,
        first_at=found.first_at,
        last_at=found.last_at,
        sources=[SourceRow(one.name, one.timed) for one in found.sources],
        unfinished_imports=[one.staged for one in found.imports],
        last_sweep=found.last_sweep,
    )


def info_lines(found: Info) -> Iterator[str]:
    """The text form."""
    from .text import clean, plural, stamp

    yield f"{printable(found.url)}: {found.bytes / 1e6:,.1f} MB, schema {found.schema}"
    names = {"runner_states": "runner state", "readings": "reading measured here"}
    for name, count in found.counts.items():
        yield f"  {plural(count, names.get(name, name.removesuffix('s')))}".replace("heres", "here")
    if found.first_at and found.last_at:
        yield f"  from {stamp(found.first_at)} to {stamp(found.last_at)} UTC"
    for one in found.sources:
        yield f"  source {clean(one.name)}" + ("" if one.timed else ", without times")
    for left in found.imports:
        yield f"  an unfinished import: {plural(left.staged, 'event')} kept aside"
    if found.last_sweep:
        yield f"  last swept as of {stamp(found.last_sweep)} UTC"


def export(
    store: StoreUrl,
    subject: Annotated[str, typer.Option(metavar="NAME", help="Only this subject.")] = "",
    source: Source = "",
) -> None:
    """Write the events of a store as event lines, in order."""
    from ..app.stored_events import stored_name
    from ..store import open_store

    with open_store(store) as opened:
        note_all(opened, "export")
        chosen = None
        if subject or source:
            name = stored_name(opened, subject, None) if subject else None
            chosen = [one.who for one in opened.subjects(name, source or None)]
        for event in opened.events(chosen):
            write_json({"source": event.source, **event.to_dict()})


def purge(
    store: StoreUrl,
    subject: Annotated[str, typer.Option(metavar="NAME", help="Everything this subject did.")] = "",
    source: Source = "",
    before: Annotated[str, typer.Option(metavar="TIME", help="Everything before this moment.")] = "",
    redact: Redact = False,
    as_json: AsJson = False,
) -> None:
    """Remove events and what was made of them, for good: no copy of them stays in the file.

    Where others mention the subject's id, it is counted, and --redact replaces it.
    """
    from .purge import purge_stored

    purge_stored(store, subject, source, before, redact=redact, as_json=as_json)
