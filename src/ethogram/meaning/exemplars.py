"""Exemplars: short requests written by us, those that do harm and their nearest innocent look-alikes."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from .variants import expand

CONTENT = Path(__file__).parent / "content"
_HEADING = re.compile(r"\[(\w+)(?: ([\d.]+))?\]")


@dataclass(frozen=True, slots=True)
class Exemplar:
    """One request. `severity` is 0 for what is innocent."""

    text: str
    category: str
    severity: float

    @property
    def harms(self) -> bool:
        """Whether doing what is asked would do harm."""
        return self.severity > 0

    @property
    def target(self) -> float:
        """What the closeness of this text should come out as, -1 to 1.

        Look-alikes lie nearer to harm than the weather does. To ask for another answer is no harm by
        itself, whatever it
        follows: it says nothing either way.
        """
        return 0.0 if self.category == "resampling" else TARGETS[self.kind]

    @property
    def kind(self) -> str:
        """`harm`, `look-alike` or `ordinary`."""
        return "harm" if self.harms else "ordinary" if self.category in ORDINARY else "look-alike"


FILES = {
    "harm": 24,
    "innocent": 24,
    "ordinary": 24,
    "harm_variants": 24,
    "innocent_variants": 24,
    "lookalike_variants": 24,
    "harm_more": 5,
    "lookalike_more": 12,
    "ordinary_more": 12,
}
"""Files of exemplars, and how many texts are drawn of one family at most: more of them say the same again."""
ORDINARY = frozenset(
    [
        "everyday",
        "services",
        "knowledge",
        "writing",
        "programs",
        "life",
        "ordinary_requests",
        "ordinary_replies",
        "ordinary_services",
        "ordinary_talk",
    ]
)
"""Categories that have nothing to do with harm; the other innocent ones are look-alikes."""
TARGETS = {"harm": 1.0, "look-alike": -0.6, "ordinary": -1.0}


@cache
def exemplars() -> tuple[Exemplar, ...]:
    """All of them: harm, look-alikes, ordinary talk."""
    return tuple(one for name, most in FILES.items() for one in read(CONTENT / f"{name}.txt", most))


def read(path: Path, most: int = 24) -> list[Exemplar]:
    """The exemplars of one file: a line each, or a family of them, under headings `[category severity]`."""
    found, category, severity = [], "", 0.0
    for number, line in enumerate(path.read_text("utf-8").splitlines(), start=1):
        heading = _HEADING.fullmatch(line)
        if heading:
            category, severity = heading[1], float(heading[2] or 0)
        elif line and not line.startswith("#"):
            if not category:
                raise ValueError(f"{path.name}:{number}  a exemplar before the first [category]")
            found += [Exemplar(text, category, severity) for text in expand(line, most)]
    return found
