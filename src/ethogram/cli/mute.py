"""`ethogram mute`: what is known and need not be told, with a reason and an end."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from .inputs import AsJson, Asked, Config
from .output import printable, write_json, write_line

if TYPE_CHECKING:
    from datetime import datetime

    from ..models.mute import Mute


def register(app: typer.Typer) -> None:
    """Adds the group."""
    group = typer.Typer(help="What is known and need not be told.", no_args_is_help=True)
    group.command("add")(add)
    group.command("list")(list_mutes)
    group.command("remove")(remove)
    app.add_typer(group, name="mute")


def add(
    reason: Annotated[str, typer.Option(help="Why this need not be told.")] = "",
    subject: Annotated[str, typer.Option(metavar="GLOB", help="Whose detections.")] = "",
    pattern: Annotated[str, typer.Option(metavar="GLOB", help="Those of which pattern.")] = "",
    path: Annotated[str, typer.Option(metavar="GLOB", help="Where all paths of the evidence match.")] = "",
    command: Annotated[str, typer.Option(metavar="GLOB", help="Where all its commands match.")] = "",
    until: Annotated[str, typer.Option(metavar="TIME", help="When it ends.")] = "",
    lasting: Annotated[str, typer.Option("--for", metavar="30d", help="How long it lasts from now.")] = "",
    forever: Annotated[bool, typer.Option("--forever", help="It never ends.")] = False,
    as_json: AsJson = False,
    config: Config = "",
) -> None:
    """Mute detections: all criteria that are given must match."""
    from datetime import UTC, datetime

    from ..config.mutes import add_mute
    from ..models.mute import Mute, mute_id

    now = datetime.now(UTC).replace(microsecond=0)
    given = {"subject": subject, "pattern": pattern, "path": path, "command": command}
    asks = {name: glob for name, glob in given.items() if glob.strip()}
    check(asks, reason)
    entry = Mute(mute_id(asks), reason.strip(), **asks, until=ending(until, lasting, forever, now), added=now)
    asked = Asked(config=config, as_json=as_json)
    loaded = asked.loaded()
    file = loaded.mutes_path
    is_new = add_mute(file, entry)
    asked.mutes(loaded, untrusted=True)  # warns where the file is not trusted, so the entry counts less
    if as_json:
        write_json(entry.to_dict())
    else:
        write_line(f"{'muted' if is_new else 'renewed'} {line(entry, now)} in {printable(str(file))}")


def list_mutes(as_json: AsJson = False, config: Config = "") -> None:
    """List every entry, and whether it has expired."""
    from datetime import UTC, datetime

    from ..models.mute import ListedMute

    now = datetime.now(UTC)
    asked = Asked(config=config, as_json=as_json)
    entries = asked.mutes(asked.loaded(), untrusted=True)
    for entry in entries:
        if as_json:
            write_json(ListedMute(entry, entry.is_expired(now)))
        else:
            write_line(line(entry, now))
    if not entries and not as_json:
        write_line("nothing is muted")


def remove(
    entry: Annotated[str, typer.Argument(metavar="ID")], as_json: AsJson = False, config: Config = ""
) -> None:
    """Take an entry out: what it muted is told again."""
    from ..config.mutes import remove_mute

    removed = remove_mute(Asked(config=config, as_json=as_json).loaded().mutes_path, entry)
    if as_json:
        write_json(removed.to_dict())
    else:
        write_line(f"removed {removed.id}")


def check(asks: dict[str, str], reason: str) -> None:
    """BadUsage where it is not said what to mute, or why."""
    from ..config.mutes import MAX_TEXT
    from ..errors import BadUsage

    if not asks:
        raise BadUsage("say what to mute: --subject, --pattern, --path or --command")
    if not reason.strip():
        raise BadUsage("--reason: say why this need not be told")
    if any(len(text) > MAX_TEXT for text in (*asks.values(), reason)):
        raise BadUsage(f"a glob or reason has at most {MAX_TEXT} characters")


def ending(until: str, lasting: str, forever: bool, now: datetime) -> datetime | None:
    """When it ends; None for never. BadUsage unless exactly one of the three was given, and is to come."""
    from datetime import timedelta

    from ..errors import BadUsage
    from ..models import parse_duration, parse_time

    if [bool(until), bool(lasting), forever].count(True) != 1:
        raise BadUsage("say when it ends: --until 2026-12-31T00:00:00Z, --for 30d, or --forever")
    try:
        if lasting:
            end = now + timedelta(microseconds=parse_duration(lasting))
        elif until:
            end = parse_time(until)
        else:
            return None
    except (ValueError, OverflowError) as error:
        raise BadUsage(f"{'--for' if lasting else '--until'}: {error}") from None
    if end <= now:
        raise BadUsage("it would end before it begins; give a later time")
    return end


def line(entry: Mute, now: datetime) -> str:
    """One entry in a line."""
    from ..report.words import clean, mute_text, until_text

    expired = frozenset({entry.id} if entry.is_expired(now) else ())
    until = until_text(entry, expired)
    when = until if entry.until is None or expired else f"until {until}"
    return f"{entry.id}  {mute_text(entry)}  ({clean(entry.reason)}; {when})"
