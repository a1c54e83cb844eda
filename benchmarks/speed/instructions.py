"""`python -m benchmarks speed instructions`: how many instructions common work takes, beside a baseline.

Seconds depend on the machine and on what else it does; instructions hardly do. They are counted by
valgrind, with a fixed hash seed, compiled bytecode, one thread for linear algebra and an environment of its
own. Another build of the same Python takes more or fewer for everything: `counted.plain_python` says how
many, and counts are compared as multiples of it.
"""

from __future__ import annotations

import json
import os
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

import click

import ethogram
from benchmarks.speed import counted
from benchmarks.speed.counted import COPIES, FILES, NOTHING, PARQUET, PARTS, PLAIN
from ethogram.cli.options import opt
from ethogram.cli.output import flush, write_line
from ethogram.errors import BadUsage
from ethogram.files import write_whole
from ethogram.report.wording import aligned

BASELINE = Path(__file__).with_name("instructions.json")
PYTHON = f"{sys.version_info.major}.{sys.version_info.minor} {platform.machine()}"
"""The name of a baseline."""
SOURCE = Path(ethogram.__file__).parent
HELP, HOOK = "`ethogram --help`", "`ethogram hook`"
TOLERANCE = 0.1
GROWTH = 4.0
"""How many times as much four times the input may cost; what it costs at any size makes it less."""
RENEW = "python -m benchmarks speed instructions --renew"
"""Saves the baseline."""
NO_VALGRIND = "no valgrind: tools/servers.sh installs it as root"
NO_BASELINE = f"no counts of instructions for Python {PYTHON}: {RENEW} saves them"
VALGRIND = ("valgrind", "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null")
"""The cheapest tool that counts; callgrind takes twice as long."""
Counts = Mapping[str, int]


def instructions(
    renew: Annotated[bool, opt("Save the counts as the baseline of this Python.", "--renew")] = False,
) -> None:
    """Count the instructions of common work, and compare them with the baseline."""
    if not is_installed():
        raise BadUsage(NO_VALGRIND)
    counts = count_instructions()
    known = read_baseline()
    before = known.get(PYTHON, {})
    rows = [["what", "M instructions", "baseline"]]
    rows += [
        [name, f"{count / 1e6:,.0f}", f"{before[name] / 1e6:,.0f}" if name in before else ""]
        for name, count in counts.items()
    ]
    for line in aligned(rows):
        write_line(line)
    if renew:
        whole = json.dumps({**known, PYTHON: counts}, indent=2, sort_keys=True)
        write_whole(BASELINE, f"{whole}\n")
        write_line(f"{BASELINE.name} written")
    flush()
    faults = faults_of_growth(counts) + (faults_of(counts, before) if before and not renew else [])
    for fault in faults:
        write_line(f"ethogram: {fault}", to=sys.stderr)
    if faults:
        raise click.exceptions.Exit(1)


def is_installed() -> bool:
    """Whether instructions can be counted here."""
    return shutil.which("valgrind") is not None


def read_baseline() -> dict[str, dict[str, int]]:
    """The counts by the name of a Python."""
    baseline: dict[str, dict[str, int]] = json.loads(BASELINE.read_text(encoding="utf-8"))
    return baseline


def faults_of(counts: Counts, baseline: Counts) -> list[str]:
    """A sentence for each count that differs from its baseline by more than the tolerance.

    >>> known = {"plain Python": 100, "a": 1_000, "b": 1_000, "c": 1_000}
    >>> for fault in faults_of({"plain Python": 200, "a": 1_800, "b": 2_300, "c": 1_700}, known):
    ...     print(fault[:60])
    b: 15% more instructions than the baseline: find out why, or
    c: 15% fewer instructions than the baseline: keep it so: pyt
    """
    scale = counts[PLAIN] / baseline[PLAIN]
    faults = [
        f"{name}: not in both counts and baseline: {RENEW}"
        for name in sorted(counts.keys() ^ baseline.keys())
    ]
    for name in counts.keys() & baseline.keys():
        change = counts[name] / (scale * baseline[name]) - 1
        if change > TOLERANCE:
            faults.append(
                f"{name}: {change:.0%} more instructions than the baseline: find out why, or {RENEW}"
            )
        elif change < -TOLERANCE:
            faults.append(f"{name}: {-change:.0%} fewer instructions than the baseline: keep it so: {RENEW}")
    return sorted(faults)


def faults_of_growth(counts: Counts) -> list[str]:
    """A sentence for what costs more than four times as much for four times the input.

    >>> few, many = COPIES
    >>> faults_of_growth({few: 100, many: 600, **dict.fromkeys(PARQUET, 100)})
    ['1,200 copies after them: 6.0x the instructions of a quarter of them, expected at most 4x']
    """
    growth = {many: counts[many] / counts[few] for *_, few, many in (PARQUET, COPIES)}
    return [
        f"{name}: {times:.1f}x the instructions of a quarter of them, expected at most {GROWTH:g}x"
        for name, times in growth.items()
        if times > GROWTH
    ]


def count_instructions() -> dict[str, int]:
    """The instructions of each part, in a folder that is removed."""
    with TemporaryDirectory(prefix="ethogram-instructions-") as made:
        folder = Path(made)
        payload = _write_inputs(folder)
        counts = {
            HELP: _counted(folder, "-m", "ethogram", "--help")[1],
            HOOK: _counted(folder, "-m", "ethogram", "hook", stdin=payload)[1],
        }
        by_pid, _ = _counted(folder, counted.__file__)
        lines = (folder / PARTS).read_text("utf-8").splitlines()
        parts = {name: by_pid[pid] for name, pid in map(json.loads, lines)}
    # Each began with what a part before it had done.
    before = {name: parts[NOTHING] for name in parts if name not in (counted.FIRST, NOTHING)}
    before |= {name: parts[first] for first, *others in (PARQUET, COPIES) for name in others}
    return counts | {name: total - before.get(name, 0) for name, total in parts.items() if name != NOTHING}


def _write_inputs(folder: Path) -> str:
    """Write the inputs of every part, and compile every module; the hook's payload."""
    from benchmarks.speed.data import records, write_copies, write_lines, write_parquet
    from benchmarks.speed.measure import hook_payload

    five = [
        {**record, "at": record["at"].isoformat(), "text": counted.LONG_TEXT}
        for record in islice(records(2), 5)
    ]
    (few_rows, many_rows), (few_copies, many_copies) = FILES
    (folder / "five.jsonl").write_text("".join(json.dumps(line) + "\n" for line in five), encoding="utf-8")
    write_copies(folder / few_copies, 300)
    write_copies(folder / many_copies, 1_200)
    write_parquet(folder / few_rows, 6_000, 60)
    write_parquet(folder / many_rows, 24_000, 240)
    write_lines(folder / "stored.jsonl", 2_000, 20)
    _run(folder, "-m", "compileall", "-q", str(SOURCE), str(Path(__file__).parent))
    _run(folder, "-m", "ethogram", "store", "import", "stored.jsonl", "--store", "events.db")
    _run(folder, "-m", "ethogram", "sweep", "--store", "events.db")
    _run(folder, "-m", "ethogram.agents.hook.plan", str(folder))
    return json.dumps(hook_payload(folder, "new", 1))


def _environment(folder: Path) -> dict[str, str]:
    """All that the processes see of the environment."""
    (folder / "home").mkdir(exist_ok=True)
    environ = {
        "PATH": os.defpath,
        "HOME": str(folder / "home"),
        "ETHOGRAM_HOOK_DIR": str(folder / "hook"),
        "LC_ALL": "C.UTF-8",
        "TZ": "UTC",
        "PYTHONHASHSEED": "0",
        # With -S, so that what an environment runs at every start is left out.
        "PYTHONPATH": os.pathsep.join(entry for entry in sys.path if _is_needed(entry)),
        "OPENBLAS_NUM_THREADS": "1",
    }
    if not os.access(SOURCE, os.W_OK):
        environ["PYTHONPYCACHEPREFIX"] = str(folder / "bytecode")
    return environ


def _is_needed(entry: str) -> bool:
    return Path(entry).name in ("site-packages", "dist-packages") or Path(entry, "ethogram").is_dir()


def _run(folder: Path, *args: str, before: tuple[str, ...] = (), stdin: str = "") -> int:
    """Run Python with these arguments to its end; its process id."""
    process = subprocess.Popen(
        [*before, sys.executable, "-S", "-P", *args],
        cwd=folder,
        env=_environment(folder),
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    _, errors = process.communicate(stdin)
    if process.returncode:
        raise RuntimeError(f"{args} exited with {process.returncode}: {errors[-2000:]}")
    return process.pid


def _counted(folder: Path, *args: str, stdin: str = "") -> tuple[dict[int, int], int]:
    """The instructions of a process and of its forks, by process id; and those of the process itself."""
    logs = folder / "counts"
    shutil.rmtree(logs, ignore_errors=True)
    logs.mkdir()
    pid = _run(folder, *args, before=(*VALGRIND, f"--log-file={logs}/%p"), stdin=stdin)
    by_pid = {}
    for path in logs.iterdir():
        found = re.findall(r"I +refs: +([\d,]+)", path.read_text(encoding="utf-8"))
        if found:
            by_pid[int(path.name)] = int(found[-1].replace(",", ""))
    return by_pid, by_pid[pid]
