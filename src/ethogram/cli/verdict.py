"""`ethogram verdict` and `ethogram accuracy`: judge detections, and see how often patterns are right."""

from __future__ import annotations

import sys
from typing import Annotated

from .. import verdicts
from ..app.judging.accuracy import agreement_record
from ..app.judging.verdicts import (
    NonDetection,
    VerdictInput,
    check_verdict,
    find_detection,
    read_verdicts,
    save_verdicts,
    settle,
)
from ..app.stored_events import note_looks, stored_event, stored_name, stored_source
from ..config import Settings
from ..config.settings import learning_in
from ..errors import BadUsage
from ..report.text import detection_parts
from ..report.verdicts import NO_VERDICTS, accuracy_lines, calibration_lines, verdict_line
from ..report.wording import plural
from ..store import Store, open_store
from . import options as o
from .output import Progress, Writable, emit, show, write_json, write_line, write_page


def verdict(
    store: o.StoreUrl,
    detection: Annotated[str, o.arg("Name a detection by its id.", "[DETECTION]")] = "",
    said: Annotated[str, o.arg("Judge it: confirmed or false_alarm (default: list).", "[VERDICT]")] = "",
    missed: Annotated[str, o.opt("Report a missed detection of PATTERN.", metavar="PATTERN")] = "",
    correct_silence: Annotated[
        str, o.opt("Confirm that PATTERN rightly did not match.", metavar="PATTERN")
    ] = "",
    subject: Annotated[str, o.opt("Name the subject of the silence.", metavar="NAME")] = "",
    first: Annotated[str, o.opt("Start the silence at this event.", "--from", metavar="EVENT")] = "",
    last: Annotated[str, o.opt("End the silence at this event.", "--to", metavar="EVENT")] = "",
    source: o.FromSource = "",
    file: Annotated[str, o.opt("Import the verdicts of a CSV file; all or none.", metavar="CSV")] = "",
    second: Annotated[bool, o.opt("Show a detection that needs a second judge.", "--second")] = False,
    listed: Annotated[bool, o.opt("List all verdicts, oldest first.", "--list")] = False,
    why: Annotated[str, o.opt("State the reason.", metavar="TEXT")] = "",
    by: o.By = "",
    blind: Annotated[bool, o.opt("Judge without having seen other verdicts.", "--blind")] = False,
    at: Annotated[str, o.opt("Date the verdict (default: now).", metavar="TIME")] = "",
    key: o.KeyFile = "",
    is_pseudonym: o.IsPseudonym = False,
    config: o.Config = "",
    as_json: o.AsJson = False,
) -> None:
    """Judge a detection, report a missed one, or confirm a silence."""
    is_list = listed or bool(detection and not said)
    if [bool(each) for each in (detection, missed, correct_silence, file, second, listed)].count(True) != 1:
        raise BadUsage(
            "expected exactly one of DETECTION confirmed, DETECTION false_alarm, --missed PATTERN, "
            "--correct-silence PATTERN, --file CSV, --second or --list"
        )
    if is_list and (why or by or blind or at):
        raise BadUsage(
            "missing verdict: expected DETECTION confirmed or DETECTION false_alarm; nothing was saved"
        )
    settings = o.InputOptions(config=config).settings()
    when, judge = o.moment(at, "--at") or o.now(), by or o.user_name()
    with open_store(store) as opened:
        if second:
            show_second(opened, judge, settings, as_json=as_json)
            return
        if is_list:
            o.note_all(opened, "verdicts")
            if detection:
                find_detection(opened, detection)
            known = opened.verdicts(detection or None)
            lines = [verdict_line(each) for each in known] or ["no verdicts"]
            emit((each.to_dict() for each in known), lines, as_json=as_json)
            return
        note_looks(opened, "verdict", [None], at=o.now(), who=judge, why=why, subject=subject or None)
        if file:
            with Progress().checking("checking the verdicts"):
                new = read_verdicts(file, opened, settings, by=judge, at=when, now=o.now())
                saved = save_verdicts(opened, new)
            line = f"{plural(saved.added, 'verdict')} added; already known: {saved.repeated:,}"
            emit([saved], [line], as_json=as_json)
        else:
            of: str | NonDetection = detection
            if not detection:
                # By the names that the store has: a private one has its own.
                name = stored_name(opened, o.whom(subject, is_pseudonym), key) if subject else ""
                if not is_pseudonym:
                    first, last = (stored_event(opened, event, key) for event in (first, last))
                where = stored_source(opened, source, key)
                of = NonDetection(missed or correct_silence, name, first, last, where)
            word = said or ("missed" if missed else "correct_silence")
            judged = VerdictInput(word, judge, when, of, why, blind)
            checked = check_verdict(opened, judged, settings, now=o.now())
            added = save_verdicts(opened, [checked]).added
            line = verdict_line(checked) + ("" if added else "  (already known)")
            emit([checked.to_dict()], [line], as_json=as_json)
        settled = settle(opened, settings, o.now())
    if settled and not as_json:
        days = learning_in(settings)["history_retention_days"]
        what = f"{plural(settled, 'verdict')} older than {days} days reduced to counts"
        write_line(f"{what} (learning.history_retention_days)", to=sys.stderr)


def show_second(store: Store, judge: str, settings: Settings, *, as_json: bool) -> None:
    """Show the next detection for a second judge, without the verdicts of others."""
    waiting = verdicts.second_look(judge, store=store, settings=settings)
    if not waiting:
        if not as_json:
            write_line(f"no detection needs a second verdict by {judge}")
        return
    detection = waiting[0]
    note_looks(store, "second look", [detection.subject], at=o.now(), who=judge)
    if as_json:
        write_json(detection.to_dict())
        return
    untimed = {source.name for source in store.sources().values() if not source.timed}
    how = f"ethogram verdict {detection.id} confirmed|false_alarm --blind --by {judge} --store ..."
    parts = detection_parts(detection, timed=detection.source not in untimed, verbose=True)
    show(*parts, "", f"{plural(len(waiting), 'detection')} waiting. To judge: {how}")


# --- accuracy -------------------------------------------------------------------------------


def accuracy(
    store: o.StoreUrl,
    pattern: o.PatternName = "",
    silences: Annotated[int, o.opt("Set how many silences the judged ones are drawn from.", min=0)] = 0,
    calibration: Annotated[bool, o.opt("Show how often each confidence was right.", "--calibration")] = False,
    html: o.Html = "",
    config: o.Config = "",
    as_json: o.AsJson = False,
) -> None:
    """Show how often patterns were right, by verdicts."""
    if html and not calibration:
        raise BadUsage("--html needs --calibration")
    settings = o.InputOptions(config=config).settings()
    with open_store(store) as opened:
        if calibration:
            calibrated = verdicts.calibration(pattern or None, store=opened, settings=settings)
        else:
            rows = verdicts.accuracy(pattern or None, store=opened, silences=silences, settings=settings)
            together = verdicts.agreement(pattern or None, store=opened)
            blind = verdicts.agreement(pattern or None, store=opened, blind=True)
    if not calibration:
        records: list[Writable] = [*rows, agreement_record(pattern or None, together, blind)]
        lines = accuracy_lines(rows, together, blind) if rows else [NO_VERDICTS]
        emit(records, lines, as_json=as_json)
        return
    if html:
        from ..report.html import calibration_page

        write_page(html, calibration_page(calibrated))
    lines = [line for row in calibrated for line in calibration_lines(row)] or [NO_VERDICTS]
    emit(calibrated, lines, as_json=as_json)
