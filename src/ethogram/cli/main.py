"""`ethogram`: build the app, run one command, and turn whatever happens into an exit code."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Annotated

import click

import ethogram

from .errors import begin, report_error
from .help import Group, Target
from .options import opt
from .output import CannotWrite, flush, make_streams_safe, write_line

COMMANDS: Mapping[str, Mapping[str, Target]] = {
    "Analyse": {
        "analyze": "analyze:analyze",
        "chat": "chat:chat",
        "evaluate": "evaluate:evaluate",
        "assess": "risk:assess",
        "why": "why:why",
    },
    "Scale": {
        "spark": Group("Detect patterns on a Spark cluster.", analyze="spark:analyze", stream="spark:stream"),
    },
    "Live": {
        "watch": "watch:watch",
        "sweep": "sweep:sweep",
        "hook": Group(
            "Watch a coding agent while it runs, and intervene.\n\n"
            "The agent starts `ethogram hook` for each event on standard input. Nothing leaves this machine.",
            install="hook:install",
            uninstall="hook:uninstall",
            status="hook:status",
            report="hook:report",
            replay="hook:replay",
            purge="hook:purge",
        ),
        "usage": Group(
            "Record how people use a service, and report changes.",
            record="usage:record",
            signals="usage:signals",
            sweep="usage:sweep",
            audit="usage:audit",
            info="usage:info",
            cohort="usage:cohort",
            key=Group(
                "Make, rotate and check the key of pseudonyms.",
                new="usage:new_key",
                rotate="usage:rotate_key",
                check="usage:check_key",
            ),
        ),
    },
    "Serve": {
        "serve": "serve:serve",
        "proxy": "proxy:proxy",
        "keys": Group(
            "Make, list and remove API keys of a service.",
            new="serve:new",
            list="serve:list_",
            remove="serve:remove",
        ),
        "doctor": "doctor:doctor",
    },
    "Patterns": {
        "patterns": Group(
            "Write, test, validate and improve patterns.",
            new="patterns:new",
            list="patterns:list_",
            show="patterns:show",
            lint="patterns:lint",
            test="patterns:run_tests",
            backtest="backtest:backtest",
            shadow="backtest:shadow",
            validate="backtest:validate",
            accuracy="verdict:accuracy",
            learn="verdict:learn",
            lock="patterns:lock",
            install="packs:install",
            remove="packs:remove",
        ),
        "signals": Group(
            "List, try and compare what measures messages.",
            list="signals:list_names",
            scan="evaluate:scan",
            try_="signals:try_samples",
            lexicon="signals:lexicon",
            evaluators="signals:evaluators",
            compare="signals:compare",
        ),
    },
    "Store": {
        "export-scores": "export:export_scores",
        "store": Group(
            "Import events, ask about subjects, copy, export and purge.",
            import_="store:import_files",
            info="store:info",
            risk="risk:risk",
            subject="risk:subject",
            detections="detections:detections",
            history="questions:history",
            who="questions:who",
            alike="questions:alike",
            early="questions:early",
            groups="questions:groups",
            copy="store:copy",
            export="store:export",
            export_subject="store:export_subject",
            purge="store:purge",
        ),
        "graph": Group("Prepare a graph in Neo4j.", init="graph:init"),
    },
    "Judge": {
        "verdict": "verdict:verdict",
    },
    "Setup": {
        "demo": "demo:demo",
        "config": Group(
            "Show settings and their origins, schemas, and trusted files.",
            show="config:show",
            path="config:path",
            schema="config:schema",
            trust="config:trust",
        ),
        "mute": Group(
            "Hide known detections, with a reason and an end.",
            add="mute:add",
            list="mute:list_mutes",
            remove="mute:remove",
        ),
    },
}
"""Panel of the help -> command -> its function, as `module:function`."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; the exit code (see cli/errors.py). `argv` defaults to the command line's."""
    args = list(sys.argv[1:] if argv is None else argv)
    return run(build_app, "ethogram", args)


def run(build: Callable[[], click.Command], name: str, args: list[str]) -> int:
    """Run one command of the app that `build` makes, called `name` in its help; the exit code."""
    try:
        make_streams_safe(annotates=any(word.startswith("github") for word in _formats(args)))
        begin()
        command = build()
        if instruction := os.environ.get("_ETHOGRAM_COMPLETE"):
            from click.shell_completion import shell_complete

            return shell_complete(command, {}, name, "_ETHOGRAM_COMPLETE", instruction)
        # Not command(): that would decide itself how errors look and what they exit with.
        with command.make_context(name, args) as context:
            command.invoke(context)
        flush()
    except BaseException as error:
        if isinstance(error, SystemExit | GeneratorExit):
            raise
        return _flushed(report_error(error, as_json=_wants_json(args)))
    return 0


def _wants_json(args: Sequence[str]) -> bool:
    """Whether errors are JSON too.

    >>> _wants_json(["analyze", "--format", "json"]), _wants_json(["analyze", "--format=github"])
    (True, False)
    """
    return "--json" in args or "json" in _formats(args)


def _formats(args: Sequence[str]) -> set[str]:
    """What follows `--format` or `--format=`."""
    after = {word for option, word in pairwise(args) if option == "--format"}
    return after | {word.removeprefix("--format=") for word in args if word.startswith("--format=")}


def build_app() -> Group:
    """The app with every command."""
    text = "Detect behaviour patterns over time in agent runs, chats and usage."
    return Group(text, COMMANDS, _options)


def _show_version(context: click.Context, param: click.Parameter, chosen: bool) -> None:
    if chosen:
        write_line(f"ethogram {ethogram.__version__}")
        context.exit()


def _options(
    version: Annotated[
        bool, opt("Show the version.", "--version", callback=_show_version, is_eager=True)
    ] = False,
) -> None:
    """Options of the app itself."""


def _flushed(code: int) -> int:
    """The exit code, once what was written before the error has gone out too."""
    try:
        if sys.stdout is not None:
            flush()
    except (BrokenPipeError, CannotWrite) as error:
        return report_error(error, as_json=False)
    return code
