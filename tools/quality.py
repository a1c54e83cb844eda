"""Writes docs/quality.md from what `ethogram validate` measures on a folder of data.

python tools/quality.py --data FOLDER
"""

from __future__ import annotations

import argparse
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ethogram.cli.validate import digest, folder_of
from ethogram.modes.validate_runs import validate_runs

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "quality.md"
START, END = "<!-- runs: written by tools/quality.py -->", "<!-- end of runs -->"


def main() -> None:
    """Measure, and put the figures into the page between its two marks."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", default="")
    folder = folder_of(parser.parse_args().data, "runs")
    before, _, rest = PAGE.read_text("utf-8").partition(START)
    after = rest.partition(END)[2]
    told = "\n".join(runs(validate_runs(folder), digest(folder), commit()))
    PAGE.write_text(f"{before}{START}\n{told}\n{END}{after}", "utf-8")


def commit() -> str:
    """The commit that was measured, with a mark where there were changes on top of it."""
    asked = ["git", "-C", str(ROOT), "describe", "--always", "--dirty=+", "--abbrev=10"]
    return subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip()


def runs(found: Mapping[str, Any], data: str, at: str) -> Iterator[str]:
    """The section on runs, line by line."""
    yield f"\nCommand: `ethogram validate runs --data FOLDER`; commit `{at}`; data `{data}`.\n"
    alarms = found["false_alarms"]
    yield (
        f"**False alarms.** In {alarms['good_runs']:,} runs that succeeded or are everyday work, patterns "
        f"that are on marked {alarms['any']}, and {alarms['high']} at level high or above."
    )
    for name, one in found["sets"].items():
        if "repetition" in one:
            told = one["repetition"]
            yield (
                f"\n**Recall.** Of {told['equal_pairs']} pairs of steps in `{name}` that people labelled a "
                f"repetition and that are equal after a fixed normalisation, {told['equal_found']} "
                f"({told['equal_found'] / max(1, told['equal_pairs']):.0%}) lie in a detection; of all "
                f"{told['pairs']} such labels {told['found']} ({told['found'] / max(1, told['pairs']):.0%})."
            )
    yield "\n| set | pattern | level | marked | failed | good | precision | lift | equal length | horizon |"
    yield "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |"
    for name, one in found["sets"].items():
        for pattern, figures in one["patterns"].items():
            for level in ("any", "high"):
                if figures[level]["marked"]:
                    yield _row(f"{name} ({one['runs']})", pattern, level, figures[level])
    yield ""


def _row(name: str, pattern: str, level: str, one: Mapping[str, Any]) -> str:
    low, high = one["precision_interval"] or (None, None)
    precision = "-" if low is None else f"{one['precision']:.2f} ({low:.2f} to {high:.2f})"
    numbers = [one["lift"], one["lift_equal_length"]]
    told = ["-" if value is None else f"{value:.2f}" for value in numbers]
    counts = [str(one[key]) for key in ("marked", "failed_marked", "good_marked")]
    horizon = "-" if one["horizon"] is None else f"{one['horizon']:.0f}"
    return "| " + " | ".join([name, f"`{pattern}`", level, *counts, precision, *told, horizon]) + " |"


if __name__ == "__main__":
    main()
