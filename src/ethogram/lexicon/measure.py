"""Measure the lexicon on real messages: hit rates of categories, and samples to judge."""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Iterable

from ..models.slotted import dataclass
from .lexicon import Category, load_lexicon
from .scanner import scan

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
