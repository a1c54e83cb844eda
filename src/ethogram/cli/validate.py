"""`ethogram validate`: how often patterns are right on labelled data, beside the trivial answer."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from .inputs import AsJson, Config, load_config
from .output import printable, write_json, write_line

DATA = "ETHOGRAM_DATA"
"""The variable that names the folder of data where --data does not."""

HEAD = f"  {'pattern':32} level   marked  failed  good  {'precision (95 %)':18}  lift  equal length  horizon"


def register(app: typer.Typer) -> None:
    """Adds the group."""
    from .validate_conversations import conversations
    from .validate_labelled import ByDefault, labelled
    from .validate_usage import usage

    group = typer.Typer(
        help="How often patterns are right on labelled data: validate SET|FILE, or one of the commands.",
        no_args_is_help=True,
        cls=ByDefault,
    )
    group.command("labelled")(labelled)
    group.command("runs")(runs)
    group.command("usage")(usage)
    group.command("conversations")(conversations)
    group.callback()(lambda: None)
    app.add_typer(group, name="validate")


def runs(
    data: Annotated[
        str,
        typer.Option("--data", metavar="FOLDER", help=f"Labelled runs; without it, ${DATA}/runs."),
    ] = "",
    patterns: Annotated[
        list[str], typer.Option("--patterns", metavar="SELECTOR", help="Without it, all patterns of runs.")
    ] = [],  # noqa: B006 (typer copies it)
    sets: Annotated[
        list[str], typer.Option("--set", metavar="NAME", help="Only this set, named by its file; repeatable.")
    ] = [],  # noqa: B006
    as_json: AsJson = False,
    config: Config = "",
) -> None:
    """Runs that failed and runs that did not: what each pattern marks, how early, and at what cost."""
    from ethogram.modes.validate_runs import set_files, validate_runs

    from .progress import Progress

    folder, settings = folder_of(data, "runs"), load_config(config).settings
    progress = Progress()
    with progress.checking("validating"):
        found = validate_runs(folder, patterns or None, settings, sets)
    if as_json:
        for record in records(found, set_files(folder, sets)):
            write_json(record)
        return
    for line in table(found):
        write_line(printable(line))


def folder_of(given: str, kind: str) -> Path:
    """The folder of data of a kind; BadUsage says how to name one."""
    import os

    from ethogram.errors import BadUsage

    named = os.environ.get(DATA, "")
    folder = Path(given) if given else Path(named) / kind
    if not (given or named):
        raise BadUsage(f"name the folder of data with --data, or set {DATA}")
    if given and not any(folder.glob("*.jsonl*")) and (folder / kind).is_dir():
        folder /= kind
    if not folder.is_dir() or not any(folder.glob("*.jsonl*")):
        raise BadUsage(f"{str(folder)!r:.200} has no files of {kind} (*.jsonl, *.jsonl.gz)")
    return folder


def records(found: Mapping[str, Any], files: Iterable[Path]) -> Iterator[dict[str, Any]]:
    """One record for each pattern and set, then one for the whole with the digest of the data."""
    for name, one in found["sets"].items():
        for pattern, figures in one["patterns"].items():
            for level, marked in figures.items():
                about = {"record": "validated", "set": name, "pattern": pattern, "level": level}
                yield {**about, "runs": one["runs"], **marked}
        if "repetition" in one:
            yield {"record": "repetition", "set": name, **one["repetition"]}
    sizes = {
        name: {key: one[key] for key in ("runs", "failed", "succeeded", "false_alarms")}
        for name, one in found["sets"].items()
    }
    yield {
        "record": "validate_summary",
        "kind": "runs",
        "false_alarms": found["false_alarms"],
        "sets": sizes,
        "data": digest(files),
    }


def digest(files: Iterable[Path]) -> str:
    """Of the names and contents of the files, so that figures can be tied to what they were got on."""
    import hashlib

    whole = hashlib.sha256()
    for file in sorted(files):
        whole.update(file.name.encode() + b"\0" + hashlib.sha256(file.read_bytes()).digest())
    return whole.hexdigest()[:16]


def table(found: Mapping[str, Any]) -> Iterator[str]:
    """The figures as text."""
    alarms = found["false_alarms"]
    yield (
        f"patterns that are on, in {alarms['good_runs']:,} runs that succeeded or are everyday work: "
        f"{alarms['any']} marked, {alarms['medium']} at level medium or above, "
        f"{alarms['high']} at level high or above"
    )
    for name, one in found["sets"].items():
        yield ""
        yield f"{name}: {one['runs']:,} runs, {one['failed']:,} failed, {one['succeeded']:,} did not"
        if "repetition" in one:
            told = one["repetition"]
            equal = f"{told['equal_found']} of {told['equal_pairs']} equal ones"
            yield (
                f"  steps labelled a repetition: {equal} are in a detection, "
                f"{told['found']} of all {told['pairs']}"
            )
        if one["patterns"]:
            yield HEAD
        for pattern, figures in one["patterns"].items():
            for level, marked in figures.items():
                if marked["marked"]:
                    yield f"  {pattern:32} {level:6}  {_row(marked)}"


def _row(one: Mapping[str, Any]) -> str:
    low, high = one["precision_interval"] or (None, None)
    precision = "-" if low is None else f"{_number(one['precision'])} ({_number(low)}-{_number(high)})"
    return (
        f"{one['marked']:6}  {one['failed_marked']:6}  {one['good_marked']:4}  {precision:18}"
        f"{_number(one['lift']):>6}  {_number(one['lift_equal_length']):>12}  {_number(one['horizon'], 0):>7}"
    )


def _number(value: float | None, digits: int = 2) -> str:
    return "-" if value is None else f"{value:.{digits}f}"
