"""ZIP files: the JSON members of one, never more than the limits allow."""

from __future__ import annotations

import io
import zipfile
import zlib
from collections.abc import Callable, Iterator
from typing import Any

from .adapter import Input
from .documents import Broken, one_of
from .errors import BadLine, Unreadable
from .limits import over
from .streams import size_of, too_large, whole
from .strict_json import decode

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
