"""`ethogram verdict`, `patterns accuracy` and `patterns learn`: judge detections, and learn from verdicts."""

from __future__ import annotations

import sys
from dataclasses import replace
from datetime import datetime
from typing import Annotated

from .. import verdicts
from ..app.judging import learning
from ..app.judging import verdicts as judging
from ..app.judging.accuracy import agreement_record
from ..app.judging.learning import LearningResult, apply_step, learn_pattern, learning_record
from ..app.stored_events import note_looks, stored_event, stored_name, stored_source
from ..config import Loaded, Settings
from ..config.learned import read_changes
from ..config.settings import learning_in
from ..errors import BadPattern, BadUsage
from ..report.rendering import rendered
from ..report.text import detection_parts
from ..report.verdicts import NO_VERDICTS, plot
from ..report.wording import plural, stamp
from ..risk.changes import Change
from ..risk.proposal import NoProposal, Proposal
from ..store import Store, open_store
from . import options as o
from .output import Progress, Target, Writable, emit, show, write_json, write_line, write_lines


def verdict(
    store: o.StoreUrl,
    detection: Annotated[str, o.arg("Name a detection by its id.", "[DETECTION]")] = "",
    word: Annotated[str, o.arg("Judge it: confirmed or false_alarm (default: list).", "[VERDICT]")] = "",
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
    is_list = listed or bool(detection and not word)
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
                judging.find_detection(opened, detection)
            known = opened.verdicts(detection or None)
            emit(known, rendered("verdicts", verdicts=known, note=""), as_json=as_json)
            return
        note_looks(opened, "verdict", [None], at=o.now(), who=judge, why=why, subject=subject or None)
        if file:
            with Progress().checking("checking the verdicts"):
                new = judging.read_verdicts(file, opened, settings, by=judge, at=when, now=o.now())
                saved = judging.save_verdicts(opened, new)
            line = f"{plural(saved.added, 'verdict')} added; already known: {saved.repeated:,}"
            emit([saved], [line], as_json=as_json)
        else:
            of: str | judging.NonDetection = detection
            if not detection:
                # By the names that the store has: a private one has its own.
                name = stored_name(opened, o.whom(subject, is_pseudonym), key) if subject else ""
                if not is_pseudonym:
                    first, last = (stored_event(opened, event, key) for event in (first, last))
                where = stored_source(opened, source, key)
                of = judging.NonDetection(missed or correct_silence, name, first, last, where)
            word = word or ("missed" if missed else "correct_silence")
            judged = judging.VerdictInput(word, judge, when, of, why, blind)
            checked = judging.check_verdict(opened, judged, settings, now=o.now())
            added = judging.save_verdicts(opened, [checked]).added
            note = "" if added else "  (already known)"
            emit([checked], rendered("verdicts", verdicts=[checked], note=note), as_json=as_json)
        settled = judging.settle(opened, settings, o.now())
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
        lines = rendered("accuracy", rows=rows, together=together, blind=blind, nothing=NO_VERDICTS)
        emit(records, lines, as_json=as_json)
        return
    if html:
        from ..report.html import calibration_page

        Target("--html", html).write([calibration_page(calibrated)])
    emit(
        calibrated,
        rendered("calibration", calibrated=calibrated, plot=plot, nothing=NO_VERDICTS),
        as_json=as_json,
    )


# --- learn -------------------------------------------------------------------------------------


def learn(
    pattern: o.PatternName = "",
    store: Annotated[str, o.opt("Use the events and verdicts of this store.", "--store", metavar="URL")] = "",
    accept: Annotated[bool, o.opt("Apply the newest proposal for the pattern.", "--accept")] = False,
    undo: Annotated[bool, o.opt("Undo the newest change of the pattern.", "--undo")] = False,
    listed: Annotated[bool, o.opt("List all changes so far.", "--list")] = False,
    by: o.By = "",
    as_of: Annotated[str, o.opt("Use events up to this time (default: all).", metavar="TIME")] = "",
    config: o.Config = "",
    as_json: o.AsJson = False,
) -> None:
    """Propose a better parameter where verdicts show too many errors.

    Nothing changes before it is accepted, unless the settings allow small steps (learning.automatic).
    """
    if [accept, undo, listed].count(True) > 1 or ((accept or undo) and not pattern):
        raise BadUsage(
            "expected at most one of --accept, --undo and --list; --accept and --undo need a PATTERN"
        )
    options = o.InputOptions(as_of=as_of, config=config)
    loaded, judge, until = options.loaded(), by or o.user_name(), options.moment()
    if listed:
        changes = [
            replace(change, number=number)
            for number, change in enumerate(read_changes(loaded.learned), start=1)
            if not pattern or change.pattern == pattern
        ]
        emit(changes, rendered("changes", changes=changes), as_json=as_json)
        return
    if undo:
        report_change(learning.undo(pattern, loaded, by=judge, at=o.now()), loaded, as_json=as_json)
        return
    with open_store(store) as opened:
        if accept:
            change = learning.accept(opened, pattern, loaded, by=judge, at=o.now())
            report_change(change, loaded, as_json=as_json)
            return
        names = [pattern] if pattern else learning.judged_patterns(opened)
        if not names and not as_json:
            write_line(NO_VERDICTS)
        for name in names:
            propose(opened, name, loaded, until, named=bool(pattern), as_json=as_json)


def propose(
    store: Store, pattern: str, loaded: Loaded, as_of: datetime | None, *, named: bool, as_json: bool
) -> None:
    """Look for a proposal for one pattern and report it; apply it where the settings allow that.

    `named`: the pattern was asked for by name, so that it is an error where there is none.
    """
    at = o.now()
    with Progress().checking(f"replaying {pattern} with other parameters"):
        try:
            lesson = learn_pattern(store, pattern, loaded.settings, at=at, as_of=as_of)
        except BadPattern:
            if named:
                raise
            lesson = LearningResult(
                NoProposal(pattern, "no pattern of that name can be read any more"), "", at
            )
    result: Change | str | None = None
    if isinstance(lesson.outcome, Proposal) and learning_in(loaded.settings)["automatic"]:
        result = apply_step(lesson.outcome, loaded, at=at)
    not_changed = result if isinstance(result, str) else None
    change = None if result is None or isinstance(result, str) else result
    if as_json:
        write_json(learning_record(lesson, not_changed=not_changed))
        if change is not None:
            write_json(change.to_dict())
        return
    # Saved results are reused until a fifth of the verdicts is new.
    known = f" (from {stamp(lesson.at)}; tried again when a fifth of verdicts is new)"
    since = "" if lesson.at == at else known
    write_lines(rendered("proposal", lesson=lesson, since=since, not_changed=not_changed))
    if change is not None:
        report_change(change, loaded, as_json=False)


def report_change(change: Change, loaded: Loaded, *, as_json: bool) -> None:
    """Report a change that was just made."""
    emit([change], rendered("changes", changes=[change], file=loaded.learned), as_json=as_json)
