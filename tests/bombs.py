"""Small files that unpack to a great deal of nothing: what an attacker sends to a service that reads logs."""

from __future__ import annotations

import gzip
import io
import struct
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

MB = 2**20
SIZE = 100 * MB
"""Of most bombs: more than a file may unpack to whatever its own size."""
Write = Callable[[Path], Path]


def packed(unit: bytes, size: int, first: bytes = b"", last: bytes = b"") -> bytes:
    """A gzip of `first`, then about `size` bytes of a unit again and again, then `last`; quick to make."""
    piece = unit * max(1, MB // len(unit))
    count = size // len(piece)
    head, middle, tail = _deflated(first), _deflated(piece), _deflated(last, zlib.Z_FINISH)
    crc = zlib.crc32(first)
    for _ in range(count):
        crc = zlib.crc32(piece, crc)
    length = len(first) + count * len(piece) + len(last)
    end = struct.pack("<2L", zlib.crc32(last, crc), length % 2**32)
    return b"".join([b"\x1f\x8b\x08" + bytes(7), head, *[middle] * count, tail, end])


def _deflated(data: bytes, end: int = zlib.Z_FULL_FLUSH) -> bytes:
    """A part of a stream that says nothing of those before it, so that it can stand there many times."""
    pack = zlib.compressobj(9, wbits=-15)
    return pack.compress(data) + pack.flush(end)


def _gzip(name: str, unit: bytes, size: int, first: bytes = b"", last: bytes = b"") -> Write:
    def write(folder: Path) -> Path:
        path = folder / name
        path.write_bytes(packed(unit, size, first, last))
        return path

    return write


def _parquet(columns: Callable[[int], dict[str, Any]], rows: int) -> Write:
    def write(folder: Path) -> Path:
        import pyarrow
        import pyarrow.parquet

        path = folder / "events.parquet"
        pyarrow.parquet.write_table(pyarrow.table(columns(rows)), path, compression="zstd")
        return path

    return write


def _no_subject(rows: int) -> dict[str, Any]:
    import pyarrow

    return {"subject": pyarrow.nulls(rows, pyarrow.string()), "text": pyarrow.array(["x"] * rows)}


def _same(rows: int) -> dict[str, Any]:
    return {"subject": ["ann"] * rows}


def _long_text(rows: int) -> dict[str, Any]:
    import pyarrow

    text = pyarrow.array(["x" * MB])
    indices = pyarrow.array([0] * rows, pyarrow.int32())
    return {
        "subject": pyarrow.DictionaryArray.from_arrays(indices, pyarrow.array(["ann"])),
        "text": pyarrow.DictionaryArray.from_arrays(indices, text),
    }


def _nested_text(rows: int) -> dict[str, Any]:
    import pyarrow

    text = pyarrow.array(["x" * MB])
    indices = pyarrow.array([0] * rows, pyarrow.int32())
    notes = pyarrow.DictionaryArray.from_arrays(indices, text).cast(pyarrow.large_string())
    return {"subject": ["ann"] * rows, "attributes": pyarrow.StructArray.from_arrays([notes], ["note"])}


def _wide(columns: int) -> Write:
    def write(folder: Path) -> Path:
        path = folder / "wide.csv"
        path.write_text("subject," + ",".join(f"manipul{k}" for k in range(columns)) + "\nann\n")
        return path

    return write


def _zip(folder: Path) -> Path:
    """An Inspect log whose one sample is nothing but blanks."""
    path, out = folder / "log.eval", io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as made:
        made.writestr("header.json", '{"version": 2, "status": "success", "eval": {"task": "t"}}')
        for k in range(3):
            made.writestr(f"samples/{k}_epoch_1.json", b" " * (100 * MB))
    path.write_bytes(out.getvalue())
    return path


BAD_TURNS = b'{"conversation_id": "c", "turns": [{"speaker": "a", "text": "b"}' + b", 1" * 300_000 + b"]}\n"
RUN = b'{"run_id": "r", "steps": [{"actor": "agent", "kind": "message", "text": "hi"}]}\n'
BOMBS: dict[str, Write] = {
    "blank lines": _gzip("a.jsonl.gz", b"\n", SIZE, b'{"subject": "ann"}\n'),
    "nothing but blank lines": _gzip("a.jsonl.gz", b"\n", SIZE),
    "lines of blanks": _gzip("a.jsonl.gz", b" \r\n", SIZE, b'{"subject": "ann"}\n'),
    "lines that are no JSON": _gzip("a.jsonl.gz", b"x\n", SIZE, b'{"subject": "ann"}\n'),
    "lines without a subject": _gzip("a.jsonl.gz", b"{}\n", SIZE, b'{"subject": "ann"}\n'),
    "an object over many lines": _gzip("a.jsonl.gz", b"\t1\n", SIZE, b"{\n"),
    "one long line": _gzip("a.jsonl.gz", b"x", SIZE, b'{"subject": "ann"}\n'),
    "long lines": _gzip("a.jsonl.gz", b"[" * 999_000 + b"\n", SIZE, b'{"subject": "ann"}\n'),
    "a list of numbers": _gzip("a.json.gz", b"1,", SIZE, b'[{"subject": "ann"},', b"1]"),
    "a list of blanks": _gzip("a.json.gz", b" \n", SIZE, b'[{"subject": "ann"},', b"1]"),
    "blank rows": _gzip("a.csv.gz", b"\n", SIZE, b"subject,risk\nann,1\n"),
    "short rows": _gzip("a.csv.gz", b"x\n", SIZE, b"subject,risk\nann,1\n"),
    "one open quote": _gzip("a.csv.gz", b"x\n", SIZE, b'subject,text\nann,"'),
    "turns that are none": _gzip("a.jsonl.gz", BAD_TURNS, SIZE),
    "runs with blank lines": _gzip("a.jsonl.gz", b"\n", SIZE, RUN),
    "runs that are none": _gzip("a.jsonl.gz", b"1\n", SIZE, RUN),
    "one event again and again": _gzip("a.jsonl.gz", b'{"subject": "ann", "id": "a"}\n', SIZE),
    "events without end": _gzip("a.jsonl.gz", b'{"subject": "ann"}\n', SIZE),
    "many members": lambda folder: _members(folder),
    "Parquet without subjects": _parquet(_no_subject, 3_000_000),
    "Parquet of one row again and again": _parquet(_same, 4_900_000),
    "Parquet of one long text": _parquet(_long_text, 20_000),
    "Parquet of one long nested text": _parquet(_nested_text, 300),
    "a header of too many columns": _wide(80_000),
    "a header of many columns": _wide(1_900),
    "a ZIP of blanks": _zip,
}
"""What each is, and what writes it into a folder."""


def _members(folder: Path) -> Path:
    path = folder / "a.jsonl.gz"
    path.write_bytes(gzip.compress(b'{"subject": "ann"}\n') + gzip.compress(b"") * 400_000)
    return path
