"""`ethogram usage cohort`: what is usual among the people of a service, as a new version of the table."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .inputs import AsJson, Asked, Config, SkipBad, latest_of
from .output import printable, write_json, write_line, write_text
from .stored import now
from .usage_common import user_name

if TYPE_CHECKING:
    from ..config import Settings
    from ..models import Event


GROUP = "usage"


def register(app: typer.Typer) -> None:
    """Adds the command to the group of its kind, which it makes where nobody did."""
    group = next((one.typer_instance for one in app.registered_groups if one.name == GROUP), None)
    if group is None:
        group = typer.Typer(help="How people use a service.", no_args_is_help=True)
        group.callback()(lambda: None)
        app.add_typer(group, name=GROUP)
    group.command("cohort")(cohort)


def cohort(
    data: Annotated[
        list[str],
        typer.Option("--from", metavar="PATH", help="Events with times, or a store; repeatable."),
    ] = [],  # noqa: B006 (typer copies it)
    out: Annotated[
        str, typer.Option(metavar="FILE", help="Where to write it; without it, to the screen.")
    ] = "",
    version: Annotated[int, typer.Option(help="The number of the version: 2 or above.")] = 2,
    source: Annotated[
        str, typer.Option("--source", metavar="WORDS", help="Where the figures come from, in words.")
    ] = "",
    date: Annotated[str, typer.Option(metavar="DAY", help="The day it is made, like 2026-01-31.")] = "",
    as_json: AsJson = False,
    skip_bad: SkipBad = False,
    config: Config = "",
) -> None:
    """Learn what is usual from at least twenty people: figures of all of them, of nobody alone."""
    from ..app.cohort import cohort_from
    from ..usage.cohort import format_cohort

    if not data:
        raise typer.BadParameter("name the events to learn from: --from PATH")
    asked = Asked(data, config=config, skip_bad=skip_bad, as_json=as_json)
    settings = asked.settings()
    said = source or f"learnt from {len(data)} {'path' if len(data) == 1 else 'paths'}"
    made = cohort_from(_events(asked, settings), version=version, source=said, date=date, settings=settings)
    text = format_cohort(made)
    if out:
        _write(Path(out), text)
    if as_json:
        from ..usage.records import UsageCohort

        write_json(UsageCohort(cohort=made, file=out or None))
    elif out:
        write_line(printable(f"version {version} from {made.people:,} people: {out}"))
        write_line(printable(f"to use it, in ethogram.yaml: usage: {{cohort: {out}}}"))
    else:
        write_text(text)


def _events(asked: Asked, settings: Settings) -> Iterable[Event]:
    """What is in the files and stores that were named."""
    from itertools import chain

    from ..app.cohort import is_database, stored_events
    from ..ingest import Limits, read_events

    stores = [path for path in asked.paths if is_database(Path(path))]
    files = [path for path in asked.paths if path not in stores]
    limits = Limits(**settings.limits)
    batch = (
        read_events(files, skip_bad=asked.skip_bad, limits=limits, latest=latest_of(settings))
        if files
        else None
    )
    if batch is not None:
        asked.tell_bad(batch)
    who = user_name()
    return chain(batch.events if batch else (), *(stored_events(path, now(), who) for path in stores))


def _write(path: Path, text: str) -> None:
    from ..errors import BadUsage

    if path.exists():
        raise BadUsage(
            f"{str(path)!r:.200} is there already; a version is never changed, so name another file"
        )
    try:
        path.write_text(text, encoding="utf-8", newline="\n")
    except OSError as error:
        raise BadUsage(f"{str(path)!r:.200} cannot be written: {error.strerror or error}") from None
