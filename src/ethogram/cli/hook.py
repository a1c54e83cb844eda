"""`ethogram hook`: watch a coding agent while it runs, and intervene."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Annotated

import click

from .. import read_events
from ..agents.hook import install as settings
from ..agents.hook import plan
from ..agents.hook import status as state
from ..agents.hook.location import state_dir
from ..errors import BadUsage
from ..report.rendering import rendered
from ..report.wording import printable
from .errors import warn
from .options import AsJson, Paths, arg, opt, seconds_of
from .output import Progress, emit, write_line, write_lines

Agent = Annotated[str, arg("Name the coding agent: claude-code.", "AGENT")]
User = Annotated[bool, opt("Change your own settings, or those of this folder.", "--user/--project")]
DryRun = Annotated[bool, opt("Show the change without writing it.", "--dry-run")]
Session = Annotated[str, opt("Select one session.", metavar="ID")]


def install(agent: Agent, user: User = False, dry_run: DryRun = False) -> None:
    """Add the hook to the settings of a coding agent."""
    settings.check_agent(agent)
    # Before anything is written: faults of our own settings are reported as everywhere else.
    loaded, watched = state.watching(".")
    for line in loaded.warnings:
        warn(line, as_json=False)
    path = _settings_path(user)
    change = settings.plan_install(path, settings.own_command())
    if dry_run:
        _show(change, str(path))
        write_line("Nothing was written (--dry-run).")
        return
    plan.prepare(str(Path.cwd()))
    settings.save_note(change)
    if not change.is_none:
        settings.apply(change)
    # Shown once it is done: a reader of only the first lines has it all the same.
    _show(change, str(path))
    if change.is_none:
        write_line(printable(f"The hook is already installed in {path}."))
    else:
        write_line(printable(f"Installed in {path}, for sessions that start from now on."))
    write_lines(rendered("hook_installed", watched=watched.to_dict(), folder=state_dir()))


def uninstall(agent: Agent, user: User = False, dry_run: DryRun = False) -> None:
    """Remove the hook from the settings, and nothing else."""
    settings.check_agent(agent)
    path = _settings_path(user)
    change = settings.plan_uninstall(path)
    if change.is_none:
        other = "project" if user else "user"
        elsewhere = f"; --{other} has one" if state.installation(other, ".").command else ""
        write_line(printable(f"There is no hook of ours in {path}{elsewhere}."))
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


def _settings_path(user: bool) -> Path:
    path = settings.settings_path("user" if user else "project", ".")
    if not user:
        settings.check_place(path, ".")
    return path


def _show(change: settings.Change, shown: str) -> None:
    for line in settings.difference(change, shown):
        # Tabs are indentation; every other control character is spelled out.
        write_line("\t".join(printable(part) for part in line.split("\t")))


def status(as_json: AsJson = False) -> None:
    """Show where the hook is installed and what it watches here."""
    record = state.status(".")
    emit([record], rendered("hook_status", status=record), as_json=as_json)


def report(
    session: Session = "",
    since: Annotated[str, opt("Select the last days, like 7d.", metavar="DURATION")] = "",
    as_json: AsJson = False,
) -> None:
    """List interventions, and how often each kind helped."""
    start = _ago(since, "--since")
    everything, runs = state.load_messages()
    chosen = state.select(everything, session, start)
    records = [state.message_record(message) for message in chosen]
    summary = state.report_record(chosen, runs)
    how = {"is_all": len(everything) == len(chosen), "outcomes": state.OUTCOMES}
    emit(
        [*records, summary], rendered("hook_report", messages=records, report=summary, **how), as_json=as_json
    )


def replay(
    paths: Paths,
    process: Annotated[bool, opt("Start a process for each event, as an agent does.", "--process")] = False,
    as_json: AsJson = False,
) -> None:
    """Show what the hook would have said in recorded runs."""
    from ..agents.hook import replay as replaying

    progress = Progress()
    with progress.checking("replaying"):
        events = list(read_events(paths).events)
        run = replaying.replay_in_processes if process else replaying.replay
        *records, summary = run(
            events, ".", progress=lambda done, total: progress.count(done, total, "events")
        )
    emit([*records, summary], rendered("hook_replay", messages=records, summary=summary), as_json=as_json)


def purge(
    session: Session = "",
    before: Annotated[str, opt("Remove what is older than this, like 30d.", metavar="DURATION")] = "",
    yes: Annotated[bool, opt("Do not ask.", "--yes")] = False,
) -> None:
    """Remove recorded runs permanently (default: all)."""
    end = _ago(before, "--before")
    if not yes:
        if not sys.stdin.isatty():
            raise BadUsage("cannot ask, not a terminal: nothing was removed; pass --yes")
        parts = (session and f"of session {session}", before and f"older than {before}")
        which = " and ".join(part for part in parts if part) or "all"
        if not click.confirm(printable(f"Remove recorded runs in {state_dir()} ({which})?")):
            write_line("Nothing was removed.")
            return
    write_lines(rendered("hook_purge", done=state.purge(session, end)))


def _ago(text: str, option: str) -> float | None:
    """The time that lies so long back, if given."""
    seconds = seconds_of(text, option)
    return None if seconds is None else time.time() - seconds
