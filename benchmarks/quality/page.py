"""Write the figures that `python -m benchmarks quality` measures on a folder of data into docs/quality.md.

python -m benchmarks.quality.page --data FOLDER [--only runs] [--only planted] [--only usage] [--seed 0]
python -m benchmarks.quality.page --data FOLDER --only left_out --only conversations --embedder static
"""

from __future__ import annotations

import argparse
import subprocess
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.quality.conversation_readings import SETS as LOCAL
from benchmarks.quality.conversation_sets import KINDS, chosen_sets
from benchmarks.quality.conversations import summary as summary_of_talks
from benchmarks.quality.conversations import validate_conversations
from benchmarks.quality.episodes import Setting
from benchmarks.quality.left_out import left_out, lines
from benchmarks.quality.page_conversations import conversations
from benchmarks.quality.page_usage import usage
from benchmarks.quality.planting import Planting, plant
from benchmarks.quality.runs import all_alarms, folder_of, run_patterns, set_files, set_name, validate_runs
from benchmarks.quality.simulate import Make
from benchmarks.quality.usage import DRAWS, chosen_files, validate_usage
from ethogram.cli.backtest import digest
from ethogram.cli.chat import maker
from ethogram.stats import wilson

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "quality.md"
CHOSEN = ("claude_code_spotter", "swebench_mini_gemini3", "multiswe_sweagent_java", "tau_airline_gpt4o")
"""Sets whose false alarms are told by themselves: everyday work, and coding and service agents."""
BACKGROUND = "claude_code_spotter"
"""The set that episodes are planted in: everyday work, with times."""
SECTIONS = ["runs", "planted", "usage", "left_out", "conversations"]
"""Of the page; all are measured where none is named."""
COMBINED = ("confused_state", "error_exploration_loop", "runaway_execution", "stuck_run")
"""Combinations of patterns of runs: planted with them."""
MORE_DRAWS = {"collegemsg": 60}
"""Sets of people in which more cases a row are planted than by default: those whose people have a habit."""


def main() -> None:
    """Measure, and put the figures into the page, each section between its own two marks."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", default="")
    parser.add_argument("--only", action="append", choices=SECTIONS)
    parser.add_argument("--background", default=BACKGROUND)
    parser.add_argument("--episodes", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--draws", type=int, help="Cases in each row of changes of people.")
    parser.add_argument("--embedder", action="append", help="For conversations; without it, static.")
    parser.add_argument("--most", type=int, help="Conversations of each set, at most.")
    parser.add_argument("--page", type=Path, default=PAGE, help="The page to write into.")
    asked = parser.parse_args()
    wanted = asked.only or SECTIONS
    if "usage" in wanted:
        write(asked.page, "usage", people(folder_of(asked.data, "conversations"), asked.seed, asked.draws))
    if "conversations" in wanted:
        told = talks(folder_of(asked.data, "conversations"), asked.embedder or ["static"], asked.most)
        write(asked.page, "conversations", told)
    if "left_out" in wanted:
        folder = folder_of(asked.data, "conversations")
        write(asked.page, "left_out", one_left_out(folder, asked.embedder or ["static"]))
    if not {"runs", "planted"} & set(wanted):
        return
    folder = folder_of(asked.data, "runs")
    if "runs" in wanted:
        told = runs(validate_runs(folder), digest(set_files(folder)), commit())
        write(asked.page, "runs", told)
    if "planted" in wanted:
        files, names = set_files(folder, [asked.background]), [*run_patterns(), *COMBINED]
        figures = [
            plant(names, files, episodes=asked.episodes, seed=asked.seed, setting=Setting(gaps=gaps))
            for gaps in (0.0, Setting().gaps)
        ]
        told = planted(figures[0], figures[1], asked.background, digest(files), commit())
        write(asked.page, "planted", told)


def people(folder: Path, seed: int, draws: int | None) -> Iterator[str]:
    """The section on people: those that nothing was tuned on, and the rates of everybody."""
    files = chosen_files(folder, ())
    counts = {name: MORE_DRAWS.get(name, DRAWS) if draws is None else draws for name in map(set_name, files)}
    found = [
        one
        for name, count in counts.items()
        for one in validate_usage(folder, [name], seed=seed, draws=count, half="report")
    ]
    whole = list(validate_usage(folder, seed=seed, draws=0, half="all"))
    told = {"seed": seed, "draws": counts, "half": "report", "data": digest(files)}
    return usage(found, whole, told, commit())


def talks(folder: Path, embedders: Sequence[str], most: int | None) -> Iterator[str]:
    """The section on conversations: those that nothing was chosen on, with each embedder."""
    files = [file for file, _ in chosen_sets(folder, known=(*KINDS, *LOCAL))]
    rows = []
    for name in embedders:
        found = list(validate_conversations(_users_with(name), folder, half="report", most=most))
        rows.append((found, summary_of_talks(found, "report", most, name, digest(files))))
    return conversations(rows, commit())


def one_left_out(folder: Path, embedders: Sequence[str]) -> Iterator[str]:
    """Each set of attacks against each harmless set, with nothing fitted to either."""
    for name in embedders:
        yield f"\nCommand: `python -m benchmarks quality left-out --data FOLDER --embedder {name}`.\n"
        yield from lines(list(left_out(_users_with(name), folder)))
    yield ""


def _users_with(embedder: str) -> Make:
    make = maker(embedder, "")
    return lambda name: make(name, "user")


def write(page: Path, section: str, told: Iterable[str], by: str = "benchmarks/quality/page.py") -> None:
    """Put a section between its marks, and leave the rest of the page as it is."""
    start, end = f"<!-- {section}: written by {by} -->", f"<!-- end of {section} -->"
    before, found, rest = page.read_text("utf-8").partition(start)
    _, closed, after = rest.partition(end)
    if not found or not closed:
        raise SystemExit(f"{page.name} has no place for the section {section}: {start} ... {end}")
    lines = "\n".join(told)
    page.write_text(f"{before}{start}\n{lines}\n{end}{after}", "utf-8")


def commit() -> str:
    """The commit that was measured, with a mark where there were changes on top of it."""
    asked = ["git", "-C", str(ROOT), "describe", "--always", "--dirty=+", "--abbrev=10"]
    return subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip()


def runs(found: Mapping[str, Any], data: str, at: str) -> Iterator[str]:
    """The section on runs, line by line."""
    yield f"\nCommand: `python -m benchmarks quality runs --data FOLDER`; commit `{at}`; data `{data}`.\n"
    yield "**False alarms**: runs that succeeded or are everyday work, in which an enabled pattern fired.\n"
    yield "| sets | good runs | any severity | medium or above | high or above |"
    yield "| --- | --- | --- | --- | --- |"
    yield _alarms("all", found["false_alarms"])
    if set(CHOSEN) <= set(found["sets"]):
        chosen = {name: found["sets"][name] for name in CHOSEN}
        options = " ".join(f"--set {name}" for name in CHOSEN)
        yield _alarms(f"`{options}`", all_alarms(chosen.values()))
    for name, one in found["sets"].items():
        if one["false_alarms"]["good_runs"]:
            yield _alarms(name, one["false_alarms"])
    for name, one in found["sets"].items():
        if "repetition" in one:
            told = one["repetition"]
            yield (
                f"\n**Recall.** Of {told['equal_pairs']} pairs of steps in `{name}` that people labelled a "
                f"repetition and that are equal after a fixed normalisation, {told['equal_found']} "
                f"({told['equal_found'] / max(1, told['equal_pairs']):.0%}) lie in a detection; of all "
                f"{told['pairs']} such labels {told['found']} ({told['found'] / max(1, told['pairs']):.0%})."
            )
    columns = ("precision", "lift", "equal length", "horizon", "in labelled steps", "at random")
    yield f"\n| set | pattern | marked | failed | good | {' | '.join(columns)} |"
    yield "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |"
    for name, one in found["sets"].items():
        for pattern, figures in one["patterns"].items():
            yield _row(f"{name} ({one['runs']})", pattern, figures["any"], one["located"].get(pattern))
    yield ""


def planted(plain: Planting, mixed: Planting, background: str, data: str, at: str) -> Iterator[str]:
    """The section on planted episodes, line by line: without and with other steps between theirs."""
    count = plain.planted[0].episodes
    given = f"--data FOLDER/{background}.jsonl.gz --pattern NAME --episodes {count} --seed {plain.seed}"
    command = f"python -m benchmarks quality planted {given}"
    yield f"\nCommand: `{command}`, once with `--gaps 0`; commit `{at}`; data `{data}`;"
    yield f"background `{background}`, {len(plain.background):,} events; seed {plain.seed}.\n"
    columns = "pattern status found,_nothing_between found,_other_steps_between scrambled alarms histories"
    yield "| " + " | ".join(name.replace("_", " ") for name in columns.split()) + " |"
    yield "| --- | --- | --- | --- | --- | --- | --- |"
    for one, other in zip(plain, mixed, strict=True):
        cells = [
            f"`{one.pattern}`",
            one.status,
            _share(one.found, one.episodes),
            _share(other.found, other.episodes),
            f"{one.found_scrambled / one.episodes:.2f}",
            str(one.alarms),
            f"{one.histories:,}",
        ]
        yield "| " + " | ".join(cells) + " |"
    yield ""


def _share(found: int, of: int) -> str:
    low, high = wilson(found, of)
    return f"{found} of {of}: {found / of:.2f} ({low:.2f} to {high:.2f})"


def _alarms(name: str, one: Mapping[str, int]) -> str:
    counts = [str(one[key]) for key in ("good_runs", "any", "medium", "high")]
    return "| " + " | ".join([name, *counts]) + " |"


def _row(name: str, pattern: str, one: Mapping[str, Any], located: Mapping[str, Any] | None) -> str:
    low, high = one["precision_interval"] or (None, None)
    precision = "-" if low is None else f"{one['precision']:.2f} ({low:.2f} to {high:.2f})"
    numbers = [one["lift"], one["lift_equal_length"]]
    told = ["-" if value is None else f"{value:.2f}" for value in numbers]
    counts = [str(one[key]) for key in ("marked", "failed_marked", "good_marked")]
    horizon = "-" if one["horizon"] is None else f"{one['horizon']:.0f}"
    where = ["-", "-"]
    if located is not None:
        low, high = located["random_interval"]
        where = [f"{located['right']} of {located['alarms']}", f"{located['random']:.1f} ({low} to {high})"]
    return "| " + " | ".join([name, f"`{pattern}`", *counts, precision, *told, horizon, *where]) + " |"


if __name__ == "__main__":
    main()
