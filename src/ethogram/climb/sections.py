"""Content files.

Sections of words, phrases or alternatives, under headings in brackets; `#` begins a remark.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

FOLDER = Path(__file__).parent / "content"


def lines_of(name: str) -> list[str]:
    """The lines of a content file that are neither empty nor remarks."""
    lines = (FOLDER / f"{name}.txt").read_text("utf-8").splitlines()
    return [line for line in lines if line.strip() and not line.startswith("#")]


@cache
def sections(name: str) -> dict[str, tuple[str, ...]]:
    """Lines of a content file by the heading above them; headings that occur twice are joined."""
    found: dict[str, tuple[str, ...]] = {}
    heading = ""
    for line in lines_of(name):
        if line.startswith("[") and line.endswith("]"):
            heading = line[1:-1]
        else:
            found[heading] = (*found.get(heading, ()), line)
    return found


def words_of(name: str, heading: str) -> frozenset[str]:
    """The words of a section, parted by white space."""
    return frozenset(word for line in sections(name)[heading] for word in line.split())


def alternatives(name: str, heading: str, before: str = r"\b(?:", after: str = r")\b") -> re.Pattern[str]:
    """A regular expression of the lines of a section as alternatives."""
    return re.compile(before + "|".join(sections(name)[heading]) + after)
