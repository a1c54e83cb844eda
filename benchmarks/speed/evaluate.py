"""`speed evaluate`: how fast the evaluator `local` is, beside its features in plain Python."""

from __future__ import annotations

import statistics
import time
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import pairwise
from math import log
from pathlib import Path
from typing import Any
from zlib import crc32

from benchmarks.speed.scan import read_messages, texts
from benchmarks.speed.shapes import ratio_record
from ethogram.evaluators.base import Evaluation, Question, make_evaluator
from ethogram.lexicon.normalize import fold
from ethogram.lexicon.scanner import forget, scan

PER_SECOND = (1_000, 2_000)
"""Messages: what must hold, and what is wanted."""
BESIDE = (1.0, 2.0)
"""Times as fast as the plain features alone, which score nothing yet."""
BUCKETS = 1 << 16


def plain_features(text: str) -> Counter[int]:
    """Weights by bucket of words, pairs of words and runs of characters: what one would write first."""
    said = fold(text[:8_000]).text
    words = said.split()
    grams = [*words, *(b" ".join(pair) for pair in pairwise(words))]
    grams += [said[k : k + n] for n in (3, 4, 5) for k in range(len(said) - n + 1)]
    counter: Counter[int] = Counter()
    for gram, count in Counter(grams).items():
        counter[crc32(gram) % BUCKETS] += round(16 * (1 + log(count)))
    return counter


def compare(size: int = 2_000_000, *, rounds: int = 3, data: Path | None = None) -> list[dict[str, Any]]:
    """Timings and verdicts as JSON records, over made-up messages or those of a file."""
    given = [
        text for text in (texts(size) if data is None else list(read_messages(data, size))) if text.strip()
    ]
    questions = [Question("bench", str(k), "s", text, scan(text), "focused") for k, text in enumerate(given)]
    local = make_evaluator("local")
    local.evaluate(questions[0])
    candidates: dict[str, Callable[[], int]] = {
        "local": lambda: sum(isinstance(item, Evaluation) for item in local.evaluate_many(questions)),
        "plain_features": lambda: sum(bool(plain_features(text)) for text in given),
        "scan": lambda: _scanned(given),
    }
    measured: dict[str, list[tuple[float, float, int]]] = {name: [] for name in candidates}
    for _ in range(rounds):
        for name, run in candidates.items():
            measured[name].append(_timed(run))
    cpu = {name: statistics.median(run[1] for run in runs) for name, runs in measured.items()}
    timings = [
        {
            "record": "timing",
            "name": name,
            "wall_seconds": statistics.median(run[0] for run in runs),
            "cpu_seconds": cpu[name],
            "per_second": round(len(given) / max(cpu[name], 1e-9)),
            "hits": runs[0][2],
        }
        for name, runs in measured.items()
    ]
    speed, both = (len(given) / max(item, 1e-9) for item in (cpu["local"], cpu["local"] + cpu["scan"]))
    ratio = cpu["plain_features"] / max(cpu["local"], 1e-9)
    return [
        *timings,
        *(
            ratio_record(what, value, bar, goal, value >= bar, value >= goal)
            for what, value, (bar, goal) in (
                ("messages a second", speed, PER_SECOND),
                ("messages a second with their scan", both, PER_SECOND),
                ("times as fast as the features in plain Python", ratio, BESIDE),
            )
        ),
    ]


def _scanned(value: Sequence[str]) -> int:
    forget()
    return sum(scan(text).measured for text in value)


def _timed(run: Callable[[], int]) -> tuple[float, float, int]:
    wall, cpu = time.perf_counter(), time.process_time()
    hits = run()
    return time.perf_counter() - wall, time.process_time() - cpu, hits
