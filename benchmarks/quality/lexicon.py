"""`python -m benchmarks quality lexicon`: hit rates of categories on real messages, and samples to judge."""

from __future__ import annotations

import gzip
import json
import random
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from ethogram.cli import options as o
from ethogram.cli.output import write_line
from ethogram.errors import BadUsage
from ethogram.lexicon.lexicon import Category, load_lexicon
from ethogram.lexicon.scanner import scan
from ethogram.report.wording import plural, printable

SAMPLED = 20
AROUND = 70  # characters shown before and after a hit


@dataclass(frozen=True, slots=True)
class Sample:
    """A hit in its context, to judge whether the phrase has the meaning of its category."""

    file: str
    phrase: str
    before: str
    hit: str
    after: str


@dataclass(frozen=True, slots=True)
class Measured:
    """A category: hits per 10,000 messages of the rated file, samples, and phrases never hit."""

    category: Category
    hits_per_10000: float
    found: int
    samples: tuple[Sample, ...]
    never: tuple[str, ...]


def measure(messages: Iterable[tuple[str, str]], rated: str, *, seed: int = 7) -> list[Measured]:
    """Measure every category on (file, text) pairs; a repeated text is sampled once."""
    rng = random.Random(seed)
    total, hits, rates = 0, Counter[tuple[str, str]](), Counter[str]()
    seen: set[int] = set()
    samples: dict[str, list[Sample]] = defaultdict(list)
    sampled: Counter[str] = Counter()
    for file, text in messages:
        total += file == rated
        is_new = hash(text) not in seen
        seen.add(hash(text))
        for flag in scan(text).flags:
            if not flag.counts:
                continue
            hits[flag.category, flag.phrase] += 1
            rates[flag.category] += file == rated
            if is_new:
                sampled[flag.category] += 1
                before, after = text[max(0, flag.start - AROUND) : flag.start], text[flag.end :][:AROUND]
                sample = Sample(file, flag.phrase, before, text[flag.start : flag.end], after)
                _add_sample(samples[flag.category], sample, sampled[flag.category], rng)
    lines = _by_line(hits)
    return [
        Measured(
            category,
            round(10_000 * rates[category.name] / max(1, total), 1),
            sampled[category.name],
            tuple(samples[category.name]),
            tuple(line for line in category.phrases if not lines[category.name, line]),
        )
        for category in load_lexicon().categories
    ]


def _by_line(hits: Counter[tuple[str, str]]) -> Counter[tuple[str, str]]:
    """Hits by category and line of the lexicon; a line may have several forms."""
    lexicon = load_lexicon()
    lines = [(category.name, line) for category in lexicon.categories for line in category.phrases]
    out: Counter[tuple[str, str]] = Counter()
    for (category, phrase), count in hits.items():
        for number, _, _ in lexicon.matcher.find(phrase.encode()):
            if lines[number][0] == category:
                out[lines[number]] += count
    return out


def _add_sample(samples: list[Sample], sample: Sample, number: int, rng: random.Random) -> None:
    """Reservoir sampling: each of `number` hits is in the sample with the same chance."""
    if len(samples) < SAMPLED:
        samples.append(sample)
    elif (place := rng.randrange(number)) < SAMPLED:
        samples[place] = sample


def lexicon(
    data: Annotated[Path, o.opt("Read conversations (*.jsonl, *.jsonl.gz) from here.", "--data")],
    rate: Annotated[str, o.opt("Measure rates on this file.", "--rate")] = "moltbook_threads",
) -> None:
    """Count the hits of every category, and show some to judge.

    Nothing is written: the messages stay where they are.
    """
    for measured in measure(_messages(data), rate):
        head = f"{measured.category.trait} / {measured.category.name}: {measured.hits_per_10000:g} per 10,000"
        write_line(f"{head}, {plural(measured.found, 'different text')}, {len(measured.samples)} shown")
        for sample in measured.samples:
            text = f"{sample.before}[[{sample.hit}]]{sample.after}"
            write_line(printable(f"  {sample.file:<18} {' '.join(text.split())}"))
        if measured.never:
            write_line(printable(f"  never hit: {'; '.join(measured.never)}"))


def _messages(folder: Path) -> Iterator[tuple[str, str]]:
    """File and text of every turn in every conversation."""
    paths = sorted([*folder.glob("*.jsonl"), *folder.glob("*.jsonl.gz")])
    if not paths:
        raise BadUsage(f"no conversations in {str(folder)!r}; expected a folder with *.jsonl or *.jsonl.gz")
    for path in paths:
        name = path.name.partition(".")[0]
        opener: Callable[..., Any] = gzip.open if path.suffix == ".gz" else open
        with opener(path, "rt", encoding="utf-8", errors="replace") as stream:
            for record in map(json.loads, stream):
                for turn in record.get("turns", [record]) if isinstance(record, dict) else ():
                    if isinstance(text := turn.get("text"), str):
                        yield name, text
