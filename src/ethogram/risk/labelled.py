"""Labelled: things whose truth somebody else told, with what a pattern made of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Labelled:
    """A conversation, run, event or stretch: whether it is a target, whether it was marked, and how strongly.

    `score` orders all of them (0 where nothing was found). `group` is whose it is: what one subject or
    source does is alike, so intervals go by groups. `trivial` are numbers anybody could have had, such as
    the length.
    """

    id: str
    true: bool
    fired: bool
    score: float = 0.0
    group: str = ""
    trivial: Mapping[str, float] = field(default_factory=dict)

    @property
    def cluster(self) -> str:
        """The group, or the thing itself where it has none."""
        return self.group or f"\0{self.id}"


def clusters(items: Iterable[Labelled]) -> list[int]:
    """The number of each item's cluster, from 0."""
    known: dict[str, int] = {}
    return [known.setdefault(one.cluster, len(known)) for one in items]
