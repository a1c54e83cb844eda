"""Save and load the state of the live engine as plain JSON data."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...language.program import Program
from ...models import moment, stable_hash
from .buffer import Kept, Layout, Mark, Rows
from .engine import Stream
from .groups import Key, Track, Watched
from .sequence import Fill, Link, Seen, SequenceState
from .silence import Read, SilenceState
from .threshold import Open, ThresholdState

# Packing: marks and links as rows of plain data, each written once, and back.


class Packer:
    """Numbers marks and links, so that each is written once."""

    def __init__(self) -> None:
        self.marks: list[Any] = []
        self.links: list[Any] = []
        self._numbers: dict[int, int] = {}
        self._held: list[Any] = []

    def mark(self, mark: Mark) -> int:
        """The number of a mark."""
        number = self._numbers.get(id(mark))
        if number is None:
            number = self._numbers[id(mark)] = len(self.marks)
            self._held.append(mark)
            self.marks.append(
                [mark.id, mark.us, mark.seq, dict(mark.readings), dict(mark.scorers), dict(mark.widths)]
            )
        return number

    def seen(self, seen: Seen | None) -> Any:
        """A matched event as plain data."""
        return None if seen is None else [seen.position, self.mark(seen.mark), list(seen.captured)]

    def link(self, link: Link | None) -> int | None:
        """The number of a link; those behind it come first."""
        if link is None:
            return None
        number = self._numbers.get(id(link))
        if number is None:
            before = self.link(link.before)
            last = [None if item is None else list(item) for item in link.last]
            also, fill = [self.seen(item) for item in link.also], [self.seen(item) for item in link.fill]
            self.links.append([self.seen(link.seen), before, last, also, fill])
            self._held.append(link)
            number = self._numbers[id(link)] = len(self.links) - 1
        return number


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
                    tuple(None if item is None else tuple(item) for item in last),
                    self.seens(also),
                    tuple(self.seen(item) for item in fill),
                )
            )

    def seen(self, data: Any) -> Seen | None:
        """The matched event that was packed."""
        return None if data is None else Seen(data[0], self.marks[data[1]], tuple(data[2]))

    def seens(self, data: list[Any]) -> tuple[Seen, ...]:
        """Several of them."""
        return tuple(seen for datum in data if (seen := self.seen(datum)) is not None)

    def link(self, number: int | None) -> Link | None:
        """The link under a number."""
        return None if number is None else self.links[number]


# Saving what a program remembers of one history: its rows and its state, and back.


def save_rows(rows: Rows, layout: Layout, packer: Packer) -> list[Any]:
    """The rows that windows may still look at."""
    need = layout.need

    def newest(values: list[Any]) -> list[Any]:
        return values[-need:] if need else []

    kept = [
        [[item.position, item.us, item.value, packer.mark(item.mark)] for item in ones[-most:]]
        for ones, most in zip(rows.kept, layout.keeps, strict=True)
    ]
    marks = [packer.mark(mark) for mark in newest(rows.marks)]
    columns = [newest(column) for column in rows.columns]
    return [rows.timed, rows.n, rows.us, rows.first, newest(rows.times), marks, columns, kept]


def load_rows(data: list[Any], layout: Layout, unpacker: Unpacker, whole: Rows | None = None) -> Rows:
    """The rows that were saved."""
    timed, n, us, first, times, marks, columns, kept = data
    rows = Rows(timed, layout.columns, len(layout.keeps), whole)
    rows.n, rows.us, rows.first, rows.times = n, us, first, list(times)
    rows.marks = [unpacker.marks[number] for number in marks]
    rows.columns = [list(column) for column in columns]
    rows.kept = [[Kept(p, t, value, unpacker.marks[m]) for p, t, value, m in ones] for ones in kept]
    return rows


def save_state(track: Track, watched: Watched, packer: Packer) -> list[Any]:
    """What a program remembers of a history, its rows apart."""
    state = watched.state
    match state:
        case SequenceState():
            fills = [[[packer.seen(s) for s in fill] for fill in gap] for gap in state.fills]
            runs = [[packer.seen(s) for s in run] for run in state.runs]
            standing = [packer.link(link) for link in state.standing]
            return [standing, state.blocked, runs, fills, state.fired, state.known]
        case ThresholdState():
            item = state.open
            if item is None:
                return [None, state.known]
            marks = [
                packer.mark(item.opened),
                packer.mark(item.peak),
                [packer.mark(m) for m in item.evidence],
            ]
            rest = [item.fired_confidence, item.confidence, item.severity, item.peak_confidence, item.details]
            return [[*marks, *rest, item.explanation, item.last, item.count, item.last_at], state.known]
        case SilenceState():
            read = None
            track.machine.settle(state, watched.rows)
            if state.deadline is not None:
                # Read now: after loading there is no event to read it from.
                subject = str(watched.key[1 + track.subject])
                told = track.machine.read(state, watched.rows, subject)
                read = [told.severity, told.confidence, told.details, told.explanation]
            before = None if state.before is None else packer.mark(state.before)
            return [before, state.deadline, state.is_open, read, state.asked, state.known]
    raise TypeError(f"no state: {state!r}")


def load_state(state: Any, data: list[Any], unpacker: Unpacker) -> None:
    """Make a new state remember what was saved."""
    match state:
        case SequenceState():
            standing, state.blocked, runs, fills, state.fired, state.known = data
            state.standing = [unpacker.link(number) for number in standing]
            state.runs = [unpacker.seens(run) for run in runs]
            state.fills = [[_fill(fill, unpacker) for fill in gap] for gap in fills]
        case ThresholdState():
            item, state.known = data
            if item is not None:
                opened, peak, evidence, fired, highest, severity, at_peak, details, text, last, count, *at = (
                    item
                )
                marks = unpacker.marks
                # Saved before the time was kept: the peak is the newest that is known.
                last_at = at[0] if at else marks[peak].us
                counted = tuple(marks[number] for number in evidence)
                state.open = Open(
                    marks[opened],
                    counted,
                    fired,
                    highest,
                    severity,
                    marks[peak],
                    at_peak,
                    details,
                    text,
                    last,
                    last_at,
                    count,
                )
        case SilenceState():
            before, state.deadline, state.is_open, read, state.asked, state.known = data
            state.before = None if before is None else unpacker.marks[before]
            state.read = None if read is None else Read(*read)


def _fill(data: list[Any], unpacker: Unpacker) -> Fill:
    return tuple(unpacker.seen(datum) for datum in data)


# Saving a stream: everything it remembers as plain JSON data, and back.


def version_of(program: Program) -> str:
    """What must be the same for saved state to be of use: all of the program, its wording too."""
    return stable_hash("state", program.version, program.to_json())[:20]


def save_stream(stream: Stream) -> dict[str, Any]:
    """Everything a stream remembers."""
    packer, tracks = Packer(), {}
    stream.cells.write_all()
    for track in stream.tracks:
        layout, whole = track.plan.layout, track.plan.whole_layout
        watched = [
            [list(key), save_rows(item.rows, layout, packer), save_state(track, item, packer)]
            for key, item in track.watched.items()
        ]
        wholes = [
            [list(name), save_rows(rows, whole, packer)]
            for name, rows in track.wholes.items()
            if whole is not None
        ]
        version = version_of(track.program)
        tracks[track.program.name] = {"version": version, "watched": watched, "wholes": wholes}
    return {"tracks": tracks, "marks": packer.marks, "links": packer.links}


def load_stream(stream: Stream, saved: Mapping[str, Any]) -> list[str]:
    """Remember what was saved; the names of programs whose state was of no use, being of other versions."""
    unpacker, lost = Unpacker(saved["marks"], saved["links"]), []
    for track in stream.tracks:
        data = saved["tracks"].get(track.program.name)
        if data is None:
            continue
        if data["version"] != version_of(track.program):
            lost.append(track.program.name)
            continue
        whole = track.plan.whole_layout
        for name, rows in data["wholes"]:
            if whole is not None:
                track.wholes[(name[0], name[1])] = load_rows(rows, whole, unpacker)
        for key, rows, state in data["watched"]:
            stream.put(track, _watched(track, tuple(key), rows, state, unpacker))
    return lost


def _watched(track: Track, key: Key, rows: list[Any], state: list[Any], unpacker: Unpacker) -> Watched:
    whole = track.wholes.get((key[0], str(key[1 + track.subject])))
    watched = Watched(key, load_rows(rows, track.plan.layout, unpacker, whole), track.machine.start())
    load_state(watched.state, state, unpacker)
    return watched
