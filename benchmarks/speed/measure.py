"""The measurements: each returns the samples of its candidates, ours and the peers, taken in turn.

Commands run in a fresh process, as a user types them, from a folder without settings. What runs inside Python
runs in a process of its own, so that no measurement inherits the memory or the caches of another.
"""

from __future__ import annotations

import json
import math
import multiprocessing
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from itertools import count, islice
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from benchmarks.speed import peers

LIMIT = 60
"""CPU seconds after which a command is stopped; its time then counts as infinite."""
LINES = 100_000
SUBJECTS = 1_000
BATCH = 256
THREADS = "OPENBLAS_NUM_THREADS"
"""Commands set it for themselves; programs do not."""
USAGE = 50_000
MESSAGE = 476
"""Characters of an ordinary long message."""
FORUM = Path("conversations", "moltbook_threads.jsonl.gz")
RUNS = Path("runs", "swebench_mini_gemini3.jsonl.gz")


class Sample(NamedTuple):
    """Seconds of one run, by the item where the work has many; peak memory in GB, for commands."""

    cpu: float
    wall: float
    peak: float = 0.0


Samples = dict[str, list[Sample]]
Run = Callable[[], Sample]
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Inputs:
    """A folder for generated files, the folder of real data, and whether to take small inputs."""

    folder: Path
    data: Path | None = None
    quick: bool = False

    def file(self, write: Callable[..., None], name: str, *args: Any) -> Path:
        """The file or folder that `write` makes from its path and `args`, made once."""
        path = self.folder / name
        if not path.exists():
            alone(write, path, *args)
        return path

    def lines(self) -> Path:
        from benchmarks.speed.data import write_lines

        return self.file(write_lines, "events.jsonl", LINES, SUBJECTS)

    def parquet(self, rows: int, subjects: int) -> Path:
        from benchmarks.speed.data import write_parquet

        return self.file(write_parquet, f"events_{rows}_{subjects}.parquet", rows, subjects)

    def patterns(self, count: int) -> Path:
        from benchmarks.speed.data import write_patterns

        return self.file(write_patterns, f"patterns_{count}", count)

    def rounds(self, rounds: int) -> int:
        return min(rounds, 2) if self.quick else rounds


# --- how ------------------------------------------------------------------------------------------


def interleaved(candidates: Mapping[str, Run], rounds: int) -> Samples:
    """Samples of every candidate; they take turns, in the other order in every second round."""
    samples: Samples = {name: [] for name in candidates}
    for number in range(rounds):
        for name in list(candidates) if number % 2 == 0 else list(candidates)[::-1]:
            samples[name].append(candidates[name]())
    return samples


def command(*args: object, folder: Path, stdin: str = "", environ: Mapping[str, str] = {}) -> Sample:
    """One run of Python with these arguments; RuntimeError where it fails."""
    # A package that is installed has its modules compiled.
    inherited = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as errors:
        given.write(stdin.encode())
        given.seek(0)
        begun = time.perf_counter()
        process = subprocess.Popen(
            [sys.executable, "-P", *map(str, args)],
            cwd=folder,
            env={**inherited, **environ},
            stdin=given,
            stdout=subprocess.DEVNULL,
            stderr=errors,
        )
        resource.prlimit(process.pid, resource.RLIMIT_CPU, (LIMIT, LIMIT + 5))
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.perf_counter() - begun
        process.returncode = os.waitstatus_to_exitcode(status)
        stopped = process.returncode == -signal.SIGXCPU
        if process.returncode and not stopped:
            errors.seek(0)
            raise RuntimeError(f"{args} exited with {process.returncode}: {errors.read().decode()[-2000:]}")
    cpu = math.inf if stopped else usage.ru_utime + usage.ru_stime
    return Sample(cpu, wall, usage.ru_maxrss * 1024 / 1e9)


def ethogram(inputs: Inputs, *args: object) -> Run:
    """The command `ethogram` with these arguments."""
    return lambda: command("-m", "ethogram", *args, folder=inputs.folder)


def analyze(inputs: Inputs, path: Path, *patterns: object) -> Run:
    """`ethogram analyze` with these patterns, or all that are on."""
    return ethogram(inputs, "analyze", path, *(part for name in patterns for part in ("--patterns", name)))


def alone(function: Callable[..., T], *args: Any) -> T:
    """The result of a function that runs in a fresh Python process, which has the threads that it starts."""
    threads = os.environ.pop(THREADS, None)
    try:
        with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
            return pool.submit(function, *args).result()
    finally:
        if threads is not None:
            os.environ[THREADS] = threads


def timed(run: Callable[[], object], items: int = 1) -> Sample:
    """Seconds for each of so many items, in this process."""
    wall, cpu = time.perf_counter(), time.process_time()
    run()
    return Sample((time.process_time() - cpu) / items, (time.perf_counter() - wall) / items)


def by_event(samples: Samples, events: int) -> Samples:
    """Samples of whole runs, as seconds for each of their events."""
    return {
        name: [Sample(one.cpu / events, one.wall / events, one.peak) for one in taken]
        for name, taken in samples.items()
    }


# --- commands -------------------------------------------------------------------------------------


def lines(inputs: Inputs) -> Samples:
    """Scored event lines: one pattern, all that are on, and a hand-written loop."""
    path = inputs.lines()
    candidates = {
        "ours": analyze(inputs, path, "love_bombing"),
        "all": analyze(inputs, path),
        "hand loop": lambda: command(peers.__file__, "hand_loop", path, folder=inputs.folder),
    }
    return interleaved(candidates, inputs.rounds(3))


def forum(inputs: Inputs) -> Samples:
    """Messages of a forum."""
    assert inputs.data
    run = analyze(inputs, inputs.data / FORUM, "copied_text", "repeated_pressure")
    return interleaved({"ours": run}, inputs.rounds(3))


def runs(inputs: Inputs) -> Samples:
    """Runs of a coding agent."""
    assert inputs.data
    return interleaved({"ours": analyze(inputs, inputs.data / RUNS)}, inputs.rounds(3))


def start(inputs: Inputs) -> Samples:
    """What is paid before the first event, beside an empty Python process."""
    first = ("-c", "import ethogram; ethogram.analyze([])")
    candidates: dict[str, Run] = {
        "ours": lambda: command(*first, folder=inputs.folder),
        "help": ethogram(inputs, "--help"),
        "empty process": lambda: command("-c", "pass", folder=inputs.folder),
    }
    for run in candidates.values():
        run()
    return interleaved(candidates, inputs.rounds(7))


def store(inputs: Inputs) -> Samples:
    """Event lines into a new store, beside the sqlite3 module, which checks nothing."""
    path, numbers = inputs.lines(), count()

    def ours() -> Sample:
        url = inputs.folder / f"{next(numbers)}.db"
        return ethogram(inputs, "store", "import", path, "--store", url)()

    def sqlite() -> Sample:
        database = inputs.folder / f"{next(numbers)}.db"
        return command(peers.__file__, "plain_store", path, database, folder=inputs.folder)

    return interleaved({"ours": ours, "sqlite3": sqlite}, inputs.rounds(3))


def events(inputs: Inputs) -> Samples:
    """All patterns that are on over Parquet files of more and more events, 100 a subject."""
    samples: Samples = {}
    for size in (1, 10_000, 100_000, 1_000_000, *(() if inputs.quick else (10_000_000,))):
        if any(math.isinf(sample.cpu) for taken in samples.values() for sample in taken):
            samples[str(size)] = [Sample(math.inf, math.inf)]  # a larger file would be stopped too
            continue
        path = inputs.parquet(size, max(1, size // 100))
        samples[str(size)] = [ethogram(inputs, "analyze", path)()]
        path.unlink()
    return samples


def copies(inputs: Inputs) -> Samples:
    """A spam wave: one text by more and more subjects."""
    from benchmarks.speed.data import write_copies

    candidates = {
        str(size): analyze(inputs, inputs.file(write_copies, f"copies_{size}.jsonl", size))
        for size in (1, 5_000, 20_000)
    }
    return interleaved(candidates, inputs.rounds(3))


def people(inputs: Inputs) -> Samples:
    """Usage events of 500 people, ten weeks each."""
    from benchmarks.speed.data import write_usage

    run = analyze(inputs, inputs.file(write_usage, "usage.jsonl", USAGE, 500))
    return by_event(interleaved({"ours": run}, inputs.rounds(3)), USAGE)


def subjects(inputs: Inputs) -> Samples:
    """Five patterns over the same number of events, by more and more subjects."""
    rows = 100_000 if inputs.quick else 1_000_000
    candidates = {
        str(number): analyze(inputs, inputs.parquet(rows, number), inputs.patterns(5))
        for number in (10, 100, 1_000, 10_000, 100_000, 1_000_000)
        if number <= rows
    }
    return by_event(interleaved(candidates, 2), rows)


def patterns(inputs: Inputs) -> Samples:
    """More and more patterns over the same events."""
    rows = 100_000 if inputs.quick else 1_000_000
    path = inputs.parquet(rows, rows // 100)
    candidates = {str(n): analyze(inputs, path, inputs.patterns(n)) for n in (1, 5, 20, 60)}
    return by_event(interleaved(candidates, 2), rows)


# --- the kernel -----------------------------------------------------------------------------------


def kernel(inputs: Inputs) -> Samples:
    """Six shapes over a million evaluations: the columnar engine, with evidence, and its peers."""
    return alone(_kernel, 1_000_000, inputs.rounds(5))


def _kernel(rows: int, rounds: int) -> Samples:
    """AssertionError where two candidates do not find the same."""
    from benchmarks.speed.data import evaluations

    data = evaluations(rows)
    threads = os.cpu_count() or 1
    questions: dict[str, Callable[[], peers.Hits]] = {
        "ours": _columns(data),
        "Python loop": peers.python_loop(data),
        "DuckDB": peers.duckdb_query(data, threads),
        "Polars": peers.polars_over(data),
        "one read": peers.column_floor(data),
    }
    expected = questions["ours"]()

    def run(name: str) -> Sample:
        answers: list[peers.Hits] = []
        sample = timed(lambda: answers.append(questions[name]()))
        if name != "one read" and answers[0] != expected:
            raise AssertionError(f"{name} does not find what we find: {sorted(answers[0] ^ expected)[:3]}")
        return sample

    return interleaved({name: (lambda name=name: run(name)) for name in questions}, rounds)  # type: ignore[misc]


def _columns(data: Any) -> Callable[[], peers.Hits]:
    """The six programs over columns, every match made a detection with its evidence."""
    import numpy as np

    from benchmarks.speed.data import six_programs
    from ethogram.engine.columns.run import run_table
    from ethogram.engine.columns.table import LineTable
    from ethogram.engine.detections import detection_of
    from ethogram.ingest.event_columns import Coded, EventColumns

    programs = six_programs()
    names = [f"s{i}" for i in range(int(data.subject[-1]) + 1)]
    ids: list[str | None] = [f"row {row}" for row in range(data.rows)]
    seq = np.arange(data.rows)
    readings: dict[str, Any] = {**data.traits, "observed": data.observed}

    def run() -> peers.Hits:
        by: dict[str, Any] = {"subject": Coded(data.subject, names)}
        columns = EventColumns("input", data.at, seq, ids, by, readings, timed=True)
        outcome = run_table(programs, LineTable(columns), as_of=int(data.at[-1]))
        for match in outcome.matches:
            detection_of(match)
        return {(match.program.name, match.fired.seq) for match in outcome.matches}

    return run


# --- live -----------------------------------------------------------------------------------------


def live(inputs: Inputs) -> Samples:
    """Events of a thousand subjects, one by one and in batches."""
    return alone(_live, 40 if inputs.quick else 120)


def _live(batches: int) -> Samples:
    """AssertionError where a batch does not report what its events report one by one."""
    from ethogram import Watch

    single, many = Watch(), Watch()
    source = _live_events(SUBJECTS)
    samples: Samples = {"observe": [], "observe_many": []}
    for number in range(batches):
        batch, reported, together = list(islice(source, BATCH)), list[Any](), list[Any]()
        runs = {
            "observe": lambda: reported.extend(change for event in batch for change in single.observe(event)),  # noqa: B023
            "observe_many": lambda: together.extend(many.observe_many(batch)),  # noqa: B023
        }
        for name, run in runs.items():
            sample = timed(run, BATCH)
            if number >= batches // 2:
                samples[name].append(sample)
        if together != reported:
            raise AssertionError("a batch does not report what its events report one by one")
    return samples


def histories(inputs: Inputs) -> Samples:
    """`Watch.observe` once histories have so many events."""
    lengths = (100, 1_000, 10_000, *(() if inputs.quick else (100_000,)))
    return {str(length): alone(_observed, length) for length in lengths}


def _observed(length: int) -> list[Sample]:
    from ethogram import Watch

    number = max(1, 5_000 // length)
    source, watch = _live_events(number), Watch()
    for event in islice(source, number * length):
        watch.observe(event)
    samples = []
    for _ in range(20):
        part = list(islice(source, 250))
        samples.append(timed(lambda: [watch.observe(event) for event in part], len(part)))  # noqa: B023
    return samples


def _live_events(subjects: int) -> Iterator[Any]:
    from benchmarks.speed.data import records
    from ethogram import Event

    return (Event(**record, seq=seq) for seq, record in enumerate(records(subjects)))


def tracker(inputs: Inputs) -> Samples:
    """Usage events into a tracker in memory."""
    return alone(_tracker, 20_000 if inputs.quick else 100_000)


def _tracker(number: int) -> Samples:
    from ethogram.usage.tracker import UsageTracker

    begin = 1_767_225_600
    usage = UsageTracker(clock=lambda: float(begin + 7 * number))

    def record(start: int) -> None:
        for k in range(start, start + number // 10):
            subject = f"person {k * 7919 % (number // 50)}"
            usage.record(subject, begin + 7 * k, k % 400, time_zone="Europe/Berlin")

    return {"ours": [timed(lambda: record(k * (number // 10)), number // 10) for k in range(10)]}  # noqa: B023


# --- texts ----------------------------------------------------------------------------------------


def scanner(inputs: Inputs) -> Samples:
    """Texts to flags, by the megabyte."""
    return alone(_scanner, 1 if inputs.quick else 4, inputs.rounds(5))


def _scanner(megabytes: int, rounds: int) -> Samples:
    from benchmarks.speed.data import texts
    from ethogram.lexicon.scanner import forget, scan_many

    messages = texts(megabytes * 1_000_000)

    def run() -> None:
        forget()
        scan_many(messages)

    run()  # compiles the cues of the lexicon
    return {"ours": [timed(run, megabytes) for _ in range(rounds)]}


def evaluator(inputs: Inputs) -> Samples:
    """Messages scored by `local`."""
    return alone(_evaluator, inputs.rounds(3))


def _evaluator(rounds: int) -> Samples:
    from benchmarks.speed.data import texts
    from ethogram.evaluators.base import Question, make_evaluator
    from ethogram.lexicon import scan

    questions = [
        Question("bench", str(k), "s", text, scan(text), "focused") for k, text in enumerate(texts(500_000))
    ]
    local = make_evaluator("local")
    local.evaluate(questions[0])
    return {
        "ours": [timed(lambda: list(local.evaluate_many(questions)), len(questions)) for _ in range(rounds)]
    }


def chat(inputs: Inputs) -> Samples:
    """User turns at the beginning and at the end of a long conversation, with the embedder that ships."""
    return alone(_chat, 1_000 if inputs.quick else 10_000)


def long_chat(inputs: Inputs) -> Samples:
    """The same with messages of MESSAGE characters."""
    return alone(_long_chat, 200 if inputs.quick else 2_000)


def _long_chat(turns: int) -> Samples:
    from benchmarks.speed.data import texts

    long = (text[:MESSAGE] for text in texts(turns * 4 * MESSAGE) if len(text) >= MESSAGE)
    return _turns(islice(((("user", "assistant")[k % 2], text) for k, text in enumerate(long)), turns))


def _chat(turns: int) -> Samples:
    from benchmarks.quality.simulate import KINDS, SHORTEST, simulated

    # Short talks of every kind in turn, so that early and late turns are alike; no text comes twice.
    said = (
        (role, f"{k}.{place}: {text}")
        for k in count()
        for place, (role, text) in enumerate(simulated(list(KINDS)[k % len(KINDS)], k, SHORTEST).said)
    )
    return _turns(islice(said, turns))


def _turns(said: Iterable[tuple[str, str]]) -> Samples:
    """The user's turns of one conversation, in a program that sets no variable of a library."""
    from benchmarks.quality.simulate import phrases
    from ethogram import Conversation

    # What the first turns load, and words that all conversations share, are no cost of this one.
    warm = Conversation("warm")
    for text in (text for texts in phrases().values() for text in texts):
        warm.turn(text)
    talk, samples = Conversation("bench"), []
    for role, text in said:
        sample = timed(lambda: talk.turn(text, role))  # noqa: B023
        if role == "user":
            samples.append(sample)
    part = min(500, len(samples) // 4)
    return {"first turns": samples[:part], "last turns": samples[-part:]}


# --- the hook -------------------------------------------------------------------------------------


def hook(inputs: Inputs) -> Samples:
    """The hook's process in a new run and in one of 5,000 events, beside an empty Python process."""
    from ethogram.agents.hook.location import DIR_VARIABLE

    environ = {DIR_VARIABLE: str(inputs.folder / "hook")}
    alone(_fill_hook, inputs.folder, environ, 200 if inputs.quick else 5_000)
    numbers = count()

    def answer(session: str) -> Sample:
        payload = json.dumps(hook_payload(inputs.folder, session, next(numbers)))
        return command("-m", "ethogram", "hook", folder=inputs.folder, stdin=payload, environ=environ)

    answer("warm")
    candidates = {
        "new run": lambda: answer(f"new {next(numbers)}"),
        "long run": lambda: answer("long"),
        "empty process": lambda: command("-c", "pass", folder=inputs.folder),
    }
    return interleaved(candidates, 10 if inputs.quick else 60)


def _fill_hook(folder: Path, environ: Mapping[str, str], events: int) -> None:
    """Prepare what an install prepares, and feed a run so many events."""
    os.environ.update(environ)
    from ethogram.agents.hook import state_db
    from ethogram.agents.hook.location import state_path
    from ethogram.agents.hook.plan import prepare
    from ethogram.agents.hook.replay import in_process

    prepare(str(folder))
    db = state_db.opened(state_path())
    answer = in_process(db, str(folder))
    for number in range(events // 2):  # each is a call and a result
        answer(hook_payload(folder, "long", number))
    db.close()


def hook_payload(folder: Path, session: str, number: int) -> dict[str, Any]:
    """A result of a command in a run."""
    return {
        "session_id": session,
        "cwd": str(folder),
        "hook_event_name": "PostToolUse",
        "tool_name": "Bash",
        "tool_use_id": f"{session}-{number}",
        "tool_input": {"command": f"python tools/check.py --part {number % 97}"},
        "tool_response": {
            "stdout": f"part {number} of the work is done, {number * 7919 % 1000} left",
            "stderr": "",
        },
    }
