"""The cues by which a text that wants to steer its judge is known, read from vocabulary/judge_cues.txt.

A cue that weighs enough counts alone; lighter ones count together where they stand close to one another. All
are fixed patterns with bounded gaps, so the time taken is linear.
"""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

FILE = Path(__file__).parents[1] / "vocabulary" / "judge_cues.txt"

Weighed = tuple[tuple[float, re.Pattern[str]], ...]


class Cues(NamedTuple):
    """What is looked for.

    `cues` are for folded text, `other_scripts` for text as it is written. Without a match of `gate` there is
    nothing to look at, with one only what is near it. `trait_pair` is a trait with a number at the end of its
    scale, `squashed` is for letters that were written apart, and `mention` are words by which one speaks
    about a text: what is quoted beside them is not the author's own.
    """

    cues: Weighed
    other_scripts: Weighed
    gate: re.Pattern[str]
    trait_pair: re.Pattern[str]
    squashed: re.Pattern[str]
    mention: re.Pattern[str]


@lru_cache(maxsize=1)
def load_cues() -> Cues:
    """The cues, compiled when first wanted: there are a hundred of them."""
    sections = _sections(FILE.read_text("utf-8"))
    parts: dict[str, str] = {}
    for name, form in sections["parts"]:
        parts[name] = _whole(form, parts)
    forms = {name: re.compile(_whole(form, parts)) for name, form in sections["forms"]}
    cues, others = (
        tuple((float(weight), re.compile(_whole(form, parts))) for weight, form in sections[name])
        for name in ("cues", "other scripts")
    )
    return Cues(cues, others, **forms)


def _sections(text: str) -> dict[str, list[tuple[str, str]]]:
    """The first word and the rest of every line, by the heading in brackets above it."""
    found: dict[str, list[tuple[str, str]]] = {}
    here: list[tuple[str, str]] = []
    for line in text.splitlines():
        if line.startswith("["):
            here = found.setdefault(line.strip("[]"), [])
        elif line and not line.startswith("#"):
            first, _, rest = line.partition(" ")
            here.append((first, rest))
    return found


def _whole(form: str, parts: dict[str, str]) -> str:
    return re.sub(r"<([A-Z]+)>", lambda part: parts[part[1]], form)
