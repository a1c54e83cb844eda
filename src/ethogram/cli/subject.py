"""`ethogram subject`: where one subject of a store stands, or a list of all."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Annotated, Any

from ..app.analyze import load_library
from ..app.judging.risk import Muted, newest, subject_risk
from ..app.stored_events import note_looks, stored_name
from ..app.subject import SubjectRowRecord, find_subject, subject_context
from ..models.detection import STANDING
from ..report.risk import subject_lines, subject_rows
from ..store import SubjectRow, open_store
from . import options as o
from .output import emit
from .risk import AsOfStore

Counts = Counter[tuple[str, str]]
SORTS: dict[str, Callable[[SubjectRow, Counts], Any]] = {
    "name": lambda row, counts: (row.name, row.source),
    "events": lambda row, counts: (-row.events, row.name),
    "last": lambda row, counts: (-row.last_at.timestamp(), row.name),
    "detections": lambda row, counts: (-counts[row.who], row.name),
}
"""What a list is sorted by."""


def subject(
    store: o.StoreUrl,
    name: Annotated[str, o.arg("Select one subject (default: list all).", "[SUBJECT]")] = "",
    source: o.FromSource = "",
    as_of: AsOfStore = "",
    patterns: o.Patterns = o.NONE,
    sort: Annotated[str, o.opt("Sort the list by name, events, last or detections.", metavar="BY")] = "name",
    as_json: o.AsJson = False,
    config: o.Config = "",
    key: o.KeyFile = "",
    why: o.Why = "",
    who: o.Who = "",
    is_pseudonym: o.IsPseudonym = False,
    scorers: o.Scorers = o.NONE,
    parameters: o.Parameters = o.NONE,
) -> None:
    """Show where a subject stands, or list all subjects of a store."""
    if not name:
        list_subjects(store, source, sort, as_json=as_json)
        return
    options = o.InputOptions((), as_of, config, "", False, scorers, parameters, "", as_json)
    loaded = options.loaded()
    settings = loaded.settings
    with open_store(store) as opened:
        person = o.whom(name, is_pseudonym)
        stored, by = stored_name(opened, person, key), who or o.user_name()
        note_looks(opened, "subject", [stored], at=o.now(), who=by, why=why, subject=person)
        row = find_subject(opened, stored, source or None)
        library = load_library(patterns or None, loaded)
        at = options.moment() or newest(opened)
        context = subject_context(opened, row.source, row.name, at, library=library, settings=settings)
        how: dict[str, Any] = {"source": row.source, "as_of": at, "settings": settings}
        risk = subject_risk(opened, row.name, **how, muted=Muted(options.mutes(loaded), o.now()))
    emit([replace(context, risk=risk.overall_risk)], subject_lines(context, risk), as_json=as_json)


def list_subjects(store: str, source: str, sort: str, *, as_json: bool) -> None:
    """List the subjects of a store."""
    o.check_word("--sort", sort, tuple(SORTS))
    with open_store(store) as opened:
        o.note_all(opened, "subjects")
        rows = opened.subjects(source=source or None)
        detections = opened.detections(states=STANDING, parts=False)
        untimed = {known.name for known in opened.sources().values() if not known.timed}
    counts = Counter(
        (detection.source, detection.subject) for detection in detections if detection.status != "shadow"
    )
    rows.sort(key=lambda row: SORTS[sort](row, counts))
    records = (
        SubjectRowRecord(
            source=row.source,
            subject=row.name,
            events=row.events,
            timed=row.source not in untimed,
            first_at=row.first_at,
            last_at=row.last_at,
            detections=counts[row.who],
        )
        for row in rows
    )
    emit(records, subject_rows(rows, counts, untimed), as_json=as_json)
