"""`ethogram mute`: hide known detections, with a reason and an end."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Annotated

from ..config.mutes import MAX_TEXT, add_mute, remove_mute
from ..errors import BadUsage
from ..models import parse_duration, parse_time
from ..models.mute import ListedMute, Mute, mute_id
from ..report.wording import mute_line, printable
from . import options as o
from .output import emit


def add(
    reason: Annotated[str, o.opt("State why these detections are hidden.")] = "",
    subject: Annotated[str, o.opt("Match the subject.", metavar="GLOB")] = "",
    pattern: Annotated[str, o.opt("Match the pattern.", metavar="GLOB")] = "",
    path: Annotated[str, o.opt("Match all paths of the evidence.", metavar="GLOB")] = "",
    command: Annotated[str, o.opt("Match all commands of the evidence.", metavar="GLOB")] = "",
    until: Annotated[str, o.opt("End at this time.", metavar="TIME")] = "",
    lasting: Annotated[str, o.opt("End after this long, like 30d.", "--for", metavar="DURATION")] = "",
    forever: Annotated[bool, o.opt("Never end.", "--forever")] = False,
    as_json: o.AsJson = False,
    config: o.Config = "",
) -> None:
    """Mute detections that match all given criteria."""
    at = o.now().replace(microsecond=0)
    criteria = {"subject": subject, "pattern": pattern, "path": path, "command": command}
    asks = {name: glob for name, glob in criteria.items() if glob.strip()}
    if not asks:
        raise BadUsage("nothing to mute: expected --subject, --pattern, --path or --command")
    if not reason.strip():
        raise BadUsage("missing --reason: state why these detections are hidden")
    if any(len(text) > MAX_TEXT for text in (*asks.values(), reason)):
        raise BadUsage(f"a glob or reason has at most {MAX_TEXT} characters")
    entry = Mute(mute_id(asks), reason.strip(), **asks, until=ending(until, lasting, forever, at), added=at)
    options = o.InputOptions(config=config, as_json=as_json)
    loaded = options.loaded()
    is_new = add_mute(loaded.mutes_path, entry)
    options.mutes(loaded, untrusted=True)  # warns where the file is not trusted, so the entry counts less
    done = "muted" if is_new else "renewed"
    line = f"{done} {mute_line(entry, at)} in {printable(str(loaded.mutes_path))}"
    emit([entry.to_dict()], [line], as_json=as_json)


def list_mutes(as_json: o.AsJson = False, config: o.Config = "") -> None:
    """List all entries, and which have expired."""
    at, options = o.now(), o.InputOptions(config=config, as_json=as_json)
    entries = options.mutes(options.loaded(), untrusted=True)
    records = (ListedMute(entry, entry.is_expired(at)) for entry in entries)
    lines = [mute_line(entry, at) for entry in entries] or ["nothing is muted"]
    emit(records, lines, as_json=as_json)


def remove(
    entry: Annotated[str, o.arg("Name the entry by its id.", "ID")],
    as_json: o.AsJson = False,
    config: o.Config = "",
) -> None:
    """Remove an entry, so that its detections are shown again."""
    removed = remove_mute(o.InputOptions(config=config, as_json=as_json).loaded().mutes_path, entry)
    emit([removed.to_dict()], [f"removed {removed.id}"], as_json=as_json)


def ending(until: str, lasting: str, forever: bool, at: datetime) -> datetime | None:
    """When it ends; None for never. BadUsage unless exactly one of the three is given, and lies ahead."""
    if [bool(until), bool(lasting), forever].count(True) != 1:
        raise BadUsage("expected one of --until 2026-12-31T00:00:00Z, --for 30d and --forever")
    try:
        if lasting:
            end = at + timedelta(microseconds=parse_duration(lasting))
        elif until:
            end = parse_time(until)
        else:
            return None
    except (ValueError, OverflowError) as error:
        raise BadUsage(f"{'--for' if lasting else '--until'}: {error}") from None
    if end <= at:
        raise BadUsage("the end is in the past: expected a later time")
    return end
