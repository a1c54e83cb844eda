"""`ethogram patterns`: write, list, test, lock, backtest and validate patterns.

`lint`, `test` and `lock` read the files as they are written: parameters and statuses that the settings
lay over them count in `list` and `show` only.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import click

import ethogram

from ..config.loading import Loaded
from ..config.trust import SUFFIXES
from ..errors import BadPattern, BadUsage, Fault
from ..language.compiler import compile_patterns
from ..language.shape_parser import KINDS
from ..models.constants import ACTIVE_STATUSES
from ..models.detection import base_pattern
from ..patterns import library as load
from ..patterns import lint as linting
from ..patterns import listing
from ..patterns import lock as locking
from ..patterns.catalogue import load_vocabulary
from ..patterns.library import Library, select
from ..patterns.lint import is_shipped
from ..patterns.packs import origin_of
from ..patterns.pattern_file import LISTS, PatternFile
from ..patterns.scaffold import write_new
from ..patterns.settings_check import check_patterns
from ..report.patterns import pattern_lines
from ..report.rendering import rendered
from ..report.wording import plural, printable
from .errors import BAD, write_faults
from .options import NONE, AsJson, Config, ExitZero, Plugins, arg, check_word, load_config, opt
from .output import emit, write_json, write_line, write_lines

_WORDS = ("id", "author", "date", "modified", "description", "triage")
_MEANING = ("define", "for_each", "shape", "confidence", "details", "tell_at")

Selectors = Annotated[list[str], arg("Select files, folders, names or globs (default: all).", "SELECTOR")]


def new(
    name: Annotated[str, arg("Name the pattern, and so its file.", "NAME")],
    shape: Annotated[str, opt("Choose sequence, threshold, trend, contrast, silence, ...")] = "sequence",
    folder: Annotated[Path, opt("Write into this folder.")] = Path("patterns"),
    as_json: AsJson = False,
) -> None:
    """Write a complete pattern to start from."""
    paths = write_new(name, shape, folder)
    records = (listing.PatternWritten(pattern=path.stem, path=str(path)) for path in paths)
    emit(records, (printable(f"wrote {path}") for path in paths), as_json=as_json)


def list_(selectors: Selectors = NONE, as_json: AsJson = False, config: Config = "") -> None:
    """List patterns with status, shape, severity and title."""
    rows = [_row(file) for file in as_set(load_config(config), selectors)]
    emit(rows, rendered("patterns", rows=rows), as_json=as_json)


def show(
    name: Annotated[str, arg("Name a pattern or its file.", "NAME")],
    as_json: AsJson = False,
    config: Config = "",
) -> None:
    """Show a pattern in full; with --json, compiled too."""
    loaded = load_config(config)
    selector = name if "/" in name or name.endswith(SUFFIXES) else base_pattern(name)
    for number, file in enumerate(as_set(loaded, [selector])):
        record = full_record(file, loaded.origins)
        if number and not as_json:
            write_line("")
        emit([record], pattern_lines(record, loaded.origins), as_json=as_json)


def lint(
    selectors: Selectors = NONE,
    strict: Annotated[bool, opt("Fail on warnings too.", "--strict")] = False,
    as_json: AsJson = False,
    form: Annotated[str, opt("Print text, json or sarif.", "--format", metavar="FORMAT")] = "text",
    exit_zero: ExitZero = False,
    config: Config = "",
) -> None:
    """Check the syntax of patterns, and advise."""
    check_word("--format", form, ("text", "json", "sarif"))
    if as_json and form == "sarif":
        raise BadUsage("--json and --format sarif exclude each other")
    loaded = load_config(config)
    faults: Sequence[Fault] = ()
    warnings: Sequence[Fault] = ()
    library: Library | None = None
    try:
        library = as_written(loaded, selectors)
        warnings = linting.lint(library, load_vocabulary(loaded.settings.signals))
    except BadPattern as error:
        if form != "sarif" and not exit_zero:
            raise
        faults = error.faults
        if form != "sarif":
            write_faults(error, as_json=as_json or form == "json")
    if form == "sarif":
        from ..report.ci import sarif

        write_json(sarif(faults, warnings, ethogram.__version__))
    elif library is not None:
        _show_warnings(library, warnings, as_json=as_json or form == "json")
    # A selector that names nothing is bad usage, and no finding.
    is_bad = any(not Path(fault.path).is_file() for fault in faults)
    if is_bad or ((faults or (strict and warnings)) and not exit_zero):
        raise click.exceptions.Exit(BAD)


def _show_warnings(library: Library, warnings: Sequence[Fault], *, as_json: bool) -> None:
    lines = [
        printable(f"{warning.path}:{warning.line}:{warning.column}: warning: {warning.message}")
        for warning in warnings
    ]
    lines.append(f"{plural(len(library), 'pattern')}, {plural(len(warnings), 'warning')}")
    summary = listing.LintSummary(patterns=len(library), warnings=len(warnings))
    emit([*(listing.LintWarning(place=warning) for warning in warnings), summary], lines, as_json=as_json)


def run_tests(
    selectors: Selectors = NONE, as_json: AsJson = False, config: Config = "", plugins: Plugins = NONE
) -> None:
    """Run the examples in pattern files; fail where one fails."""
    from ..app import pattern_tests as testing

    results = testing.run_examples(as_written(load_config(config), selectors))
    records = [*(result.to_dict() for result in results), testing.summary(results)]
    emit(records, [testing.summary_line(results)], as_json=as_json)
    if failed := [result.fault for result in results if not result.ok]:
        raise BadPattern(failed)


def lock(
    compare: Annotated[bool, opt("Write nothing; fail on any change.", "--check")] = False,
    folder: Annotated[Path | None, opt("Lock this folder (default: the library).")] = None,
    as_json: AsJson = False,
    config: Config = "",
) -> None:
    """Write or compare hashes of what patterns detect and say."""
    root = load.SHIPPED if folder is None else folder
    library = (
        as_written(load_config(config), [root]) if folder is not None else load.load_patterns(any_status=True)
    )
    current = locking.hashes_of(locking.inside(library.files.values(), root))
    path = root / locking.FILE
    changes = locking.changes(locking.read_lock(path) or {}, current)
    if not compare:
        locking.write_lock(path, current)
    if as_json:
        write_json(listing.Lock(path=str(path), patterns=len(current), changes=changes))
    if compare and changes:
        hint = "if that is meant: ethogram patterns lock" + (f" --folder {folder}" if folder else "")
        raise BadPattern(
            Fault(str(path), 0, 0, f"{change.pattern}: {change.change}; {hint}") for change in changes
        )
    if not as_json:
        write_lines(printable(f"{change.pattern}: {change.change}") for change in changes)
        done = "is current" if compare else "written"
        write_line(printable(f"{path} {done}: {plural(len(current), 'pattern')}"))


def as_written(loaded: Loaded, selectors: Sequence[str | Path] | None) -> Library:
    """The selected patterns of every status, without what the settings lay over them."""
    return as_set(replace(loaded, settings=replace(loaded.settings, parameters={}, status={})), selectors)


def as_set(loaded: Loaded, selectors: Sequence[str | Path] | None) -> Library:
    """The selected patterns of every status, with the parameters and statuses of the settings."""
    settings = loaded.settings
    check_patterns(loaded, selectors)
    return select(
        selectors or (),
        more=settings.patterns,
        vocabulary=load_vocabulary(settings.signals),
        parameters=settings.parameters,
        status=settings.status,
    )


# --- records --------------------------------------------------------------------------------


def _row(file: PatternFile) -> listing.PatternRow:
    return listing.PatternRow(
        name=file.name,
        status=file.status,
        on=file.status in ACTIVE_STATUSES,
        evidence=file.words.get("evidence") or None,
        shape="code" if file.in_code else next(kind for kind in KINDS if kind in file.data["shape"]),
        severities=[severity for severity, _ in file.patterns[0].severities],
        title=file.title,
        path=file.path,
        pack=None if file.in_code or is_shipped(file) else origin_of(Path(file.path)),
    )


def full_record(file: PatternFile, origins: Mapping[str, str]) -> dict[str, Any]:
    """Everything about a pattern, with its compiled programs. `origins`: what set each of the settings."""
    first = file.patterns[0]
    words: dict[str, Any] = {key: file.words[key] or None for key in _WORDS}
    words |= {key: file.words[key] for key in LISTS}
    return listing.PatternDetail(
        row=_row(file),
        shape_hash=file.shape_hash,
        file_hash=file.file_hash,
        versions={pattern.name: pattern.version for pattern in file.patterns},
        **words,
        cause=first.cause,
        confirms=first.confirms,
        group_by=first.group_by,
        parameters=[
            listing.Parameter(
                name=name,
                value=value,
                in_file=file.data["parameters"][name],
                origin=origins.get(f"parameters.{file.name}.{name}", "pattern file"),
            )
            for name, value in file.parameters.items()
        ],
        meaning={key: file.data[key] for key in _MEANING if key in file.data},
        explanation=file.data.get("explanation"),
        recommendation=first.recommendation or None,
        examples=listing.Stories(
            fires=[example.story for example in file.examples if example.fires],
            quiet=[example.story for example in file.examples if not example.fires],
        ),
        programs=[program.to_json() for program in compile_patterns(file.patterns)],
    ).to_dict()
