"""`ethogram learn`: propose, apply and undo parameter changes from verdicts."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from typing import Annotated

from ..app.judging import learning
from ..app.judging.learning import LearningResult, apply_step, learn_pattern, learning_record
from ..config import Loaded
from ..config.learned import read_changes
from ..config.settings import learning_in
from ..errors import BadPattern, BadUsage
from ..report.verdicts import NO_VERDICTS, change_line, lesson_lines
from ..report.wording import printable, stamp
from ..risk.changes import Change
from ..risk.proposal import NoProposal, Proposal
from ..store import Store, open_store
from . import options as o
from .output import Progress, emit, write_json, write_line, write_lines


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
        lines = [
            f"{change.number}  {stamp(change.at)}  {change_line(change)}"
            + (f", undoes {change.undoes}" if change.undoes else "")
            for change in changes
        ]
        emit(changes, lines or ["nothing learned yet"], as_json=as_json)
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
    write_lines(lesson_lines(lesson, at))
    if not_changed is not None:
        write_line(f"  not applied automatically: {not_changed}")
    elif change is not None:
        report_change(change, loaded, as_json=False)


def report_change(change: Change, loaded: Loaded, *, as_json: bool) -> None:
    """Report a change that was just made."""
    what = "undone" if change.undoes else "changed"
    line = f"{what}: {change_line(change)}, in {printable(str(loaded.learned))}"
    emit([change.to_dict()], [line], as_json=as_json)
