"""`ethogram hook`: a coding agent that runs now is told what it does, while it does it."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from .errors import warn
from .inputs import AsJson, Paths
from .output import printable, write_json, write_line

if TYPE_CHECKING:
    from ..agents.hook.install import Change


HELP = """Tell a coding agent what it does, while it does it.

The agent starts `ethogram hook` for each event, which stands on standard input. Nothing leaves this machine.
"""

Agent = Annotated[str, typer.Argument(metavar="AGENT", help="The coding agent: claude-code.")]
User = Annotated[
    bool,
    typer.Option("--user/--project", help="Your own settings, or those of this folder."),
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Show what would change, and change nothing.")]
Session = Annotated[str, typer.Option(metavar="ID", help="Only this session.")]


def register(app: typer.Typer) -> None:
    """Adds the group."""
    group = typer.Typer(help=HELP, no_args_is_help=True)
    group.command("install")(install)
    group.command("uninstall")(uninstall)
    group.command("status")(status)
    group.command("report")(report)
    group.command("replay")(replay)
    group.command("purge")(purge)
    app.add_typer(group, name="hook")


def install(agent: Agent, user: User = False, dry_run: DryRun = False) -> None:
    """Put the hook into the settings of a coding agent, and show the change."""
    from pathlib import Path

    from ..agents.hook import install as settings
    from ..agents.hook.plan import prepare
    from ..agents.hook.status import watching
    from .hook_text import watching_lines

    settings.check_agent(agent)
    # Before anything is written: settings of ours that cannot be used are told as everywhere else.
    seen = watching(".")
    for line in seen.loaded.warnings:
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
    # Shown once it is done: whoever reads only the first lines has it all the same.
    _show(change, str(path))
    if change.is_none:
        write_line(printable(f"The hook is installed already in {path}."))
    else:
        write_line(printable(f"Installed in {path}; it holds for sessions that start from now on."))
    for line in watching_lines(seen):
        write_line(line)


def uninstall(agent: Agent, user: User = False, dry_run: DryRun = False) -> None:
    """Take the hook out of the settings again; all else stays as it is."""
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
    write_line(printable(f"Removed from {path}. To remove what is known of runs, too: ethogram hook purge"))


def _show(change: Change, shown: str) -> None:
    from ..agents.hook.install import difference

    for line in difference(change, shown):
        # Tabs are how some people indent; everything else that a terminal would obey is spelled out.
        write_line("\t".join(printable(part) for part in line.split("\t")))


def _elsewhere(user: bool) -> str:
    """Where it is instead, if it is."""
    from ..agents.hook.status import installation

    other = "project" if user else "user"
    return f"; --{other} has one" if installation(other, ".").command else ""


def status(as_json: AsJson = False) -> None:
    """Say where the hook is installed, what it watches in this folder, and how it fares."""
    from ..agents.hook.status import status as status_of
    from .hook_text import status_lines

    told = status_of(".")
    if as_json:
        write_json(told)
        return
    for line in status_lines(told):
        write_line(printable(line))


def report(
    session: Session = "",
    since: Annotated[str, typer.Option(metavar="7d", help="Only what was said in this time.")] = "",
    as_json: AsJson = False,
) -> None:
    """List every intervention with its effect, and how often each kind helped."""
    from ..agents.hook.status import load_messages, message_record, report_record, select
    from .hook_text import report_lines

    start = _ago(since, "--since")
    everything, runs = load_messages()
    found = select(everything, session, start)
    told = report_record(found, runs)
    if as_json:
        for one in found:
            write_json(message_record(one))
        write_json(told)
        return
    is_all = len(everything) == len(found)
    for line in report_lines([message_record(one) for one in found], told, is_all=is_all):
        write_line(printable(line))


def replay(
    paths: Paths,
    process: Annotated[
        bool, typer.Option("--process", help="Start the hook anew for every event, as an agent does; slow.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Show what the hook would have said in recorded runs."""
    from .. import read_events
    from ..agents.hook.replay import replay as replayed
    from ..agents.hook.replay import replay_in_processes
    from .hook_text import replay_lines
    from .progress import Progress

    progress = Progress()
    with progress.checking("replaying"):
        events = list(read_events(paths).events)
        tell = replay_in_processes if process else replayed
        *said, told = tell(events, ".", progress=lambda done, total: progress.count(done, total, "events"))
    if as_json:
        for one in (*said, told):
            write_json(one)
        return
    for line in replay_lines(said, told):
        write_line(printable(line))


def purge(
    session: Session = "",
    before: Annotated[str, typer.Option(metavar="30d", help="Only what is older than this.")] = "",
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
) -> None:
    """Remove what is known of runs, for good: no copy stays in a file. Without options, everything."""
    from ..agents.hook.location import state_dir
    from ..agents.hook.status import purge as remove
    from ..errors import BadUsage
    from .hook_text import purge_lines

    end = _ago(before, "--before")
    if not yes:
        if not sys.stdin.isatty():
            raise BadUsage("nobody can be asked here, so nothing was removed; say --yes")
        which = " and ".join(
            part for part in (session and f"of session {session}", before and f"older than {before}") if part
        )
        if not typer.confirm(
            printable(f"Remove what is known of runs in {state_dir()} ({which or 'everything'})?")
        ):
            write_line("Nothing was removed.")
            return
    for line in purge_lines(remove(session, end)):
        write_line(printable(line))


def _ago(given: str, option: str) -> float | None:
    """The moment that lies so long back, if that was asked for."""
    import time

    from ..errors import BadUsage
    from ..models import parse_duration

    try:
        return time.time() - parse_duration(given) / 1e6 if given else None
    except (ValueError, OverflowError) as error:
        raise BadUsage(f"{option}: {error}") from None
