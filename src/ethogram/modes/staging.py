"""Staging: files read bit by bit into the store's waiting room, with how far it came after each batch."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, BinaryIO

from ..errors import Fault
from ..ingest.adapter import Record, Skipped
from ..ingest.batch import Place
from ..ingest.collect import NOT_EVENTS, Collector
from ..ingest.errors import BadLine, Unreadable
from ..ingest.faults import Told
from ..ingest.files import Found, Opened, opened
from ..ingest.read import records_of
from ..ingest.readings import Rules
from ..records import Event
from ..stores.protocol import Clashes, Import, Source, Staged, Store
from .private import private_event, private_source

if TYPE_CHECKING:
    from .importing import Options
    from .text_signals import TextSignals

BATCH = 5000
"""Events in one commit to the waiting room."""
Progress = Callable[[int, int], None]
IN_STORE = Place(0, 0, "the store")


class Reader(Collector):
    """A collector that keeps only one batch in memory, and remembers in the store how far it came."""

    def __init__(
        self,
        store: Store,
        of: Import,
        options: Options,
        rules: Rules,
        sources: Mapping[str, Source],
        at: datetime,
        measure: TextSignals | None,
    ) -> None:
        self._keys = options.pseudonyms
        super().__init__(self._named(options.source), rules)
        self.of = of
        self.first_seq: dict[str, int] = dict(of.state.get("next_seq", {}))
        self._store, self._options, self._at, self._measure = store, options, at, measure
        self._names: list[str] = []
        self._done: list[int] = list(of.state.get("done", []))
        self._per_file: Counter[int] = Counter()
        self._doomed = False
        self._begin(sources, of.state)

    # --- reading ----------------------------------------------------------------------------

    def read(self, found: Sequence[Found], stdin: BinaryIO | None, progress: Progress | None) -> None:
        """Stage the events of all files, from where the import stands."""
        self._names = [one.name for one in found]
        total, before = sum(one.size for one in found), 0
        for number, one in enumerate(found):
            self._done += [0] * (number + 1 - len(self._done))
            self._read_file(number, one, stdin, _from(progress, before, total))
            before += one.size
        self._flush()

    def _read_file(
        self, number: int, found: Found, stdin: BinaryIO | None, tell: Callable[[int], None]
    ) -> None:
        place = Place(number, 0, found.name)
        try:
            with opened(found, stdin, self._rules.limits) as file:
                records = records_of(place, found, file, self._rules, self)
                self._read_records(place, records or (), file, tell)
        except OSError as error:
            self.add_fault(place, f"cannot be read: {error.strerror or error}")
        except Unreadable as error:
            self.add_fault(place, str(error))

    def _read_records(
        self, place: Place, records: Iterable[Record], file: Opened, tell: Callable[[int], None]
    ) -> None:
        number, path = place.file, place.path
        passed = self._done[number]
        for count, (line, value, column) in enumerate(records, 1):
            if count <= passed:
                continue
            self._read_record(Place(number, line, path), value, column)
            self._done[number] = count
            if len(self._events) >= self._options.batch:
                self._flush()
                tell(file.handle.tell() if file.handle.seekable() else 0)

    def _read_record(self, place: Place, value: Any, column: int) -> None:
        if isinstance(value, dict):
            self._per_file[place.file] += 1
            try:
                self.add(place, self._with_source(value))
            except BadLine as bad:
                self.add_fault(place, bad.message)
        elif isinstance(value, Skipped):
            self.skipped[str(value)] += 1
        else:
            self.add_bad(place, value, column)

    # --- batches ----------------------------------------------------------------------------

    def _flush(self) -> None:
        """Send what is in memory to the waiting room, with how far this came, in one commit."""
        skip = self._options.skip_bad
        batch = (
            []
            if self._doomed
            else [self._staged(*pair) for pair in zip(self._events, self._places, strict=True)]
        )
        self._events, self._places = [], []
        for state in self._sources.values():
            state.by_id.clear()
        # Once a line is bad nothing will go in: read on, to tell of every bad line at once.
        self._doomed = self._doomed or (bool(self.faults.count) and not skip)
        try:
            self.of, clashes = self._store.stage(
                self.of,
                [] if self._doomed else batch,
                self._state_now(),
                keep_text=self._options.keep_text,
                skip_clashes=skip,
                received_at=self._at,
            )
        except Clashes as error:
            self._doomed, clashes = True, error.found
        for one in clashes:
            other = one.other.removeprefix("at ").partition(":")
            where = f"at {self._names[int(other[0])]}:{other[2]}"
            message = f"the id {one.id!r:.60} has other content {where}"
            self.add_fault(self.place(one.file, one.line), message)

    def _with_source(self, line: dict[str, Any]) -> dict[str, Any]:
        told = line.get("source")
        return {**line, "source": self._named(told)} if isinstance(told, str) and told else line

    def _named(self, source: str) -> str:
        return source if self._keys is None else private_source(source, self._keys)

    def _staged(self, event: Event, place: Place) -> Staged:
        measured = self._measure(event) if self._measure else ()
        if self._keys is not None:
            event = private_event(event, self._keys)
        return Staged(event, place.file, place.line, measured)

    # --- what a later run has to know --------------------------------------------------------

    def _begin(self, sources: Mapping[str, Source], state: Mapping[str, Any]) -> None:
        kinds = {name: dict(one.kinds) for name, one in sources.items()} | state.get("kinds", {})
        for name, known in kinds.items():
            types = {"number": float, "text": str}
            self._state(name).kinds = {signal: (types[kind], IN_STORE) for signal, kind in known.items()}
        for name, seq in {**self.first_seq, **state.get("seq", {})}.items():
            self._state(name).next_seq = seq
        for name, (is_timed, is_untimed) in state.get("timed", {}).items():
            self._state(name).is_timed, self._state(name).is_untimed = is_timed, is_untimed
        self.repeated, self.faults.count = state.get("repeated", 0), state.get("bad", 0)
        # Files that are not of events are met again, and counted then.
        known = {what: n for what, n in state.get("skipped", {}).items() if what != NOT_EVENTS}
        self.skipped.update(known)
        self._per_file.update({int(file): n for file, n in state.get("per_file", {}).items()})
        self._good = self._per_file.total()
        self.faults.first = [(Place(*place), column, text) for place, column, text in state.get("faults", [])]

    def _state_now(self) -> dict[str, Any]:
        return {
            "next_seq": self.first_seq,
            "done": self._done,
            "seq": {name: one.next_seq for name, one in self._sources.items()},
            "timed": {name: (one.is_timed, one.is_untimed) for name, one in self._sources.items()},
            "kinds": self.kinds(),
            "repeated": self.repeated,
            "bad": self.faults.count,
            "skipped": dict(self.skipped),
            "per_file": dict(self._per_file),
            "faults": [(tuple(place), column, text) for place, column, text in self._faults_kept()],
        }

    def _faults_kept(self) -> list[Told]:
        # What is wrong with a line may name a person, whom no file of a private store may.
        return [] if self._options.pseudonyms is not None else self.faults.first

    # --- what came of it --------------------------------------------------------------------

    @property
    def bad_count(self) -> int:
        """How many faults there are."""
        return self.faults.count

    def bad(self) -> tuple[Fault, ...]:
        """The first faults by place."""
        return self.faults.told()

    def add_told(self, fault: Fault) -> None:
        """Count a fault that has its place already."""
        self.add_fault(Place(len(self._names), fault.line, fault.path), fault.message)

    def add_untold(self, count: int) -> None:
        """Count faults that are not kept one by one."""
        self.faults.count += count

    def place(self, file: int, line: int) -> Place:
        """A line of one of the files."""
        return Place(file, line, self._names[file])

    def kinds(self) -> dict[str, dict[str, str]]:
        """Source to signal to 'number' or 'text'."""
        return {
            name: {signal: "number" if kind is float else "text" for signal, (kind, _) in one.kinds.items()}
            for name, one in self._sources.items()
        }

    def counts(self, files: int) -> list[int]:
        """Events per file."""
        return [self._per_file[number] for number in range(files)]

    def untimed(self) -> list[str]:
        """Sources of this import without times."""
        return [name for name, one in self._sources.items() if one.is_untimed and not one.is_timed]


def _from(progress: Progress | None, before: int, total: int) -> Callable[[int], None]:
    """What tells how far a file was read, as bytes of all files."""

    def tell(within: int) -> None:
        if progress is not None:
            progress(before + within, total)

    return tell
