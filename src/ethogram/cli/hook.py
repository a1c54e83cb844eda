"""`ethogram hook`: watch a coding agent while it runs, and intervene."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Annotated

import click

from ..report.wording import printable
from .errors import warn
from .options import AsJson, Paths, arg, opt, seconds_of
from .output import Progress, emit, write_line, write_lines

if TYPE_CHECKING:
    from ..agents.hook.install import Change


Agent = Annotated[str, arg("Name the coding agent: claude-code.", "AGENT")]
User = Annotated[bool, opt("Change your own settings, or those of this folder.", "--user/--project")]
DryRun = Annotated[bool, opt("Show the change without writing it.", "--dry-run")]
Session = Annotated[str, opt("Select one session.", metavar="ID")]


def install(agent: Agent, user: User = False, dry_run: DryRun = False) -> None:
    """Add the hook to the settings of a coding agent."""
    from pathlib import Path

    from ..agents.hook import install as settings
    from ..agents.hook.plan import prepare
    from ..agents.hook.status import watching
    from ..report.hook import watching_lines

    settings.check_agent(agent)
    # Before anything is written: faults of our own settings are reported as everywhere else.
    loaded, watched = watching(".")
    for line in loaded.warnings:
        warn(line, as_json=False)
    path = settings.settings_path("user" if user else "project", ".")
    if not user:
        settings.check_place(path, ".")
    change = settings.plan_install(path, settings.own_command())
    if dry_run:
        _show(change, str(path))
        write_line("Nothing was written (--dry-run).")
        return
    prepare(str(Path.cwd()))
    settings.save_note(change)
    if not change.is_none:
        settings.apply(change)
    # Shown once it is done: a reader of only the first lines has it all the same.
    _show(change, str(path))
    if change.is_none:
        write_line(printable(f"The hook is already installed in {path}."))
    else:
        write_line(printable(f"Installed in {path}, for sessions that start from now on."))
    write_lines(watching_lines(watched))


def uninstall(agent: Agent, user: User = False, dry_run: DryRun = False) -> None:
    """Remove the hook from the settings, and nothing else."""
    from ..agents.hook import install as settings

    settings.check_agent(agent)
    path = settings.settings_path("user" if user else "project", ".")
    if not user:
        settings.check_place(path, ".")
    change = settings.plan_uninstall(path)
    if change.is_none:
        write_line(printable(f"There is no hook of ours in {path}{_elsewhere(user)}."))
        if not dry_run:
            settings.remove_note(change)
        return
    if dry_run:
        _show(change, str(path))
        write_line("Nothing was written (--dry-run).")
        return
    settings.apply(change)
    settings.remove_note(change)
    _show(change, str(path))
    write_line(printable(f"Removed from {path}. To remove recorded runs as well: ethogram hook purge"))


def _show(change: Change, shown: str) -> None:
    from ..agents.hook.install import difference

    for line in difference(change, shown):
        # Tabs are indentation; every other control character is spelled out.
        write_line("\t".join(printable(part) for part in line.split("\t")))


def _elsewhere(user: bool) -> str:
    """Where the hook is instead, if it is."""
    from ..agents.hook.status import installation

    other = "project" if user else "user"
    return f"; --{other} has one" if installation(other, ".").command else ""


def status(as_json: AsJson = False) -> None:
    """Show where the hook is installed and what it watches here."""
    from ..agents.hook.status import status as status_of
    from ..report.hook import status_lines

    record = status_of(".")
    emit([record], map(printable, status_lines(record)), as_json=as_json)


def report(
    session: Session = "",
    since: Annotated[str, opt("Select the last days, like 7d.", metavar="DURATION")] = "",
    as_json: AsJson = False,
) -> None:
    """List interventions, and how often each kind helped."""
    from ..agents.hook import status as effects
    from ..agents.hook.status import load_messages
    from ..report.hook import report_lines

    start = _ago(since, "--since")
    everything, runs = load_messages()
    chosen = effects.select(everything, session, start)
    records = [effects.message_record(message) for message in chosen]
    summary = effects.report_record(chosen, runs)
    lines = report_lines(records, summary, is_all=len(everything) == len(chosen))
    emit([*records, summary], map(printable, lines), as_json=as_json)


def replay(
    paths: Paths,
    process: Annotated[bool, opt("Start a process for each event, as an agent does.", "--process")] = False,
    as_json: AsJson = False,
) -> None:
    """Show what the hook would have said in recorded runs."""
    from .. import read_events
    from ..agents.hook.replay import replay as in_process
    from ..agents.hook.replay import replay_in_processes
    from ..report.hook import replay_lines

    progress = Progress()
    with progress.checking("replaying"):
        events = list(read_events(paths).events)
        run = replay_in_processes if process else in_process
        *records, summary = run(
            events, ".", progress=lambda done, total: progress.count(done, total, "events")
        )
    emit([*records, summary], map(printable, replay_lines(records, summary)), as_json=as_json)


def purge(
    session: Session = "",
    before: Annotated[str, opt("Remove what is older than this, like 30d.", metavar="DURATION")] = "",
    yes: Annotated[bool, opt("Do not ask.", "--yes")] = False,
) -> None:
    """Remove recorded runs permanently (default: all)."""
    from ..agents.hook.location import state_dir
    from ..agents.hook.status import purge as remove
    from ..errors import BadUsage
    from ..report.hook import purge_lines

    end = _ago(before, "--before")
    if not yes:
        if not sys.stdin.isatty():
            raise BadUsage("cannot ask, not a terminal: nothing was removed; pass --yes")
        parts = (session and f"of session {session}", before and f"older than {before}")
        which = " and ".join(part for part in parts if part) or "all"
        if not click.confirm(printable(f"Remove recorded runs in {state_dir()} ({which})?")):
            write_line("Nothing was removed.")
            return
    write_lines(map(printable, purge_lines(remove(session, end))))


def _ago(text: str, option: str) -> float | None:
    """The time that lies so long back, if given."""
    seconds = seconds_of(text, option)
    return None if seconds is None else time.time() - seconds
