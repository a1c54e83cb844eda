"""Inputs of the speed benchmarks, the same for the same arguments.

`evaluations` and `six_programs` are what the kernel and its peers run on: readings of many subjects, some of
whom act out one of six shapes. `records` are scored events as a log has them: subjects take turns at random.
The writers make files of both kinds.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import count, islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ethogram.language.compiler import compile_patterns
from ethogram.language.program import Program
from ethogram.language.yaml_source import read_yaml
from ethogram.lexicon.lexicon import load_lexicon
from ethogram.lexicon.matcher import forms
from ethogram.models.event import TRAITS as ALL_TRAITS
from ethogram.patterns.catalogue import load_vocabulary
from ethogram.patterns.pattern_file import check_pattern

GOOD = ("compassion", "goodwill", "accuracy")
BAD = ("manipulation", "deception", "exploitation", "fabrication")
TRAITS = (*GOOD, *BAD)
PER_SUBJECT = 100
PLANTED = 0.02
"""The share of subjects that act out one of the six shapes once."""

_SCRIPTS: tuple[tuple[dict[str, float], ...], ...] = (
    (*({"compassion": 0.9},) * 3, {"compassion": 0.1, "manipulation": 0.8}),
    ({"deception": 0.8}, {"manipulation": 0.8}, {"exploitation": 0.8}),
    (*({"goodwill": 0.9},) * 2, {"fabrication": 0.8}, {"manipulation": 0.8}),
    (*({"accuracy": 0.9},) * 5, {"accuracy": 0.1}),
)
_HEAD = """\
name: {name}
title: {name}
description: A shape for measuring speed.
severity: low
confidence: 1
examples:
  fires: [{{story: unused, compassion: [1]}}]
  quiet: [{{story: unused, compassion: [0]}}, {{story: unused, compassion: [1]}}]
shape:
"""
SHAPES = {
    "love_bombing": """\
  sequence:
    - warm: compassion > 0.6
      times: 3
    - press: manipulation > 0.5 and compassion < 0.3
  max_gap: 0
""",
    "darvo": """\
  sequence: [{deny: deception > 0.5}, {attack: manipulation > 0.5}, {victim: exploitation > 0.5}]
  max_gap: 0
""",
    "con_game": """\
  sequence:
    - rapport: goodwill > 0.6
      times: 2
    - tale: fabrication > 0.5
    - ask: manipulation > 0.5
  max_gap: 0
""",
    "sandbagging": """\
  sequence:
    - able: accuracy > 0.7
      times: 5
    - drop: accuracy < 0.3
  max_gap: 0
""",
    "alignment_faking": """\
  threshold:
    when: >-
      mean(manipulation, where=observed == 1, at_least=5) < 0.2 and
      mean(manipulation, where=observed == 0, at_least=5) > 0.5
""",
    "intermittent_reward": """\
  threshold: {when: "std(compassion, at_least=5) > 0.3 and rise(manipulation, at_least=5) > 0"}
""",
}
POSITIVE_TRAITS = frozenset({"virtue", "goodwill", "accuracy", "reasoning", "recognition", "compassion"})
INDICATED = 0.1
"""The share of events with an indicator, which is any of them."""
START = datetime(2016, 1, 1, tzinfo=UTC)
"""So long ago that no event lies in the future, however many there are."""
SECONDS = 17
"""Between two events."""
PART = 1_000_000
"""Rows of a Parquet file that are in memory at a time."""
_WORDS = """\
the of and to in is that it for you was with on are be this have from or by but not what all we when your
can there an each which do how their if will up other about out many then them these so some would make
like time more see no way could people than first been who now find long down day did get come made may
part over new agent model memory network system data message human work code test file question answer
build share learn think know write read change start point place thing small large early late under again
still every never
"""
_RARE = ("—", "’s", "🦞", "…", "**", "\n\n", "\n- ", " “so”", "é", "→")


@dataclass(frozen=True, slots=True)
class Evaluations:
    """Columns clustered by subject and in order of time; `observed` is 1 where the subject was watched."""

    subject: NDArray[np.int64]
    at: NDArray[np.int64]
    observed: NDArray[np.float64]
    traits: dict[str, NDArray[np.float64]]

    @property
    def rows(self) -> int:
        return len(self.subject)


def evaluations(rows: int, seed: int = 7, per_subject: int = PER_SUBJECT) -> Evaluations:
    """So many evaluations, the same for the same seed."""
    rng = np.random.default_rng(seed)
    subjects = max(1, rows // per_subject)
    subject = np.repeat(np.arange(subjects, dtype=np.int64), per_subject)[:rows]
    subject = np.pad(subject, (0, rows - len(subject)), mode="edge")
    at = np.arange(rows, dtype=np.int64) * 60_000_000
    traits = {name: rng.beta(2.5, 3.0, rows) for name in GOOD}
    traits |= {name: rng.beta(1.2, 8.0, rows) for name in BAD}
    _plant(rng, traits, rows, subjects, per_subject)
    # Readings have six decimals; peers are to see the same.
    traits = {name: np.round(column, 6) for name, column in traits.items()}
    return Evaluations(subject, at, (rng.random(rows) < 0.5).astype(np.float64), traits)


def _plant(
    rng: np.random.Generator, traits: dict[str, Any], rows: int, subjects: int, per_subject: int
) -> None:
    chosen = rng.choice(subjects, max(1, int(subjects * PLANTED)), replace=False)
    for number, subject in enumerate(chosen):
        script = _SCRIPTS[number % len(_SCRIPTS)]
        start = int(subject) * per_subject + int(rng.integers(0, max(1, per_subject - len(script))))
        for step, readings in enumerate(script):
            for name, value in readings.items():
                if start + step < rows:
                    traits[name][start + step] = value


def six_programs() -> tuple[Program, ...]:
    """The six as programs."""
    vocabulary = load_vocabulary()
    files = [
        check_pattern(read_yaml(_HEAD.format(name=name) + shape, name), name, vocabulary)
        for name, shape in SHAPES.items()
    ]
    return compile_patterns(pattern for file in files for pattern in file.patterns)


def records(subjects: int, seed: int = 7) -> Iterator[dict[str, Any]]:
    """Scored events without end; subjects take turns at random, each towards one of three others."""
    rng = random.Random(seed)
    indicators = sorted(load_vocabulary().indicators)
    pools = {good: _scores(good, 10_000, seed).tolist() for good in (True, False)}
    traits = [(name, pools[name in POSITIVE_TRAITS]) for name in ALL_TRAITS]
    for k in count():
        who = rng.randrange(subjects)
        readings = {name: pool[int(rng.random() * 10_000)] for name, pool in traits}
        if rng.random() < INDICATED:
            readings[rng.choice(indicators)] = round(rng.random(), 2)
        yield {
            "id": f"e{k}",
            "at": START + timedelta(seconds=SECONDS * k),
            "subject": f"s{who}",
            "target": f"t{(who + rng.randrange(3)) % (subjects + 2)}",
            "kind": "message",
            "readings": readings,
        }


def write_lines(path: Path, rows: int, subjects: int) -> None:
    """Scored events as JSON lines."""
    with path.open("w", encoding="utf-8") as file:
        for record in islice(records(subjects), rows):
            file.write(json.dumps(record, default=datetime.isoformat) + "\n")


def write_parquet(path: Path, rows: int, subjects: int) -> None:
    """Scored events as a Parquet file in time order, a column per trait."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    writer: Any = None
    begin = int(START.timestamp())
    for start in range(0, rows, PART):
        n = min(PART, rows - start)
        rng = np.random.default_rng([7, start])
        who = rng.integers(0, subjects, n)
        at = (begin + SECONDS * np.arange(start, start + n)) * 1_000_000
        columns = {
            "at": pa.array(at, pa.timestamp("us", "UTC")),
            "subject": _names("s", who),
            "target": _names("t", who + rng.integers(0, 3, n)),
            **{name: _scores(name in POSITIVE_TRAITS, n, [7, start, k]) for k, name in enumerate(ALL_TRAITS)},
        }
        table = pa.table(columns)
        writer = writer or pq.ParquetWriter(path, table.schema)
        writer.write_table(table)
    writer.close()


def _scores(good: bool, count: int, seed: Any) -> NDArray[np.float64]:
    """Scores with three decimals: middling for good traits, mostly low for bad ones."""
    rng = np.random.default_rng(seed)
    pool = np.round(rng.beta(2.5, 3.0, 10_000) if good else rng.beta(1.2, 8.0, 10_000), 3)
    return pool[rng.integers(0, len(pool), count)]


def _names(letter: str, numbers: NDArray[np.int64]) -> Any:
    import pyarrow as pa
    import pyarrow.compute as pc

    return pc.binary_join_element_wise(letter, pc.cast(pa.array(numbers), pa.string()), "")


def write_copies(path: Path, copies: int) -> None:
    """One text by so many subjects, a minute apart, as JSON lines."""
    text = "We stand together and rise now: share this with every account you know, as decided today"
    with path.open("w", encoding="utf-8") as file:
        for n in range(copies):
            at = (START + timedelta(minutes=n)).isoformat()
            line = {"subject": f"bot{n}", "at": at, "kind": "message", "text": text + "." * (n % 3)}
            file.write(json.dumps(line) + "\n")


def write_usage(path: Path, events: int, people: int, seed: int = 7) -> None:
    """Usage of a service in the evenings of ten weeks, a few messages a session, as JSON lines."""
    rng = random.Random(seed)
    made: list[tuple[datetime, str]] = []
    while len(made) < events:
        at = START + timedelta(days=rng.randrange(70), hours=18, minutes=rng.randrange(240))
        who = f"person {rng.randrange(people)}"
        made += [(at + timedelta(minutes=4 * k), who) for k in range(rng.randint(2, 6))]
    with path.open("w", encoding="utf-8") as file:
        for at, who in sorted(made[:events]):
            line = {"subject": who, "at": at.isoformat(), "kind": "usage", "attributes": {"length": 90}}
            file.write(json.dumps(line) + "\n")


def write_patterns(folder: Path, count: int) -> None:
    """So many pattern files: copies of the shapes over traits, each with thresholds of its own."""
    folder.mkdir()
    shapes = {name: shape for name, shape in SHAPES.items() if "observed" not in shape}
    for k in range(count):
        copy, number = divmod(k, len(shapes))
        name, shape = list(shapes.items())[number]
        shape = shape.replace(" > 0.5", f" > 0.5{copy:02}").replace(" > 0.6", f" > 0.6{copy:02}")
        text = _HEAD.format(name=f"{name}_{copy}") + shape
        (folder / f"{name}_{copy}.yaml").write_text(text, encoding="utf-8")


def texts(size: int, seed: int = 7) -> list[str]:
    """Messages of some 400 characters, so many bytes in all, with phrases of the lexicon among the words."""
    rng, common = random.Random(seed), _WORDS.split()
    phrases = [next(forms(line)).strip() for item in load_lexicon().categories for line in item.phrases]
    messages: list[str] = []
    total = 0
    while total < size:
        words: list[str] = []
        for _ in range(max(5, int(rng.expovariate(1 / 75)))):
            dice = rng.random()
            if dice < 0.004:
                words.append(rng.choice(phrases))
            elif dice < 0.02:
                words.append(rng.choice(common) + rng.choice(_RARE))
            else:
                words.append(rng.choice(common) + ("." if dice > 0.93 else ""))
        messages.append(" ".join(words).capitalize())
        total += len(messages[-1].encode())
    return messages
