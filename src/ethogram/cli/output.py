"""How commands write: text, JSON lines, files and a progress bar.

JSON is pure ASCII, so it survives any encoding and holds even what is not valid text. Everything else
may be shown on a terminal, so control characters from the input are spelled out first.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Event, Lock, Thread
from typing import TYPE_CHECKING, Any, Literal, TextIO

from ..errors import BadUsage, EthogramError
from ..models.record import Record, to_json
from ..report.wording import inert

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.progress import Progress as Bar


Writable = Record | tuple[Any, ...] | Mapping[str, Any]
"""What is written as one line of JSON."""
_annotates = False
"""Whether this command writes annotations: its errors are then read by the runner of GitHub as well."""
WIDE = 160
"""Columns of text that is not shown on a terminal."""


class CannotWrite(EthogramError):
    """Output that could not be written: a full disk, a closed stream."""

    exit_code = 1

    def __init__(self, why: str) -> None:
        super().__init__(f"cannot write: {why}")


def make_streams_safe(*, annotates: bool = False) -> None:
    """Write characters that the terminal cannot show as escapes instead of failing.

    Standard error may be closed; a closed standard output is CannotWrite. A command that `annotates` writes
    no errors that the runner of GitHub would obey.
    """
    global _annotates
    _annotates = annotates
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 (for as long as we run)
    if sys.stdout is None:
        raise CannotWrite("standard output is closed")
    for stream in (sys.stdout, sys.stderr):
        if reconfigure := getattr(stream, "reconfigure", None):
            reconfigure(errors="backslashreplace")


def write_line(text: str, *, to: TextIO | None = None) -> None:
    """Write one line, by default to standard output."""
    write_text(text + "\n", to=to)


def write_text(text: str, *, to: TextIO | None = None) -> None:
    """Write a text as it is. CannotWrite where there is no room; BrokenPipeError where the reader left."""
    stream = sys.stdout if to is None else to
    if _annotates and stream is sys.stderr:
        text = inert(text)
    try:
        stream.write(text)
    except BrokenPipeError:
        raise
    except OSError as error:
        raise CannotWrite(error.strerror or str(error)) from error


def flush() -> None:
    """Flush standard output; errors are those of `write_text`."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        raise CannotWrite(error.strerror or str(error)) from error


def drop(stream: TextIO | None) -> None:
    """Discard what is buffered and has no reader, so that the interpreter does not complain at its end."""
    with suppress(OSError, ValueError, AttributeError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())  # type: ignore[union-attr]
        os.close(nowhere)


def write_json(record: Writable, *, to: TextIO | None = None) -> None:
    """Write one record as one line of JSON.

    >>> write_json({"record": "fault", "path": "é"})
    {"record": "fault", "path": "\\u00e9"}
    """
    write_text(json_line(record), to=to)


def json_line(record: Writable) -> str:
    """One record as one line of JSON, with its end."""
    body = record if isinstance(record, dict) else to_json(record)
    return json.dumps(body, ensure_ascii=True, allow_nan=False) + "\n"


def write_lines(lines: Iterable[str]) -> None:
    """Write each line."""
    for line in lines:
        write_line(line)


def emit(records: Iterable[Writable], lines: Iterable[str], *, as_json: bool) -> None:
    """Write the records as JSON, or else the lines; only one of the two is consumed."""
    if as_json:
        for record in records:
            write_json(record)
    else:
        write_lines(lines)


def show(*parts: RenderableType) -> None:
    """Render everything, then write it at once, so that nothing is half written."""
    out = console()
    with out.capture() as captured:
        for part in parts:
            out.print(part)
    write_text("".join(line.rstrip() + "\n" for line in captured.get().splitlines()))


def colours() -> Literal["auto"] | None:
    """The colours rich may use: none where NO_COLOR is set, since bold and dim are codes too."""
    return None if os.environ.get("NO_COLOR") else "auto"


def console() -> Console:
    """A rich console that guesses nothing: no markup, no emoji, no highlighting of what users wrote.

    Colour and bold only on a terminal, and not where NO_COLOR is set; elsewhere a fixed width.
    """
    from rich.console import Console

    width = None if sys.stdout.isatty() else WIDE
    return Console(
        width=width, markup=False, emoji=False, highlight=False, soft_wrap=False, color_system=colours()
    )


# --- files ----------------------------------------------------------------------------------


class Target:
    """A file that a command writes: whole, or it stays as it was. Only its owner may read a new one.

    Links are followed and the file's mode is kept. A pipe or device is written to as it is. A `new` file must
    not exist yet.
    """

    def __init__(self, option: str, path: str, *, inputs: Sequence[str] = (), new: bool = False) -> None:
        self.option, self.path = option, path
        if path == "-":
            raise BadUsage(f"{option}: expected a file; --json writes to standard output")
        self._path = Path(os.path.realpath(path))
        if any(self.is_same(other) for other in inputs if other != "-"):
            raise BadUsage(f"{option}: {path!r:.200} is an input: name another file")
        if self._path.is_dir() or not self._path.parent.is_dir():
            what = "is a folder" if self._path.is_dir() else "is in a folder that does not exist"
            raise BadUsage(f"{option}: {path!r:.200} {what}; name a file")
        if new and os.path.lexists(path):
            raise BadUsage(f"{option}: {path!r:.200} already exists: name a new file")
        if not os.access(self._path if self._path.exists() else self._path.parent, os.W_OK):
            raise BadUsage(f"{option}: {path!r:.200} cannot be written to")

    def is_same(self, other: str) -> bool:
        """Whether another path leads to the same place, or to a folder it is in."""
        place = Path(os.path.realpath(other))
        return place == self._path or (place in self._path.parents and self._path.exists())

    def write(self, pieces: Iterable[str]) -> int:
        """Write all pieces of a text; return how many."""
        from ..files import write_whole

        number = 0

        def counted() -> Iterator[str]:
            nonlocal number
            for number, piece in enumerate(pieces, start=1):  # noqa: B007
                yield piece

        try:
            write_whole(self._path, counted())
        except OSError as error:
            raise BadUsage(
                f"{self.option}: {self.path!r:.200} cannot be written: {error.strerror or error}"
            ) from None
        return number


# --- progress -------------------------------------------------------------------------------

PATIENCE = 2.0
"""Seconds before a bar is shown."""


class Progress:
    """A bar on standard error: bytes read, then a pulse while events are checked.

    It appears only on a terminal, and only once something has taken a while.
    """

    def __init__(self, *, shown: bool | None = None, patience: float = PATIENCE) -> None:
        self._shown = sys.stderr.isatty() if shown is None else shown
        self._patience = patience
        self._start = time.monotonic()
        self._bar: Bar | None = None
        self._task: Any = None
        self._lock = Lock()

    def read(self, done: int, total: int) -> None:
        """So many bytes of so many were read."""
        self.count(done, total, "reading", amount=True)

    def count(self, done: int, total: int, what: str, *, amount: bool = False) -> None:
        """So many of so many are done; `what` says more. A total of 0 is one that is not known."""
        if not self._shown or time.monotonic() - self._start < self._patience:
            return
        with self._lock:
            if self._bar is None:
                self._open(what, total or None, amount=amount)
            assert self._bar is not None
            self._bar.update(self._task, completed=done, total=total or None, description=what)

    @contextmanager
    def checking(self, what: str) -> Iterator[None]:
        """A moving bar while the block runs, from the moment patience ends."""
        if not self._shown:
            yield
            return
        over = Event()
        Thread(target=self._open_late, args=(what, over), daemon=True).start()
        try:
            yield
        finally:
            with self._lock:
                over.set()
            self.stop()

    def stop(self) -> None:
        """Take the bar away, so that nothing of it is left on the screen."""
        bar, self._bar = self._bar, None
        if bar is not None:
            bar.stop()

    def _open_late(self, what: str, over: Event) -> None:
        if over.wait(max(0.0, self._patience - (time.monotonic() - self._start))):
            return
        # The work may end right now: then no bar must be opened after it was to be taken away.
        with self._lock:
            if not over.is_set() and self._bar is None:
                self._open(what, None)

    def _open(self, what: str, total: int | None, *, amount: bool = False) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, DownloadColumn, TextColumn, TimeElapsedColumn
        from rich.progress import Progress as Bar

        bytes_read = [DownloadColumn()] if total and amount else []
        columns = [TextColumn("{task.description}"), BarColumn(), *bytes_read, TimeElapsedColumn()]
        console = Console(stderr=True, markup=False, color_system=colours())
        bar = Bar(*columns, console=console, transient=True)
        self._task = bar.add_task(what, total=total)
        bar.start()
        self._bar = bar
