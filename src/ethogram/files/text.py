"""Text files, read within a bound, with the place of what is not UTF-8."""

from __future__ import annotations

import os

from ..errors import BadInput, Fault


def read_text(path: str | os.PathLike[str], most: int, error: type[BadInput]) -> str:
    """The text of a file, unpacked where its name ends in .gz.

    Raises `error` where it cannot be read, has more than `most` bytes or is not UTF-8.
    """
    name = os.fspath(path)
    opener = open
    if name.endswith(".gz"):
        from gzip import open as opener  # type: ignore[assignment]
    try:
        with opener(name, "rb") as file:
            data: bytes = file.read(most + 1)
    except (OSError, EOFError, ValueError) as fault:
        why = getattr(fault, "strerror", None) or fault
        raise error([Fault(name, 0, 0, f"cannot be read: {why}")]) from None
    if len(data) > most:
        size = f"{most // 1024} KB" if most < 2**20 else f"{most // 2**20} MB"
        raise error([Fault(name, 1, 1, f"is larger than {size}; split it")])
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as fault:
        before = data[: fault.start]
        line, column = before.count(b"\n") + 1, len(before) - before.rfind(b"\n")
        raise error([Fault(name, line, column, "is not UTF-8; save the file as UTF-8")]) from None
