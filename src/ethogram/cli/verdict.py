"""`ethogram verdict` and `ethogram accuracy`: judge detections, and see how often patterns are right."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

from ..report.verdicts import NO_VERDICTS, accuracy_lines, calibration_lines, verdict_line
from ..report.wording import plural
from . import options as o
from .output import Progress, Writable, emit, show, write_json, write_line, write_page

if TYPE_CHECKING:
    from datetime import datetime

    from ..app.judging.verdicts import NonDetection, VerdictInput
    from ..config import Settings
    from ..store import Store


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
    from ..app.judging.verdicts import VerdictInput
    from ..app.stored_events import note_looks
    from ..errors import BadUsage
    from ..store import open_store

    check_choice(detection, missed, correct_silence, file, second, listed)
    if (listed or (detection and not said)) and (why or by or blind or at):
        raise BadUsage(
            "missing verdict: expected DETECTION confirmed or DETECTION false_alarm; nothing was saved"
        )
    settings = o.InputOptions(config=config).settings()
    when, judge = o.moment(at, "--at") or o.now(), by or o.user_name()
    with open_store(store) as opened:
        if second:
            show_second(opened, judge, settings, as_json=as_json)
            return
        if listed or (detection and not said):
            list_verdicts(opened, detection, as_json=as_json)
            return
        note_looks(opened, "verdict", [None], at=o.now(), who=judge, why=why, subject=subject or None)
        if file:
            save_file(opened, file, settings, judge, when, as_json=as_json)
            return
        of: str | NonDetection = detection
        if not detection:
            names = (missed or correct_silence, subject, first, last, source)
            of = silence(opened, names, key, is_pseudonym=is_pseudonym)
        word = said or ("missed" if missed else "correct_silence")
        save_verdict(opened, VerdictInput(word, judge, when, of, why, blind), settings, as_json=as_json)


def silence(store: Store, names: Sequence[str], key: str, *, is_pseudonym: bool) -> NonDetection:
    """The stretch without a detection, by the names that the store has: a private one has its own."""
    from ..app.judging.verdicts import NonDetection
    from ..app.stored_events import stored_event, stored_name, stored_source

    pattern, subject, first, last, source = names
    name = stored_name(store, o.whom(subject, is_pseudonym), key) if subject else ""
    if not is_pseudonym:
        first, last = (stored_event(store, event, key) for event in (first, last))
    return NonDetection(pattern, name, first, last, stored_source(store, source, key))


def check_choice(*choices: object) -> None:
    """BadUsage unless exactly one thing is asked for."""
    from ..errors import BadUsage

    if [bool(choice) for choice in choices].count(True) != 1:
        raise BadUsage(
            "expected exactly one of DETECTION confirmed, DETECTION false_alarm, --missed PATTERN, "
            "--correct-silence PATTERN, --file CSV, --second or --list"
        )


def save_verdict(store: Store, said: VerdictInput, settings: Settings, *, as_json: bool) -> None:
    """Save one verdict, and show it."""
    from ..app.judging.verdicts import check_verdict, save_verdicts

    verdict = check_verdict(store, said, settings, now=o.now())
    saved = save_verdicts(store, [verdict])
    known = "" if saved.added else "  (already known)"
    emit([verdict.to_dict()], [verdict_line(verdict) + known], as_json=as_json)
    settle_old(store, settings, as_json=as_json)


def save_file(
    store: Store, path: str, settings: Settings, judge: str, at: datetime, *, as_json: bool
) -> None:
    """Save the verdicts of a file, and say how many."""
    from ..app.judging.verdicts import read_verdicts, save_verdicts

    with Progress().checking("checking the verdicts"):
        saved = save_verdicts(store, read_verdicts(path, store, settings, by=judge, at=at, now=o.now()))
    line = f"{plural(saved.added, 'verdict')} added; already known: {saved.repeated:,}"
    emit([saved], [line], as_json=as_json)
    settle_old(store, settings, as_json=as_json)


def settle_old(store: Store, settings: Settings, *, as_json: bool) -> None:
    """Reduce old verdicts to counts, and say so."""
    from ..app.judging.verdicts import settle
    from ..config.settings import learning_in

    settled = settle(store, settings, o.now())
    if settled and not as_json:
        days = learning_in(settings)["history_retention_days"]
        what = f"{plural(settled, 'verdict')} older than {days} days reduced to counts"
        write_line(f"{what} (learning.history_retention_days)", to=sys.stderr)


def show_second(store: Store, judge: str, settings: Settings, *, as_json: bool) -> None:
    """Show the next detection for a second judge, without the verdicts of others."""
    from ..app.judging.accuracy import second_judge_queue
    from ..app.stored_events import note_looks

    waiting = second_judge_queue(store, judge, settings)
    if not waiting:
        if not as_json:
            write_line(f"no detection needs a second verdict by {judge}")
        return
    detection = waiting[0]
    note_looks(store, "second look", [detection.subject], at=o.now(), who=judge)
    if as_json:
        write_json(detection.to_dict())
        return
    from ..report.text import detection_parts

    untimed = {source.name for source in store.sources().values() if not source.timed}
    how = f"ethogram verdict {detection.id} confirmed|false_alarm --blind --by {judge} --store ..."
    parts = detection_parts(detection, timed=detection.source not in untimed, verbose=True)
    show(*parts, "", f"{plural(len(waiting), 'detection')} waiting. To judge: {how}")


def list_verdicts(store: Store, detection: str, *, as_json: bool) -> None:
    """List all verdicts, or those on one detection, oldest first."""
    o.note_all(store, "verdicts")
    if detection:
        from ..app.judging.verdicts import find_detection

        find_detection(store, detection)
    verdicts = store.verdicts(detection or None)
    lines = list(map(verdict_line, verdicts)) or ["no verdicts"]
    emit((verdict.to_dict() for verdict in verdicts), lines, as_json=as_json)


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
    from ..app.judging.accuracy import (
        accuracies,
        agreement_record,
        calibrations,
        check_pattern,
        judge_agreement,
    )
    from ..config.settings import learning_in
    from ..errors import BadUsage
    from ..store import open_store

    if html and not calibration:
        raise BadUsage("--html needs --calibration")
    settings = o.InputOptions(config=config).settings()
    with open_store(store) as opened:
        if pattern:
            check_pattern(opened, pattern, settings)
        if calibration:
            calibrated = calibrations(opened, pattern or None, settings)
        else:
            minimum = learning_in(settings)["accuracy_minimum"]
            rows = accuracies(opened, pattern or None, minimum=minimum, silences=silences)
            together = judge_agreement(opened, pattern or None)
            blind = judge_agreement(opened, pattern or None, blind=True)
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
