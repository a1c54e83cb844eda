"""Text and CSV files of labels and verdicts, with the line of every row and fault."""

from __future__ import annotations

import csv
import gzip
import io
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from ...errors import BadInput, Fault
from ...ingest import BadLine

BOOLEANS = {"1": True, "true": True, "yes": True, "0": False, "false": False, "no": False}


def read_text(path: Path, max_bytes: int, error: type[BadInput]) -> str:
    """The text of a file, unpacked if it is .gz; raises `error` where it is unreadable or too large."""
    try:
        with gzip.open(path, "rb") if path.suffix == ".gz" else open(path, "rb") as file:
            raw = file.read(max_bytes + 1)
    except (OSError, EOFError) as fault:
        why = getattr(fault, "strerror", None) or fault
        raise error([Fault(str(path), 0, 0, f"cannot be read: {why}")]) from None
    if len(raw) > max_bytes:
        raise error([Fault(str(path), 0, 0, f"is larger than {max_bytes // 2**20} MB: split it")])
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as fault:
        before = fault.object[: fault.start]
        line, column = before.count(b"\n") + 1, len(before) - before.rfind(b"\n")
        raise error([Fault(str(path), line, column, "is not UTF-8: save the file as UTF-8")]) from None


def table_rows(
    text: str, delimiter: str = ",", check_header: Callable[[Sequence[str]], Iterable[str]] | None = None
) -> Iterator[tuple[int, Mapping[str, str] | BadLine]]:
    """Rows by column name with the line each begins on, or what is wrong; blank rows and cells are left out.

    `check_header` yields what is wrong with the column names; then no row is read.
    """
    reader = csv.reader(io.StringIO(text, newline=None), delimiter=delimiter, strict=True)
    header: list[str] | None = None
    while True:
        start = reader.line_num + 1
        try:
            cells = [cell.strip() for cell in next(reader)]
        except StopIteration:
            return
        except csv.Error as error:
            yield start, BadLine(f"not a table: {error}")
            return
        if not any(cells):
            continue
        if header is None:
            header = cells
            wrong = ["a column is named twice"] if len(set(header)) < len(header) else []
            wrong += check_header(header) if check_header else ()
            yield from ((start, BadLine(message)) for message in wrong)
            if wrong:
                return
        elif len(cells) != len(header):
            yield start, BadLine(f"{len(cells)} cells where the header names {len(header)} columns")
        else:
            yield start, {name: cell for name, cell in zip(header, cells, strict=True) if cell}
