"""`python -m benchmarks quality`: how often detections are right, how many are found, and what they cost."""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping
from typing import Annotated, Any

import click

from benchmarks.quality import conversation_readings, conversations_text, planting, usage_text
from benchmarks.quality import conversations as conversation_figures
from benchmarks.quality import left_out as leaving_out
from benchmarks.quality import lift as lifting
from benchmarks.quality import runs as run_figures
from benchmarks.quality import simulate as simulating
from benchmarks.quality import usage as usage_figures
from benchmarks.quality.conversation_sets import KINDS, chosen_sets
from benchmarks.quality.episodes import Setting
from benchmarks.quality.planting import Planting
from benchmarks.quality.runs import folder_of, set_files
from benchmarks.quality.text import lift_lines, plant_lines, run_lines, simulated_line
from ethogram.cli.backtest import DATA, digest
from ethogram.cli.chat import Embedder, maker
from ethogram.cli.options import (
    NONE,
    AsJson,
    AsOf,
    Config,
    InputOptions,
    Parameters,
    Scorers,
    SkipBad,
    load_config,
    opt,
)
from ethogram.cli.output import Progress, write_json, write_line
from ethogram.cli.patterns import Selectors, as_set
from ethogram.errors import BadUsage
from ethogram.files import write_whole
from ethogram.report.wording import plural, printable

MOST_SEED = 1_000_000
Record = Mapping[str, Any]
Sets = Annotated[list[str], opt("Only this set, named by its file; repeatable.", "--set", metavar="NAME")]
GroupBy = Annotated[
    list[str],
    opt("Group by subject, target, ... instead of the patterns' own keys.", metavar="KEY"),
]


def runs(
    data: Annotated[
        str,
        opt(f"Labelled runs; without it, ${DATA}/runs.", "--data", metavar="FOLDER"),
    ] = "",
    patterns: Annotated[
        list[str], opt("Without it, all patterns of runs.", "--patterns", metavar="SELECTOR")
    ] = NONE,
    sets: Sets = NONE,
    as_json: AsJson = False,
    config: Config = "",
) -> None:
    """Runs that failed and runs that did not: what each pattern marks, how early, and at what cost."""
    folder, settings = folder_of(data, "runs"), load_config(config).settings
    progress = Progress()
    with progress.checking("validating"):
        found = run_figures.validate_runs(folder, patterns or None, settings, sets)
    if as_json:
        for record in run_figures.records(found, set_files(folder, sets)):
            write_json(record)
        return
    for line in run_lines(found):
        write_line(printable(line))


def usage(
    data: Annotated[
        str,
        opt("Sets of people; without it, $ETHOGRAM_DATA/conversations.", "--data", metavar="FOLDER"),
    ] = "",
    sets: Sets = NONE,
    seed: Annotated[
        int | None, opt("Decides what is planted; without it, a new one that is told.", min=0)
    ] = None,
    draws: Annotated[
        int | None,
        opt("Cases in each row at most; 0: only false alarms.", min=0, max=10_000),
    ] = None,
    half: Annotated[str, opt("Which people: tune, report or all.")] = "all",
    as_json: AsJson = False,
    config: Config = "",
) -> None:
    """People without known trouble: how often patterns speak, and how many planted changes they find."""
    folder, settings = folder_of(data, "conversations"), load_config(config).settings
    chosen, count = _seed(seed), usage_figures.DRAWS if draws is None else draws
    progress = Progress()
    records: list[Record] = []
    try:
        for item in usage_figures.validate_usage(
            folder, sets, seed=chosen, draws=count, half=half, settings=settings, progress=progress.count
        ):
            records.append(item)
            if as_json:
                write_json(item)
    finally:
        progress.stop()
    told = usage_figures.summary(
        records, chosen, count, half, digest(usage_figures.chosen_files(folder, sets))
    )
    if as_json:
        write_json(told)
        return
    for line in usage_text.lines(records, told):
        write_line(printable(line))


def conversations(
    data: Annotated[
        str,
        opt("Sets of them; without it, $ETHOGRAM_DATA/conversations.", "--data", metavar="FOLDER"),
    ] = "",
    sets: Sets = NONE,
    attacks: Annotated[
        list[str], opt("A set that is all attacks; repeatable.", "--attacks", metavar="NAME")
    ] = NONE,
    harmless: Annotated[
        list[str], opt("A set that is all harmless; repeatable.", "--harmless", metavar="NAME")
    ] = NONE,
    half: Annotated[str, opt("Which conversations: tune, other, report or all.")] = "all",
    most: Annotated[
        int | None, opt("The first so many of each set; without it, all.", "--most", min=1)
    ] = None,
    as_json: AsJson = False,
    embedder: Embedder = "",
    config: Config = "",
) -> None:
    """Attacks against harmless talk: AUROC, recall, turns until detection, false alarms; beside baselines."""
    folder, make = folder_of(data, "conversations"), maker(embedder, config)
    files = chosen_sets(
        folder, sets, attacks=attacks, harmless=harmless, known=(*KINDS, *conversation_readings.SETS)
    )
    progress = Progress()
    records: list[Record] = []
    try:
        for conversation in conversation_figures.validate_conversations(
            lambda name: make(name, "user"),
            folder,
            sets,
            attacks=attacks,
            harmless=harmless,
            half=half,
            most=most,
            progress=progress.count,
        ):
            records.append(conversation)
            if as_json:
                write_json(conversation)
    finally:
        progress.stop()
    told = conversation_figures.summary(records, half, most, embedder, digest(file for file, _ in files))
    if as_json:
        write_json(told)
        return
    for line in conversations_text.lines(records, told):
        write_line(printable(line))


def left_out(
    data: Annotated[
        str,
        opt("Sets of them; without it, $ETHOGRAM_DATA/conversations.", "--data", metavar="FOLDER"),
    ] = "",
    as_json: AsJson = False,
    embedder: Embedder = "",
    config: Config = "",
) -> None:
    """Each set of attacks against each harmless one, matched in turns and length, fitted to neither."""
    folder, make = folder_of(data, "conversations"), maker(embedder, config)
    progress = Progress()
    records: list[leaving_out.Record] = []
    try:
        for record in leaving_out.left_out(lambda name: make(name, "user"), folder, progress.count):
            records.append(record)
            if as_json:
                write_json(record)
    finally:
        progress.stop()
    for line in () if as_json else leaving_out.lines(records):
        write_line(line)


def planted(
    patterns: Annotated[
        list[str],
        opt("A pattern's name, a glob, a file or a folder; repeatable.", "--pattern", metavar="SELECTOR"),
    ] = NONE,
    data: Annotated[
        list[str],
        opt(
            "The background: a file or folder of events; repeatable. Without it, one is made up.",
            "--data",
            metavar="PATH",
        ),
    ] = NONE,
    episodes: Annotated[int, opt("How many episodes of each pattern.", min=1)] = 200,
    seed: Annotated[int, opt("The same seed gives the same episodes.")] = 0,
    strength: Annotated[
        str, opt("1 is as strong as the examples, 0 as the background.", metavar="LOW:HIGH")
    ] = "0.6:1",
    noise: Annotated[float, opt("What is added to readings: its standard deviation.")] = 0.05,
    gaps: Annotated[float, opt("How likely an innocent event stands between two of an episode.")] = 0.3,
    group_by: GroupBy = NONE,
    write: Annotated[str, opt("Write the background and the episodes as event lines.", metavar="FILE")] = "",
    as_json: AsJson = False,
    skip_bad: SkipBad = False,
    scorers: Scorers = NONE,
    config: Config = "",
    parameters: Parameters = NONE,
) -> None:
    """Plant episodes of patterns in histories, and count how many are found."""
    if not patterns:
        raise click.BadParameter("name what to plant: --pattern NAME")
    setting = Setting(_range(strength), noise, gaps)
    input_options = InputOptions(data, "", config, "", skip_bad, scorers, parameters, "", as_json)
    loaded = input_options.loaded()
    library = as_set(loaded, patterns)
    progress = Progress()
    events = input_options.read(library.kinds, loaded.settings, progress).events if data else None
    with progress.checking(f"planting {plural(episodes, 'episode')} of {plural(len(library), 'pattern')}"):
        done = planting.plant(
            library,
            events,
            episodes=episodes,
            seed=seed,
            setting=setting,
            group_by=group_by,
            settings=loaded.settings,
        )
    if write:
        _write(write, done)
    if as_json:
        for item in done:
            write_json(item.to_dict())
        write_json(done.summary())
        return
    for line in plant_lines(done):
        write_line(line)
    if write:
        write_line(printable(f"the events: {write}"))


def lift(
    selectors: Selectors = NONE,
    data: Annotated[
        list[str],
        opt("A file or folder of events; repeatable.", "--data", metavar="PATH"),
    ] = NONE,
    shuffles: Annotated[int, opt("How many times the histories are shuffled.", min=1)] = 20,
    seed: Annotated[int, opt("The same seed gives the same shuffles.")] = 0,
    group_by: GroupBy = NONE,
    as_json: AsJson = False,
    as_of: AsOf = "",
    skip_bad: SkipBad = False,
    scorers: Scorers = NONE,
    config: Config = "",
    parameters: Parameters = NONE,
) -> None:
    """Does order matter? Detections in real histories, and in the same ones shuffled."""
    if not data:
        raise click.BadParameter("name a file of events: --data FILE")
    input_options = InputOptions(data, as_of, config, "", skip_bad, scorers, parameters, "", as_json)
    moment, loaded = input_options.moment(), input_options.loaded()
    library, progress = as_set(loaded, selectors), Progress()
    batch = input_options.read(library.kinds, loaded.settings, progress)
    with progress.checking(f"checking {plural(len(batch.events), 'event')}, shuffled {shuffles} times"):
        lifts = lifting.lift(
            batch.events,
            library,
            shuffles=shuffles,
            seed=seed,
            group_by=group_by,
            as_of=moment,
            settings=loaded.settings,
        )
    if as_json:
        for item in lifts:
            write_json(item.to_dict())
        write_json(lifts.summary())
        return
    for line in lift_lines(lifts):
        write_line(line)


def simulate(
    kind: Annotated[
        list[str],
        opt("calm, hostile, student, ...; repeatable; none: all.", "--kind", metavar="KIND"),
    ] = NONE,
    count: Annotated[int, opt("Conversations of each kind.", min=1, max=1_000)] = 3,
    turns: Annotated[int | None, opt("50 to 500; without it, drawn for each conversation.")] = None,
    seed: Annotated[int | None, opt("Decides everything; without it, a new one that is told.", min=0)] = None,
    refused: Annotated[float, opt("How often the assistant refuses what means harm.", min=0, max=1)] = 0.3,
    show: Annotated[
        bool, opt("The conversations themselves as JSON, not what came of them.", "--show")
    ] = False,
    as_json: AsJson = False,
    embedder: Embedder = "",
    config: Config = "",
) -> None:
    """Conversations of 50 to 500 turns in words that no lexicon has: when does detection come?

    They show how the signals of form behave, and are no evidence of how well attacks are found.
    """
    chosen = _seed(seed)
    if show:
        _show(kind, chosen, count, turns, refused)
        return
    make = maker(embedder, config)
    if not as_json:
        write_line(f"seed {chosen}")
    found = simulating.simulate(
        lambda name: make(name, "simulated"), kind, seed=chosen, count=count, turns=turns, refused=refused
    )
    for item in found:
        if as_json:
            write_json(item)
        else:
            write_line(printable(simulated_line(item)))


def _seed(number: int | None) -> int:
    return secrets.randbelow(MOST_SEED) if number is None else number


def _show(kinds: list[str], seed: int, count: int, turns: int | None, refused: float) -> None:
    """The conversations, one a line, as `ethogram chat` and `ethogram analyze` read them."""
    made = [
        simulating.simulated(kind, seed + k, turns, refused)
        for kind in kinds or simulating.KINDS
        for k in range(count)
    ]
    for item in made:
        said = [{"speaker": role, "role": role, "text": text} for role, text in item.said]
        write_json({"record": "conversation", "conversation_id": f"{item.kind}/{item.seed}", "turns": said})


def _range(text: str) -> tuple[float, float]:
    low, colon, high = text.partition(":")
    try:
        return float(low), float(high if colon else low)
    except ValueError:
        raise click.BadParameter(f"takes LOW:HIGH, like 0.6:1; here is {text!r:.40}") from None


def _write(path: str, done: Planting) -> None:
    lines = (json.dumps(line, ensure_ascii=True, allow_nan=False) + "\n" for line in done.lines())
    try:
        write_whole(path, lines)
    except OSError as error:
        raise BadUsage(f"{path}: cannot be written: {error.strerror or error}") from None
