"""Packing: marks and links as rows of plain data, each written once, and back."""

from __future__ import annotations

from typing import Any

from ...records import moment
from .chain import Link, Seen
from .rows import Mark


class Packer:
    """Numbers marks and links, so that each is written once."""

    def __init__(self) -> None:
        self.marks: list[Any] = []
        self.links: list[Any] = []
        self._numbers: dict[int, int] = {}
        self._held: list[Any] = []

    def mark(self, mark: Mark) -> int:
        """The number of a mark."""
        found = self._numbers.get(id(mark))
        if found is None:
            found = self._numbers[id(mark)] = len(self.marks)
            self._held.append(mark)
            self.marks.append(
                [mark.id, mark.us, mark.seq, dict(mark.readings), dict(mark.scorers), dict(mark.widths)]
            )
        return found

    def seen(self, seen: Seen | None) -> Any:
        """A matched event as plain data."""
        return None if seen is None else [seen.position, self.mark(seen.mark), list(seen.captured)]

    def link(self, link: Link | None) -> int | None:
        """The number of a link; those behind it come first."""
        if link is None:
            return None
        found = self._numbers.get(id(link))
        if found is None:
            before = self.link(link.before)
            last = [None if one is None else list(one) for one in link.last]
            also, fill = [self.seen(one) for one in link.also], [self.seen(one) for one in link.fill]
            self.links.append([self.seen(link.seen), before, last, also, fill])
            self._held.append(link)
            found = self._numbers[id(link)] = len(self.links) - 1
        return found


class Unpacker:
    """The reverse of a packer."""

    def __init__(self, marks: list[Any], links: list[Any]) -> None:
        self.marks = [
            Mark(name, moment(us), us, seq, readings, scorers, widths)
            for name, us, seq, readings, scorers, widths in marks
        ]
        self.links: list[Link] = []
        for seen, before, last, also, fill in links:
            here, behind = self.seen(seen), None if before is None else self.links[before]
            assert here is not None
            self.links.append(
                Link(
                    here,
                    behind,
                    here if behind is None else behind.first,
                    tuple(None if one is None else tuple(one) for one in last),
                    self.seens(also),
                    tuple(self.seen(one) for one in fill),
                )
            )

    def seen(self, data: Any) -> Seen | None:
        """The matched event that was packed."""
        return None if data is None else Seen(data[0], self.marks[data[1]], tuple(data[2]))

    def seens(self, data: list[Any]) -> tuple[Seen, ...]:
        """Several of them."""
        return tuple(seen for one in data if (seen := self.seen(one)) is not None)

    def link(self, number: int | None) -> Link | None:
        """The link under a number."""
        return None if number is None else self.links[number]
