"""`speed scan`: matching beside one large alternation of `re`, and scanning from end to end."""

from __future__ import annotations

import gzip
import json
import random
import re
import statistics
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from benchmarks.speed.shapes import ratio_record
from ethogram.lexicon import scan
from ethogram.lexicon.lexicon import load_lexicon
from ethogram.lexicon.matcher import Match, Matcher, forms
from ethogram.lexicon.normalize import fold
from ethogram.lexicon.records import Scan
from ethogram.lexicon.scanner import forget, scan_many

PHRASES = 1_500
MATCHING = (80, 400)
"""How many times faster than `re`: what must hold, and what is wanted."""
END_TO_END = (10, 40)
"""Megabytes a second: what must hold, and what is wanted."""

_WORDS = """
the of and to in is that it for you was with on are be this have from or by but not what all we when your
can there an each which do how their if will up other about out many then them these so some would make
like time more see no way could people than first been who now find long down day did get come made may
part over new agent model memory network system data message human work code test file question answer
build share learn think know write read change start point place thing small large early late under again
still every never
"""
_PLAIN = _WORDS.split()
_RARE = ("—", "’s", "🦞", "…", "**", "\n\n", "\n- ", " “so”", "é", "→")


@dataclass(frozen=True, slots=True)
class Timing:
    """Medians of one candidate over so many bytes, in seconds."""

    name: str
    wall: float
    cpu: float
    size: int
    hits: int


def texts(size: int, seed: int = 7) -> list[str]:
    """Messages of some 400 characters made from a mixture of words, with phrases of the lexicon strewn in."""
    rng = random.Random(seed)
    phrases = _phrases()
    out: list[str] = []
    total = 0
    while total < size:
        words: list[str] = []
        for _ in range(max(5, int(rng.expovariate(1 / 75)))):
            dice = rng.random()
            if dice < 0.004:
                words.append(rng.choice(phrases))
            elif dice < 0.02:
                words.append(rng.choice(_PLAIN) + rng.choice(_RARE))
            else:
                words.append(rng.choice(_PLAIN) + ("." if dice > 0.93 else ""))
        out.append(" ".join(words).capitalize())
        total += len(out[-1].encode())
    return out


def phrases_for_peers(count: int = PHRASES, seed: int = 7) -> list[bytes]:
    """So many phrases: those of the lexicon, and made ones where there are not enough."""
    rng = random.Random(seed)
    fromkey = list(dict.fromkeys(fold(phrase).text for phrase in _phrases()))[:count]
    known = set(fromkey)
    while len(fromkey) < count:
        made = " ".join(rng.choices(_PLAIN, k=3)).encode()
        if made not in known:
            known.add(made)
            fromkey.append(made)
    return fromkey


def _phrases() -> list[str]:
    """The first form of every line of the lexicon."""
    return [next(forms(line)).strip() for category in load_lexicon().categories for line in category.phrases]


def alternation(phrases: Sequence[bytes]) -> re.Pattern[bytes]:
    """The same question asked of `re`: whole words, the longest first."""
    body = b"|".join(re.escape(phrase) for phrase in sorted(phrases, key=len, reverse=True))
    word = rb"[a-z0-9_]"
    before = rb"(?<!" + word + rb")(?<!" + word + rb"')"
    return re.compile(before + rb"(?:" + body + rb")(?!" + word + rb")(?!'" + word + rb")")


def compare(size: int = 4_000_000, *, rounds: int = 3, data: Path | None = None) -> list[Timing]:
    """Every candidate timed on generated text, and with `data` on real text too, named so."""
    timings = _compare(texts(size), rounds)
    if data is not None:
        real = _compare(list(read_messages(data, size)), rounds)
        timings += [replace(item, name=f"{item.name}_real") for item in real]
    return timings


def _compare(value: Sequence[str], rounds: int) -> list[Timing]:
    """Every candidate timed in turn; AssertionError where `re` and we do not find the same.

    `re` gets a small part of the text, since all of it would take minutes; what counts is the time
    that a byte takes.
    """
    size_given = sum(len(text.encode()) for text in value)
    folded = [fold(text).text for text in value]
    few = folded[: max(1, len(folded) // 40)]
    phrases = phrases_for_peers()
    matcher, pattern = Matcher(phrases), alternation(phrases)
    numbers = {phrase: number for number, phrase in enumerate(phrases)}
    for text in few:
        theirs = [(numbers[match[0]], *match.span()) for match in pattern.finditer(text)]
        if matcher.find(text) != theirs:
            raise AssertionError(f"re does not find what we find in {text[:200]!r}")
    candidates: dict[str, tuple[Callable[[], int], int]] = {
        "matching": (lambda: _matches(matcher.find, folded), _size(folded)),
        "re": (lambda: sum(1 for text in few for _ in pattern.finditer(text)), _size(few)),
        "end_to_end": (lambda: _flags(scan_many(value)), size_given),
        "one_by_one": (lambda: _flags(map(scan, value)), size_given),
    }
    measured: dict[str, list[tuple[float, float, int]]] = {name: [] for name in candidates}
    for _ in range(rounds):
        for name, (run, _) in candidates.items():
            measured[name].append(_timed(run))
    return [
        Timing(
            name,
            statistics.median(wall for wall, _, _ in runs),
            statistics.median(cpu for _, cpu, _ in runs),
            candidates[name][1],
            runs[0][2],
        )
        for name, runs in measured.items()
    ]


def verdicts(timings: Sequence[Timing]) -> list[dict[str, Any]]:
    """The speeds, and the bars, as JSON records."""
    by_name = {timing.name: timing for timing in timings}
    out: list[dict[str, Any]] = [
        {
            "record": "timing",
            "name": timing.name,
            "wall_seconds": timing.wall,
            "cpu_seconds": timing.cpu,
            "hits": timing.hits,
            "bytes": timing.size,
            "mb_per_second": _speed(timing),
        }
        for timing in timings
    ]
    ratio = _speed(by_name["matching"]) / _speed(by_name["re"])
    out += [
        ratio_record(what, value, bar, goal, value >= bar, value >= goal)
        for what, value, (bar, goal) in (
            (f"times as fast as re with {PHRASES:,} phrases", ratio, MATCHING),
            ("MB a second from end to end", _speed(by_name["end_to_end"]), END_TO_END),
            *(
                ("MB a second from end to end on real text", _speed(timing), END_TO_END)
                for timing in timings
                if timing.name == "end_to_end_real"
            ),
        )
    ]
    return out


def read_messages(path: Path, size: int) -> Iterator[str]:
    """Messages of a file, up to that many bytes: turns of conversations, or the lines of plain text."""
    total = 0
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "rt", encoding="utf-8", errors="replace") as stream:
        for line in stream:
            for text in _turns(line) if ".jsonl" in path.suffixes else [line]:
                if (total := total + len(text.encode("utf-8", "replace"))) > size:
                    return
                yield text


def _turns(line: str) -> list[str]:
    turns = json.loads(line).get("turns", [])
    return [turn["text"] for turn in turns if isinstance(turn.get("text"), str)]


def _flags(scans: Iterable[Scan]) -> int:
    # Nothing may be known from the round before; repeats among the texts themselves are fair.
    forget()
    return sum(len(scan.flags) for scan in scans)


def _matches(find: Callable[[bytes], list[Match]], folded: Sequence[bytes]) -> int:
    return sum(len(find(text)) for text in folded)


def _size(folded: Sequence[bytes]) -> int:
    return sum(map(len, folded))


def _speed(timing: Timing) -> float:
    # CPU time: what else runs on the machine must not decide.
    return timing.size / 1e6 / max(timing.cpu, 1e-9)


def _timed(run: Callable[[], int]) -> tuple[float, float, int]:
    wall, cpu = time.perf_counter(), time.process_time()
    hits = run()
    return time.perf_counter() - wall, time.process_time() - cpu, hits
