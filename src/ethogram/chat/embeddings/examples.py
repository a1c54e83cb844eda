"""The texts that the harm head is fitted to: what asks for harm, its innocent look-alikes, ordinary talk.

All were written for this project. None says how anything is done.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from functools import cache
from itertools import product
from math import prod
from random import Random

from ...data import DATA
from ...models.slotted import dataclass

FOLDER = DATA / "embeddings"
FAMILIES = (
    "harm", "innocent", "ordinary", "harm_variants", "innocent_variants", "lookalike_variants", "harm_more",
    "lookalike_more", "ordinary_more",
)  # fmt: skip
# Categories that have nothing to do with harm; the other innocent ones are look-alikes.
ORDINARY = frozenset((
    "everyday", "services", "knowledge", "writing", "programs", "life", "ordinary_requests",
    "ordinary_replies", "ordinary_services", "ordinary_talk",
))  # fmt: skip
PER_FAMILY = 3  # texts of one line with choices
_CHOICE = re.compile(r"\(([^()]*)\)")
_HEADING = re.compile(r"\[(\w+)(?: ([\d.]+))?\]")


@dataclass(frozen=True, slots=True)
class Example:
    """A turn, the two turns before it, and whether it asks for harm; `kind` is where it comes from."""

    text: str
    harms: bool
    kind: str
    context: tuple[str, ...] = ()


@cache
def examples() -> tuple[Example, ...]:
    """All of them."""
    return (*_families(), *_pairs(), *_context_pairs(), *_climbs(), *_harmless())


def expand(line: str, most: int) -> list[str]:
    """The texts of a line with choices `(a|b)`; of more than `most`, a fixed random sample.

    >>> expand("(buy|sell) (bread|)", 9)
    ['buy bread', 'buy', 'sell bread', 'sell']
    """
    # The choices are at odd positions, between the fixed parts.
    parts = enumerate(_CHOICE.split(line))
    choices = [part.split("|") if position % 2 else [part] for position, part in parts]
    rng = Random(f"0 {line}")
    texts: Iterable[Iterable[str]] = product(*choices)
    if prod(map(len, choices)) > most:
        texts = ([rng.choice(choice) for choice in choices] for _ in range(most))
    return list(dict.fromkeys(" ".join("".join(words).split()) for words in texts))


def _families() -> Iterator[Example]:
    for name in FAMILIES:
        category, harms = "", False
        for number, line in enumerate(_lines(f"{name}.txt"), start=1):
            heading = _HEADING.fullmatch(line)
            if heading:
                category, harms = heading[1], heading[2] is not None
            elif not category:
                raise ValueError(f"{name}.txt:{number}: an example before the first [category]")
            elif category != "resampling":  # asking for another answer says nothing
                kind = "harm" if harms else "ordinary" if category in ORDINARY else "look-alike"
                for text in expand(line, PER_FAMILY):
                    yield Example(text, harms, kind)


def _pairs() -> Iterator[Example]:
    """A request that harms, and its twin that shares words, form and length but asks for nothing harmful."""
    for line in _lines("pairs.tsv"):
        _, harmful, innocent = line.split("\t")
        yield Example(harmful, True, "pair")
        yield Example(innocent, False, "pair")


def _context_pairs() -> Iterator[Example]:
    """Turns that harm only after what came before, and the same or alike ones that do not."""
    for line in _lines("context_pairs.jsonl"):
        record = json.loads(line)
        before, otherwise = (
            tuple(turn["text"] for turn in record.get(key, ())[-2:])
            for key in ("context", "context_harmless")
        )
        kind = "amounts" if record["category"] == "exact" else "in context"
        yield Example(record.get("turn") or record["harmful"], True, kind, before)
        yield Example(record.get("turn") or record["harmless"], False, kind, otherwise or before)


def _climbs() -> Iterator[Example]:
    """Turns of conversations that climb and of their innocent twins; doubtful turns are left out."""
    for line in _lines("climbs.jsonl"):
        record = json.loads(line)
        for side in ("attack", "twin"):
            before: list[str] = []
            for turn in record[side]["turns"]:
                if turn.get("harm", 1) != 1:
                    yield Example(turn["text"], turn["harm"] == 2, "climb", tuple(before[-2:]))
                before.append(turn["text"])


def _harmless() -> Iterator[Example]:
    for line in _lines("harmless.txt"):
        yield Example(line, False, "harmless")


def _lines(name: str) -> list[str]:
    lines = (FOLDER / name).read_text("utf-8").splitlines()
    return [line for line in lines if line and not line.startswith("#")]
