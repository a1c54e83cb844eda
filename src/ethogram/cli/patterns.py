"""`ethogram patterns`: write, show, check, test and lock patterns.

What is checked, tested and locked are the files as they are written: parameters and statuses that the
settings lay over them are seen by `list` and `show` only.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .errors import BAD
from .inputs import AsJson, Config, load_config
from .output import printable, write_json, write_line
from .text import plural

if TYPE_CHECKING:
    from ..config.loading import Loaded
    from ..patterns.library import Library


Selectors = Annotated[
    list[str] | None,
    typer.Argument(help="Files, folders, names or globs; none means all.", show_default=False),
]


def register(app: typer.Typer) -> None:
    """Adds the group of commands."""
    from .backtest import backtest, shadow

    group = typer.Typer(help="Write, check, test and lock patterns.", rich_markup_mode=None)
    commands: dict[str, Callable[..., None]] = {
        "new": new,
        "list": list_,
        "show": show,
        "lint": lint,
        "test": run_tests,
        "backtest": backtest,
        "shadow": shadow,
        "lock": lock,
    }
    for name, command in commands.items():
        group.command(name)(command)
    app.add_typer(group, name="patterns", no_args_is_help=True)


def new(
    name: Annotated[str, typer.Argument(help="The pattern's name, which is the file's too.")],
    shape: Annotated[
        str, typer.Option(help="sequence, threshold, trend, contrast, silence, ...")
    ] = "sequence",
    folder: Annotated[Path, typer.Option(help="Where the file goes.")] = Path("patterns"),
    as_json: AsJson = False,
) -> None:
    """Write a complete pattern to start from; nothing is ever overwritten."""
    from ..patterns.listing import PatternWritten
    from ..patterns.scaffold import write_new

    for path in write_new(name, shape, folder):
        if as_json:
            write_json(PatternWritten(pattern=path.stem, path=str(path)))
        else:
            write_line(printable(f"wrote {path}"))


def list_(selectors: Selectors = None, as_json: AsJson = False, config: Config = "") -> None:
    """List patterns of every status, with shape, severity and title."""
    from .pattern_text import brief_record, table_lines

    records = [brief_record(file) for file in as_set(_settings(config), selectors)]
    if as_json:
        for record in records:
            write_json(record)
        return
    for line in table_lines(records):
        write_line(line)


def show(
    name: Annotated[str, typer.Argument(help="A pattern's name or file.")],
    as_json: AsJson = False,
    config: Config = "",
) -> None:
    """Show what a pattern means, misses and mistakes; with --json its compiled program too."""
    from ..config.trust import SUFFIXES
    from ..models.detection import base_pattern
    from .pattern_text import full_record, pattern_lines

    loaded = _settings(config)
    selector = name if "/" in name or name.endswith(SUFFIXES) else base_pattern(name)
    for number, file in enumerate(as_set(loaded, [selector])):
        record = full_record(file, loaded.origins)
        if as_json:
            write_json(record)
            continue
        for line in ([""] if number else []) + pattern_lines(record, loaded.origins):
            write_line(line)


def lint(
    selectors: Selectors = None,
    strict: Annotated[bool, typer.Option("--strict", help="Fail on warnings too.")] = False,
    as_json: AsJson = False,
    config: Config = "",
) -> None:
    """Check patterns: every fault of every file at once, then what could be better."""
    from ..patterns import lint as linting
    from ..patterns.catalogue import load_vocabulary
    from ..patterns.listing import LintSummary, LintWarning

    loaded = _settings(config)
    library = _as_written(loaded, selectors)
    warnings = linting.lint(library, load_vocabulary(loaded.settings.signals))
    for warning in warnings:
        if as_json:
            write_json(LintWarning(place=warning))
        else:
            place = f"{warning.path}:{warning.line}:{warning.column}"
            write_line(printable(f"{place}: warning: {warning.message}"))
    if as_json:
        write_json(LintSummary(patterns=len(library), warnings=len(warnings)))
    else:
        write_line(f"{plural(len(library), 'pattern')}, {plural(len(warnings), 'warning')}")
    if strict and warnings:
        raise typer.Exit(BAD)


def run_tests(selectors: Selectors = None, as_json: AsJson = False, config: Config = "") -> None:
    """Run the examples in every pattern file, and fail where one fails."""
    from ..app import pattern_tests as testing
    from ..errors import BadPattern

    results = testing.run_examples(_as_written(_settings(config), selectors))
    if as_json:
        for result in results:
            write_json(result.to_dict())
        write_json(testing.summary(results))
    else:
        write_line(testing.summary_line(results))
    if failed := [result.fault for result in results if not result.ok]:
        raise BadPattern(failed)


def lock(
    check: Annotated[bool, typer.Option("--check", help="Write nothing; fail on any change.")] = False,
    folder: Annotated[
        Path | None, typer.Option(help="Your own patterns; without it the library's.", show_default=False)
    ] = None,
    as_json: AsJson = False,
    config: Config = "",
) -> None:
    """Write, or compare, the hashes of what patterns detect and say."""
    from ..errors import BadPattern, Fault
    from ..patterns import library as load
    from ..patterns import lock as locking
    from ..patterns.listing import Lock, LockChange

    root = load.SHIPPED if folder is None else folder
    library = (
        _as_written(_settings(config), [root]) if folder is not None else load.load_patterns(any_status=True)
    )
    current = locking.hashes_of(locking.inside(library.files.values(), root))
    path = root / locking.FILE
    changes = locking.changes(locking.read_lock(path) or {}, current)
    if not check:
        locking.write_lock(path, current)
    if as_json:
        write_json(
            Lock(
                path=str(path),
                patterns=len(current),
                changes=[LockChange(pattern=one.pattern, change=one.what) for one in changes],
            )
        )
    if check and changes:
        hint = "if that is meant: ethogram patterns lock" + (f" --folder {folder}" if folder else "")
        raise BadPattern(Fault(str(path), 0, 0, f"{one.pattern}: {one.what}; {hint}") for one in changes)
    if not as_json:
        for one in changes:
            write_line(printable(f"{one.pattern}: {one.what}"))
        done = "is current" if check else "written"
        write_line(printable(f"{path} {done}: {plural(len(current), 'pattern')}"))


def _settings(config: str) -> Loaded:
    return load_config(config)


def _as_written(loaded: Loaded, selectors: Sequence[str | Path] | None) -> Library:
    """The patterns asked for, of every status, without what the settings lay over them."""
    return as_set(replace(loaded, settings=replace(loaded.settings, parameters={}, status={})), selectors)


def as_set(loaded: Loaded, selectors: Sequence[str | Path] | None) -> Library:
    """The patterns asked for, of every status, with parameters and statuses as the settings have them."""
    from ..patterns.catalogue import load_vocabulary
    from ..patterns.library import select
    from ..patterns.settings_check import check_patterns

    settings = loaded.settings
    check_patterns(loaded, selectors)
    return select(
        selectors or (),
        more=settings.patterns,
        vocabulary=load_vocabulary(settings.signals),
        parameters=settings.parameters,
        status=settings.status,
    )
