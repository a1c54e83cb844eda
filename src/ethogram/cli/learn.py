"""`ethogram learn`: other numbers for a pattern that is too often wrong, proposed, taken up, taken back."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from .accuracy import NONE, Pattern
from .inputs import AsJson, Asked, Config
from .output import printable, write_json, write_line
from .stored import now
from .usage_common import user_name
from .verdict import By

if TYPE_CHECKING:
    from datetime import datetime

    from ..app.learning import LearningResult
    from ..config import Loaded
    from ..risk.changes import Change
    from ..risk.proposal import Effect, Proposal
    from ..store import Store


def register(app: typer.Typer) -> None:
    """Adds the command."""
    app.command("learn")(learn)


def learn(
    pattern: Pattern = "",
    store: Annotated[
        str, typer.Option("--store", metavar="URL", help="Where events and verdicts are kept.")
    ] = "",
    accept: Annotated[
        bool, typer.Option("--accept", help="Take up the newest proposal for the pattern.")
    ] = False,
    undo: Annotated[bool, typer.Option("--undo", help="Take back its newest change.")] = False,
    listed: Annotated[bool, typer.Option("--list", help="Every change so far.")] = False,
    by: By = "",
    as_of: Annotated[
        str,
        typer.Option(
            metavar="TIME",
            help="Only events up to then; without it, all. Verdicts count whenever they were given.",
        ),
    ] = "",
    config: Config = "",
    as_json: AsJson = False,
) -> None:
    """Propose another number for a pattern whose verdicts show that it is too often wrong.

    NoProposal is changed before it is accepted, unless the settings allow small steps (learning.automatic).
    """
    from ..app import learning
    from ..errors import BadUsage
    from ..store import open_store

    if [accept, undo, listed].count(True) > 1 or ((accept or undo) and not pattern):
        raise BadUsage("--accept and --undo take one PATTERN, and one of --accept, --undo, --list is asked")
    asked = Asked(as_of=as_of, config=config)
    loaded, judge, until = asked.loaded(), by or user_name(), asked.moment()
    if listed:
        tell_changes(loaded, pattern, as_json=as_json)
        return
    if undo:
        tell_change(learning.undo(pattern, loaded, by=judge, at=now()), loaded, as_json=as_json)
        return
    with open_store(store) as opened:
        if accept:
            change = learning.accept(opened, pattern, loaded, by=judge, at=now())
            tell_change(change, loaded, as_json=as_json)
            return
        names = [pattern] if pattern else learning.judged_patterns(opened)
        if not names and not as_json:
            write_line(NONE)
        for name in names:
            tell(opened, name, loaded, until, named=bool(pattern), as_json=as_json)


def tell(
    store: Store, pattern: str, loaded: Loaded, as_of: datetime | None, *, named: bool, as_json: bool
) -> None:
    """Look at one pattern and tell what came of it; go a step by itself where the settings allow it.

    `named`: somebody asked for it by its name, and wants to know where there is none.
    """
    from ..app.learning import LearningResult, apply_step, learn_pattern, learning_record
    from ..config.settings import learning_in
    from ..errors import BadPattern
    from ..risk.proposal import NoProposal, Proposal
    from .progress import Progress

    at = now()
    with Progress().checking(f"replaying {pattern} with other numbers"):
        try:
            lesson = learn_pattern(store, pattern, loaded.settings, at=at, as_of=as_of)
        except BadPattern:
            if named:
                raise
            lesson = LearningResult(
                NoProposal(pattern, "no pattern of that name can be read any more"), "", at
            )
    found: Change | str | None = None
    if isinstance(lesson.outcome, Proposal) and learning_in(loaded.settings)["automatic"]:
        found = apply_step(lesson.outcome, loaded, at=at)
    if as_json:
        write_json(learning_record(lesson, not_changed=found if isinstance(found, str) else None))
        if found is not None and not isinstance(found, str):
            write_json(found.to_dict())
        return
    for text in lines(lesson, at):
        write_line(text)
    if isinstance(found, str):
        write_line(f"  not changed by itself: {found}")
    elif found is not None:
        tell_change(found, loaded, as_json=False)


def lines(lesson: LearningResult, at: datetime) -> Iterator[str]:
    """The text form."""
    from ..risk.proposal import NoProposal

    told = lesson.outcome
    if isinstance(told, NoProposal):
        yield f"{told.pattern}: nothing to propose: {told.why}{_since(lesson, at)}"
        return
    yield told.sentence()
    yield from (f"  {text}" for text in told.diff().splitlines())
    yield from effect_lines(told)
    yield f"  take it up: ethogram learn {told.pattern} --accept --store ...{_since(lesson, at)}"


def _since(lesson: LearningResult, at: datetime) -> str:
    """That it was found out earlier, where it was."""
    from .text import stamp

    if lesson.at == at:
        return ""
    return f" (found on {stamp(lesson.at)}; tried again when a fifth of the verdicts are new)"


def effect_lines(told: Proposal) -> Iterator[str]:
    """What changes on verdicts, and lately."""
    yield f"  {'on ' + str(told.verdicts) + ' verdicts':24} confirmed  false alarms  precision"
    rows = (("now", told.before), ("then", told.after), ("then, on those left out", told.held_out))
    for title, effect in rows:
        right = effect.confirmed + effect.caught
        yield f"  {title:24} {right:9,}  {effect.false_alarms:12,}  {share(effect)}"
    if told.recent is not None:
        before, after = told.recent
        yield f"  last 30 days: {after:,} instead of {before:,}, losing {told.recent_lost:,} confirmed"
    yield f"  random verdicts would look as good in {told.luck:.1%} of cases"


def share(effect: Effect) -> str:
    """Precision with its interval."""
    if effect.precision is None:
        return "nothing found"
    low, high = effect.interval
    return f"{effect.precision:.2f} ({low:.2f} to {high:.2f})"


def tell_change(change: Change, loaded: Loaded, *, as_json: bool) -> None:
    """One change that was made just now."""
    if as_json:
        write_json(change.to_dict())
        return
    what = "taken back" if change.undoes else "changed"
    write_line(f"{what}: {change_line(change)}, in {printable(str(loaded.learned))}")


def tell_changes(loaded: Loaded, pattern: str, *, as_json: bool) -> None:
    """Every change so far, oldest first."""
    from dataclasses import replace

    from ..config.learned import read_changes
    from .text import stamp

    changes = read_changes(loaded.learned)
    own = [(n, one) for n, one in enumerate(changes, start=1) if not pattern or one.pattern == pattern]
    for number, one in own:
        if as_json:
            write_json(replace(one, number=number))
        else:
            undone = f", takes back {one.undoes}" if one.undoes else ""
            write_line(f"{number}  {stamp(one.at)}  {change_line(one)}{undone}")
    if not own and not as_json:
        write_line("nothing was learned yet")


def change_line(one: Change) -> str:
    """One change in a line."""
    from .text import clean

    return f"{clean(one.pattern)}.{clean(one.parameter)} {one.old:g} -> {one.new:g} by {clean(one.by)}"
