"""`ethogram store detections`: list what sweeps, watches and conversations detected in a store."""

from __future__ import annotations

from typing import Annotated

from ..app.findings import find_page
from ..app.judging.accuracy import with_probabilities
from ..app.stored_events import stored_name, stored_source
from ..report.rendering import rendered
from ..store import open_store
from . import options as o
from .output import emit

MOST = 50
"""Lines of a page, unless --limit says otherwise."""


def detections(
    store: o.StoreUrl,
    pattern: Annotated[str, o.opt("Select a pattern: a name or a glob.", metavar="PATTERN")] = "",
    subject: Annotated[str, o.opt("Select one subject.", metavar="ID")] = "",
    severity: Annotated[str, o.opt("Select this severity and above.", metavar="SEVERITY")] = "",
    since: Annotated[str, o.opt("Select what was detected since then.", metavar="TIME")] = "",
    limit: Annotated[
        int | None, o.opt("List this many (default: 50; JSON: all).", metavar="N", min=1)
    ] = None,
    offset: Annotated[int, o.opt("Skip this many, to see the next page.", metavar="N", min=0)] = 0,
    as_json: o.AsJson = False,
    source: o.FromSource = "",
    config: o.Config = "",
    look: o.LookOptions = o.NO_LOOK,
) -> None:
    """List the detections of a store, newest first."""
    settings = o.load_config(config, as_json=as_json).settings
    with open_store(store) as opened:
        name = stored_name(opened, look.person(subject), look.key) if subject else None
        page = find_page(
            opened,
            pattern=pattern or None,
            subject=name,
            source=stored_source(opened, source, look.key) or None,
            severity=severity or None,
            since=o.moment(since, "--since"),
            limit=limit or (None if as_json else MOST),
            offset=offset,
            settings=settings,
        )
        people = [name] if name else sorted({item.subject for item in page.detections})
        look.note(opened, "detections", people, subject)
        items = page.detections
        if items and opened.has_verdicts():
            items = with_probabilities(items, opened, settings)
        untimed = {item.name for item in opened.sources().values() if not item.timed}
    records = (item.to_dict(timed=item.source not in untimed) for item in items)
    lines = rendered("detections", detections=items, untimed=untimed, total=page.total, offset=offset)
    emit(records, lines, as_json=as_json)
