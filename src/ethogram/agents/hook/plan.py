"""Plan: what a hook watches in a folder, by its settings, written as plain data.

python -P -m ethogram.agents.hook.plan FOLDER      writes the plan of a folder
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import ethogram

from ... import registry
from ...app.analyze import load_library
from ...app.readings import names_used
from ...config import Loaded, Settings, load_settings
from ...config.layers import CONFIG_VARIABLE
from ...config.learned import LEARNED_FILE
from ...config.trust import CONFIG_FILE, HIDDEN_FILE, record_file, user_file
from ...errors import EthogramError
from ...language import ast
from ...language.history import CAP
from ...language.program import Program, ThresholdProgram
from ...language.visitor import expressions, walk
from ...models.constants import ACTIVE_STATUSES
from ...patterns.code_patterns import PREFIX
from ...patterns.library import SHIPPED, Library
from ...signals import Options, plan
from ..status import SIGNALS, Plan, Rules, Watched
from .location import FAILED, plan_path, remove_old_plans, stamp_of, state_dir, write_data

ALWAYS = ("operation", "step_key", "progress", "error_key", "touched_path", "critical_path", "out_of_scope")
"""Signals that are always measured: messages and questions are made from them."""


def choose(library: Library) -> tuple[tuple[Watched, ...], tuple[tuple[str, str], ...]]:
    """Return the chosen programs that a hook can watch, and for each of the others the reason why not."""
    watched, left_out = [], []
    for program in library.programs:
        if not library.is_chosen(program):
            continue
        if reason := _obstacle(program):
            left_out.append((program.name, reason))
        else:
            watched.append(Watched(program, rows_needed(program), read_by(program), hashed(program)))
    return tuple(watched), tuple(left_out)


def _obstacle(program: Program) -> str:
    """Why a hook cannot watch a program; '' if it can."""
    if any(name.startswith(PREFIX) for name in program.signals):
        return "it is a pattern in code, which a hook has no time to load"
    if any(not item.__module__.startswith(SIGNALS) for item in plan(set(program.signals))):
        return "it needs a signal of a plug-in, which a hook has no time to load"
    if not isinstance(program.body, ThresholdProgram):
        return "only thresholds and trends are watched live"
    if program.group_by != ("subject", "thread"):
        return "its history is not one run"
    nodes = list(_nodes(program))
    others = (ast.Attribute, ast.Indicator, ast.Elapsed, ast.Cover, ast.Difference)
    if any(isinstance(node, others) for node in nodes):
        return "it reads more than signals"
    if any(isinstance(node, ast.Measure) and node.window.over_subject for node in nodes):
        return "it looks beyond the run"
    for sides in ((node.left, node.right) for node in nodes if isinstance(node, ast.Compare)):
        names = {side.name for side in sides if isinstance(side, ast.Signal)}
        if any(isinstance(side, ast.Text) for side in sides) and names & set(hashed(program)):
            return "it compares a text of which only a digest is stored"
    return ""


def _nodes(program: Program) -> Iterator[Any]:
    """The expressions that decide; the wording of a detection is not used live."""
    for outer in expressions((program.body, program.confidence, program.severities)):
        yield from walk(outer)


def read_by(program: Program) -> tuple[str, ...]:
    """Return the signals that a program's decision reads."""
    return tuple(sorted({node.name for node in _nodes(program) if isinstance(node, ast.Signal)}))


def hashed(program: Program) -> tuple[str, ...]:
    """Return the signals of a program that may hold any text, so that only digests of them are stored."""
    known = (name for name in read_by(program) if name in registry.signals)
    return tuple(name for name in known if registry.signals.get(name).range is None)


def rows_needed(program: Program) -> int:
    """Return how many rows a program's windows can reach back."""
    needs = [_reach(node.window) for node in _nodes(program) if isinstance(node, ast.Measure)]
    return max([1, *needs])


def _reach(window: ast.Window) -> int:
    if window.keep is not None:
        # Rows it drops lie in between; at most seven of eight are assumed to be such.
        return min(CAP, 8 * window.keep)
    counts = [item.n for item in window.last if isinstance(item, ast.Events)]
    if not counts or isinstance(window.skip, ast.Duration):
        return CAP
    return min(CAP, min(counts) + (window.skip.n if window.skip is not None else 0))


def make_plan(library: Library, settings: Settings, folder: str | None = None) -> Plan:
    """Return what to watch and how; `folder` is the working directory of runs without one."""
    watched, _ = choose(library)
    names = {name for item in watched for name in names_used(item.program)} | set(ALWAYS)
    options = Options.of(settings)
    # Whoever can change the hook's own files can change what it reports.
    user = user_file()
    own = [state_dir(), *([] if user is None else [str(user.parent)])]
    options = replace(options, critical_paths=(*options.critical_paths, *(f"{path}/**" for path in own)))
    if options.cwd is None and folder is not None:
        options = replace(options, cwd=os.path.abspath(folder))
    return Plan(plan(names), watched, options, rules_in(settings))


def plan_data(made: Plan) -> dict[str, Any]:
    """Return the plan as plain data, for `claude_code.load_plan`."""
    return {
        "modules": sorted({signal.__module__ for signal in made.signals}),
        "signals": [signal.name for signal in made.signals],
        "options": asdict(made.options),
        "rules": asdict(made.rules),
        "watched": [
            [item.program.to_json(), item.rows, list(item.names), list(item.hashed)] for item in made.watched
        ],
    }


def rules_in(settings: Settings) -> Rules:
    """Return the rules in the settings."""
    return Rules(**{name: value for name, value in settings.hook.items() if name != "patterns"})


def library_of(settings: Settings | Loaded) -> Library:
    """Return the patterns to watch: active run patterns and those the settings add, less those turned off."""
    own = settings.settings if isinstance(settings, Loaded) else settings
    more = own.hook["patterns"]
    names = {path.stem for path in (SHIPPED / "run").glob("*.yaml")}
    library = load_library(sorted(names | set(more)), settings)
    on = (item.name for item in library if item.status in ACTIVE_STATUSES or item.name in more)
    return replace(library, chosen=tuple(name for name in on if name not in own.hook["off"]))


def prepare(folder: str) -> Path:
    """Write the plan for runs in a folder."""
    loaded = settings_of(folder)
    library = library_of(loaded)
    data = plan_data(make_plan(library, loaded.settings, folder))
    files = [str(file) for file in settings_files(folder)] + [str(item.path) for item in library]
    # Another version of ethogram, whose plans may differ, has another file here.
    files += [str(loaded.learned.absolute()), str(ethogram.__file__)]
    path = plan_path(folder)
    write_data(path, {"stamp": stamp_of(files), **data})
    Path(path + FAILED).unlink(missing_ok=True)
    remove_old_plans(path)
    return Path(path)


def settings_files(folder: str) -> list[Path]:
    """Return the files that settings of a folder may come from: its own, learned, the user's, trusted."""
    path = os.environ.get(CONFIG_VARIABLE)
    own = [Path(path)] if path else [Path(folder, name).absolute() for name in (CONFIG_FILE, HIDDEN_FILE)]
    user = [file for file in (user_file(), record_file()) if file is not None]
    return [*own, own[0].with_name(LEARNED_FILE), *user]


def settings_of(folder: str) -> Loaded:
    """Return the settings for runs in a folder."""
    return load_settings(folder=os.path.abspath(folder))


def main(argv: Sequence[str]) -> int:
    """Write the plan of a folder, or record that its settings cannot be used."""
    (folder,) = argv
    try:
        prepare(folder)
    except EthogramError as error:
        write_data(
            plan_path(folder) + FAILED, {"stamp": stamp_of([str(file) for file in settings_files(folder)])}
        )
        print(error, file=sys.stderr)
        return 2
    finally:
        Path(plan_path(folder) + ".lock").unlink(missing_ok=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
