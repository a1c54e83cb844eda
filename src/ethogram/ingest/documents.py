"""Documents: JSON that holds whole runs, as one object, an array, lines, or members of a ZIP."""

from __future__ import annotations

import io
import zipfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, TypeVar

from ..models.limits import over
from .errors import BadLine, Unreadable, type_name
from .format import Input
from .formats.json_array import elements, place_of
from .streams import BLANK, BOM, after_blanks, decode, lines, parse_at, size_of, too_large, whole

# Documents: JSON that holds whole runs, as one object, as an array, or as lines of either.
#
# Other programs write it, so it is read more leniently than event lines are: a NaN becomes null.

Told = tuple[int, Any, int]
"""(line, a value, 0), or (line, a Broken, column)."""
T = TypeVar("T")


_KINDS = {"dict": "an object", "list": "a list", "str": "text"}


class Broken(str):
    """In place of a value: what is wrong with that line."""

    __slots__ = ()


def documents(file: Input) -> Iterator[Told]:
    """Each value of a file: each element of an array, each line, or each object spread over lines.

    A run is held in memory whole, so the limit of one is `whole`, on a line as well as in a file.
    """
    start = file.head.removeprefix(BOM).lstrip()
    if start.startswith(b"[") and not (_next_line(start).startswith(b"[") and _is_line(start)):
        yield from _document(file, _array)
    elif start.startswith(b"{") and b"\n" in start.rstrip() and not _is_line(start):
        yield from _document(file, _objects)
    else:
        yield from _lines(file)


def _next_line(start: bytes) -> bytes:
    return start.partition(b"\n")[2].lstrip()


def _is_line(start: bytes) -> bool:
    """Whether the first line is a value of its own."""
    try:
        one_of(decode(start.partition(b"\n")[0]))
    except BadLine:
        return False
    return True


def one_of(text: str) -> Any:
    """The one value a text holds; BadLine where it is not JSON.

    >>> one_of('{"a": NaN} ')
    {'a': None}
    """
    value, end = parse_at(text, 0, lenient=True)
    if (rest := after_blanks(text, end)) != len(text):
        raise BadLine("not JSON: something stands after its end", rest + 1)
    return value


def _lines(file: Input) -> Iterator[Told]:
    for number, raw in lines(file.stream, replace(file.limits, line=file.limits.whole)):
        if isinstance(raw, str):
            yield number, Broken(raw), 0
            continue
        line = (raw.removeprefix(BOM) if number == 1 else raw).strip(BLANK.encode())
        if not line:
            continue
        try:
            yield number, one_of(decode(line)), 0
        except BadLine as bad:
            yield number, Broken(bad.message), bad.column


def _document(file: Input, read: Callable[[str], Iterator[Told]]) -> Iterator[Told]:
    raw = whole(file.stream, file.limits).removeprefix(BOM)
    try:
        text = decode(raw)
    except BadLine as bad:
        yield raw.count(b"\n", 0, bad.column) + 1, Broken(bad.message), 0
        return
    yield from read(text)


def _array(text: str) -> Iterator[Told]:
    line, counted = 1, 0
    try:
        for start, value, _ in elements(text, lenient=True):
            line, counted = line + text.count("\n", counted, start), start
            yield line, value, 0
    except BadLine as bad:
        line, column = place_of(text, bad.column) if bad.column else (line, 0)
        yield line, Broken(f"{bad.message}; the rest of the file was not read"), column


def _objects(text: str) -> Iterator[Told]:
    """One object or, as exporters write them to a console, one after the other."""
    line, counted, at = 1, 0, after_blanks(text, 0)
    while at < len(text):
        line, counted = line + text.count("\n", counted, at), at
        try:
            value, end = parse_at(text, at, lenient=True)
        except BadLine as bad:
            line, column = place_of(text, bad.column) if bad.column else (line, 0)
            yield line, Broken(bad.message), column
            return
        yield line, value, 0
        at = after_blanks(text, end)


def need(value: Any, kind: type[T], what: str) -> T:
    """The value, if it is of this kind; BadLine says what it is instead.

    >>> need({"a": 1}, dict, "a step")
    {'a': 1}
    """
    if isinstance(value, kind):
        return value
    wanted = _KINDS.get(kind.__name__, kind.__name__)
    raise BadLine(f"{what} must be {wanted}, not {type_name(value)}")


def dict_of(value: Any) -> dict[str, Any]:
    """The value where it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}


def list_of(value: Any) -> list[Any]:
    """The value where it is a list, else an empty one."""
    return value if isinstance(value, list) else []


def text_at(value: Any, *keys: str) -> str | None:
    """The first of these keys of an object that holds text which is not empty.

    >>> text_at({"a": "", "b": 1, "c": "x"}, "a", "b", "c")
    'x'
    """
    record = dict_of(value)
    return next((item for key in keys if isinstance(item := record.get(key), str) and item), None)


# ZIP files: the JSON members of one, never more than the limits allow.

ZIP = b"PK\x03\x04"
MOST_MEMBERS = 100_000
ZSTANDARD = 93
HEADER = 30
"""Bytes before the name in the header of a member."""


def members(file: Input, wanted: Callable[[str], bool]) -> Iterator[tuple[str, Any]]:
    """Name and value of each JSON member that is wanted, in the order of the file."""
    stream = file.stream if file.stream.seekable() else io.BytesIO(whole(file.stream, file.limits))
    try:
        packed = zipfile.ZipFile(stream)
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError) as error:
        raise Unreadable(f"not a whole ZIP file: {error}") from None
    with packed:
        infos = packed.infolist()
        if len(infos) > MOST_MEMBERS:
            raise Unreadable(f"the ZIP file has more than {MOST_MEMBERS:,} members")
        size = size_of(stream)
        left = file.limits.most_unpacked(size)
        for info in infos:
            if not wanted(info.filename):
                continue
            # No more is unpacked than a member says that it holds, so that is what counts.
            left -= info.file_size
            if left < 0 or info.file_size > file.limits.most_unpacked(info.compress_size):
                raise Unreadable(too_large(file.limits, size))
            yield info.filename, _member(packed, info, file)


def _member(packed: zipfile.ZipFile, info: zipfile.ZipInfo, file: Input) -> Any:
    if info.file_size > (size := file.limits.whole):
        return Broken(over("whole", size, f"larger than {size} bytes"))
    try:
        return one_of(decode(_unpacked(packed, info)))
    except BadLine as bad:
        return Broken(bad.message)
    except (zipfile.BadZipFile, zlib.error, OSError, EOFError, RuntimeError, ValueError) as error:
        return Broken(f"cannot be unpacked: {error}")


def _unpacked(packed: zipfile.ZipFile, info: zipfile.ZipInfo) -> bytes:
    """The bytes of a member. Zstandard, which Inspect writes, is known to zipfile from Python 3.14 on."""
    if info.compress_type != ZSTANDARD or hasattr(zipfile, "ZIP_ZSTANDARD"):
        return packed.read(info)
    try:
        import pyarrow
    except ImportError:
        raise NotImplementedError(
            "it is compressed with Zstandard; pip install 'ethogram[parquet]' brings what reads it"
        ) from None
    stream = packed.fp
    if stream is None or info.flag_bits & 1:
        raise NotImplementedError("it is encrypted")
    stream.seek(info.header_offset)
    header = stream.read(HEADER)
    stream.seek(int.from_bytes(header[26:28], "little") + int.from_bytes(header[28:30], "little"), 1)
    raw = pyarrow.py_buffer(stream.read(info.compress_size))
    with pyarrow.CompressedInputStream(pyarrow.BufferReader(raw), "zstd") as unpacking:
        found: bytes = unpacking.read(info.file_size + 1)
    if len(found) != info.file_size or zlib.crc32(found) != info.CRC:
        raise zipfile.BadZipFile("its content is not what the file says")
    return found
