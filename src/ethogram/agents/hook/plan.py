"""Planning: what a hook watches in a folder, by its settings, written as plain data.

python -P -m ethogram.agents.hook.plan FOLDER      writes the plan of a folder
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import ethogram

from ... import registry
from ...app.analyze import load_library, names_used
from ...config import Loaded, Settings, load_settings
from ...config.layers import CONFIG_VARIABLE
from ...config.learned import LEARNED_FILE
from ...config.trust import CONFIG_FILE, HIDDEN_FILE, record_file, user_file
from ...errors import EthogramError
from ...language.ast import (
    Attribute,
    Compare,
    Cover,
    Difference,
    Duration,
    Elapsed,
    Events,
    Indicator,
    Measure,
    Signal,
    Text,
    Window,
)
from ...language.history import CAP
from ...language.program import Program, ThresholdProgram
from ...language.visitor import expressions, walk
from ...models.constants import ACTIVE_STATUSES
from ...patterns.code_patterns import PREFIX
from ...patterns.library import SHIPPED, Library
from ...signals import Options, plan
from ..rules import Rules
from ..status import SIGNALS, Plan, Watched
from .location import FAILED, forget_old_plans, plan_path, stamp_of, state_dir, write_data

ALWAYS = ("operation", "step_key", "progress", "error_key", "touched_path", "critical_path", "out_of_scope")
"""Signals that are measured whatever is looked for: what nudges and questions speak of."""


@dataclass(frozen=True, slots=True)
class Chosen:
    """What is watched, and why the rest of what was asked for is not."""

    watched: tuple[Watched, ...]
    left_out: tuple[tuple[str, str], ...]


def choose(library: Library) -> Chosen:
    """The programs that a hook can watch, and for each of the others the reason why it cannot."""
    watched, left_out = [], []
    for program in library.programs:
        if not library.is_chosen(program):
            continue
        if reason := _hindrance(program):
            left_out.append((program.name, reason))
        else:
            watched.append(Watched(program, rows_needed(program), read_by(program), hashed(program)))
    return Chosen(tuple(watched), tuple(left_out))


def _hindrance(program: Program) -> str:
    """Why a hook cannot watch a program; '' where it can."""
    if any(name.startswith(PREFIX) for name in program.signals):
        return "it is a pattern in code, which a hook has no time to load"
    if any(not item.__module__.startswith(SIGNALS) for item in plan(set(program.signals))):
        return "it needs a signal of a plug-in, which a hook has no time to load"
    if not isinstance(program.body, ThresholdProgram):
        return "only thresholds and trends are watched live"
    if program.group_by != ("subject", "thread"):
        return "its history is not one run"
    nodes = list(_nodes(program))
    if any(isinstance(node, Attribute | Indicator | Elapsed | Cover | Difference) for node in nodes):
        return "it reads more than signals"
    if any(isinstance(node, Measure) and node.window.over_subject for node in nodes):
        return "it looks beyond the run"
    own = set(hashed(program))
    texts = (node for node in nodes if isinstance(node, Compare))
    if any({_name(text.left), _name(text.right)} & own and _is_text(text) for text in texts):
        return "it compares what is kept as a digest only"
    return ""


def _nodes(program: Program) -> Iterator[Any]:
    """What decides; the wording and the details of a detection are not told live."""
    for outer in expressions((program.body, program.confidence, program.severities)):
        yield from walk(outer)


def _name(node: Any) -> str:
    return node.name if isinstance(node, Signal) else ""


def _is_text(compare: Compare) -> bool:
    return isinstance(compare.left, Text) or isinstance(compare.right, Text)


def read_by(program: Program) -> tuple[str, ...]:
    """The signals by which a program decides."""
    return tuple(sorted({node.name for node in _nodes(program) if isinstance(node, Signal)}))


def hashed(program: Program) -> tuple[str, ...]:
    """The signals of a program that may say anything, so that only digests of them are kept."""
    found = ((name, registry.signals.get(name)) for name in read_by(program) if name in registry.signals)
    return tuple(name for name, item in found if item.range is None)


def rows_needed(program: Program) -> int:
    """How many rows a program's windows can reach back."""
    needs = [_reach(node.window) for node in _nodes(program) if isinstance(node, Measure)]
    return max([1, *needs])


def _reach(window: Window) -> int:
    if window.keep is not None:
        # Those it does not keep lie in between; more than seven of eight would have to be such.
        return min(CAP, 8 * window.keep)
    counts = [item.n for item in window.last if isinstance(item, Events)]
    if not counts or isinstance(window.skip, Duration):
        return CAP
    return min(CAP, min(counts) + (window.skip.n if isinstance(window.skip, Events) else 0))


def plan_of(chosen: Chosen, settings: Settings, folder: str | None = None) -> Plan:
    """What to watch, with which signals and by which rules; `folder` is where runs work that do not say."""
    names = {name for item in chosen.watched for name in names_used(item.program)} | set(ALWAYS)
    options = Options.of(settings)
    # Whoever could change what is kept here could change what is told.
    ours = [state_dir(), *(str(path.parent) for path in (user_file(),) if path is not None)]
    own = (f"{path}/**" for path in ours)
    options = replace(options, critical_paths=(*options.critical_paths, *own))
    if options.cwd is None and folder is not None:
        options = replace(options, cwd=os.path.abspath(folder))
    return Plan(plan(names), chosen.watched, options, rules_in(settings))


def data_of(made: Plan) -> dict[str, Any]:
    """The plan as plain data, from which `answer.plan_of` makes an equal one."""
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
    """How the ladder is climbed, by the settings."""
    return Rules(**{name: value for name, value in settings.hook.items() if name != "patterns"})


def library_of(settings: Settings | Loaded) -> Library:
    """The patterns to watch: those of runs that are on and what the settings add, less what they turn off."""
    own = settings.settings if isinstance(settings, Loaded) else settings
    more = own.hook["patterns"]
    names = {path.stem for path in (SHIPPED / "run").glob("*.yaml")}
    library = load_library(sorted(names | set(more)), settings)
    on = (item.name for item in library if item.status in ACTIVE_STATUSES or item.name in more)
    return replace(library, chosen=tuple(name for name in on if name not in own.hook["off"]))


def prepare(folder: str) -> Path:
    """Write the plan for runs that work in a folder."""
    loaded = settings_of(folder)
    library = library_of(loaded)
    data = data_of(plan_of(choose(library), loaded.settings, folder))
    files = [str(file) for file in settings_files(folder)] + [str(item.path) for item in library]
    # A version of ours with other fields in its plans has another file here.
    files += [str(loaded.learned.absolute()), str(ethogram.__file__)]
    path = plan_path(folder)
    write_data(path, {"stamp": stamp_of(files), **data})
    Path(path + FAILED).unlink(missing_ok=True)
    forget_old_plans(path)
    return Path(path)


def settings_files(folder: str) -> list[Path]:
    """Where the settings of a folder may stand, what was learned over them, and what is trusted."""
    told = os.environ.get(CONFIG_VARIABLE)
    own = [Path(told)] if told else [Path(folder, name).absolute() for name in (CONFIG_FILE, HIDDEN_FILE)]
    user = [path for path in (user_file(), record_file()) if path is not None]
    return [*own, own[0].with_name(LEARNED_FILE), *user]


def settings_of(folder: str) -> Loaded:
    """The settings that hold for runs in a folder."""
    return load_settings(folder=os.path.abspath(folder))


def main(argv: Sequence[str]) -> int:
    """Write the plan of a folder, or note that it cannot be written as things are."""
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
