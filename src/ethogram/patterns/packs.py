"""Packs: pattern files that somebody else wrote, in a folder or an archive, with a lock.

A pack is data: pattern files, `patterns.lock.json`, and perhaps a README and a licence. Anything else is
refused, so a pack cannot bring code, links or files outside its own folder. All of it is read into memory
within bounds, checked, and only then written.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import os
import re
import shutil
import stat
import tarfile
import zipfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any

from ..config.trust import is_pattern_name, pattern_files
from ..errors import BadPattern, BadUsage, Fault
from ..fields import Count, Name, RecordStruct
from ..files import write_whole
from ..language.vocabulary import Vocabulary
from . import library
from .library import load_patterns
from .listing import LockChange
from .lock import FILE as LOCK
from .lock import changes, hashes_of, read_lock

RECORD = "pack.json"
"""The file that says which pack a folder is."""
FORMAT = 1
MAX_ARCHIVE = 16 * 2**20
MAX_FILES = 500
MAX_FILE = 128 * 1024
"""Bytes of a file; a pattern file may not be larger anyway."""
MAX_TOTAL = 8 * 2**20
MAX_DEPTH = 4
WORDS = ("README.md", "LICENSE", "LICENSE.md", "LICENSE.txt")
"""Files of a pack that are not read."""
ARCHIVES = (".zip", ".tar", ".tar.gz", ".tgz")
_PART = re.compile(r"[A-Za-z0-9_][A-Za-z0-9 _.-]{0,99}")
_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")

Files = Mapping[str, bytes]
"""Path in the pack, with slashes -> content."""


class Pack(RecordStruct):
    """An installed pack, and what changed with it."""

    RECORD = "pack"

    name: Name
    path: str
    digest: str
    """SHA-256 of its files."""
    patterns: Count
    changes: list[LockChange]
    """What differs from the pack that was there before; all patterns are new where there was none."""


def install(
    source: Path, folder: Path, vocabulary: Vocabulary, *, name: str = "", replace: bool = False
) -> Pack:
    """Copy a pack into its own folder below `folder`; BadPattern carries every fault, and nothing is written.

    The same pack again is no change. Without `replace`, another one of the name is refused, and one whose
    files somebody changed.
    """
    files = without_top(read_folder(source) if source.is_dir() else read_archive(source))
    name = name or _name_of(source)
    if not _NAME.fullmatch(name):
        raise BadUsage(f"invalid name of a pack {name!r:.80}: expected a-z, 0-9, _ and -; set --name")
    faults = [Fault(f"{source}/{path}", 0, 0, why) for path in sorted(files) if (why := _refused(path))]
    if LOCK not in files:
        faults.append(
            Fault(str(source), 0, 0, f"has no {LOCK}: its author makes it with `patterns lock --folder`")
        )
    if faults:
        raise BadPattern(faults)
    target = folder / name
    before = read_pack(target)
    if before is None and target.exists():
        raise BadUsage(f"{target} exists and is not a pack ({_no_pack(target)}): set --folder or --name")
    if before is not None and before["digest"] != digest_of(files) and not replace:
        raise BadUsage(
            f"another version of the pack {name} is installed: --replace puts this one in its place"
        )
    if before is not None and not replace and (edited := _edited(target, before)):
        names = ", ".join(edited[:10]) + (f" and {len(edited) - 10} more" if len(edited) > 10 else "")
        raise BadUsage(f"the pack {name} was changed in {target}: {names}; --replace discards the changes")
    if before is not None and (others := _others(target, before)):
        raise BadUsage(f"{others[0]} does not belong to the pack {name}: move it before replacing the pack")
    old = (read_lock(target / LOCK) or {}) if before is not None else {}
    draft = folder / f".{name}.{os.urandom(4).hex()}.part"
    try:
        _write(draft, files, name, source.name)
        new = _checked(draft, folder, target, vocabulary)
        if before is not None:
            remove(target)
        draft.rename(target)
    finally:
        shutil.rmtree(draft, ignore_errors=True)
    return Pack(
        name=name, path=str(target), digest=digest_of(files), patterns=len(new), changes=changes(old, new)
    )


def _others(target: Path, record: Mapping[str, Any]) -> list[Path]:
    """Files in the folder of a pack that somebody else put there."""
    own = {target / path for path in (*record["files"], RECORD)}
    return [
        path
        for path in sorted(target.rglob("*"))
        if path not in own and (path.is_symlink() or not path.is_dir())
    ]


def _edited(target: Path, record: Mapping[str, Any]) -> list[str]:
    """The files of a pack that changed since it was installed, or are gone."""
    return [path for path, digest in record["files"].items() if _hash(target / path) != digest]


def _hash(path: Path) -> str:
    """SHA-256 of a file; '' where it is none."""
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""


def _no_pack(target: Path) -> str:
    return f"its {RECORD} is damaged" if (target / RECORD).exists() else f"it has no {RECORD}"


def remove(target: Path) -> int:
    """Remove the files that a pack brought, and folders that are empty then; how many patterns it had.

    BadUsage where the folder is not a pack. Files that somebody added stay.
    """
    record = read_pack(target)
    if record is None:
        raise BadUsage(f"{target} is not an installed pack ({_no_pack(target)})")
    for path in (*record["files"], RECORD):
        (target / path).unlink(missing_ok=True)
    below = sorted(
        (path for path in target.rglob("*") if path.is_dir() and not path.is_symlink()), reverse=True
    )
    for path in (*below, target):
        if not any(path.iterdir()):
            path.rmdir()
    return sum(is_pattern_name(PurePosixPath(path).name) for path in record["files"])


def origin_of(path: Path) -> str | None:
    """The pack that a pattern file belongs to, and whether it changed since; None for other files.

    'acme', 'acme (changed)', or 'acme (incomplete)' where another file of the pack is gone.
    """
    for folder in list(path.parents)[: MAX_DEPTH + 1]:
        record = read_pack(folder)
        if record is not None:
            own = record["files"].get(path.relative_to(folder).as_posix())
            if own is None or own != _hash(path):
                return f"{record['name']} (changed)"
            whole = all((folder / other).exists() for other in record["files"])
            return str(record["name"]) if whole else f"{record['name']} (incomplete)"
    return None


def read_pack(folder: Path) -> Mapping[str, Any] | None:
    """The record of an installed pack; None where the folder is none. A link is none."""
    if folder.is_symlink() or not (folder / RECORD).is_file():
        return None
    try:
        with open(folder / RECORD, "rb") as file:
            record = json.loads(file.read(MAX_TOTAL))
    except (OSError, ValueError, RecursionError):
        return None
    is_pack = (
        isinstance(record, dict) and record.get("format") == FORMAT and isinstance(record.get("name"), str)
    )
    if not is_pack or not isinstance(record.get("files"), dict):
        return None
    # A record that somebody wrote by hand must not lead out of the folder.
    return record if not any(_refused(path) for path in record["files"]) else None


def digest_of(files: Files) -> str:
    """SHA-256 of names and contents; order and packing make no difference."""
    lines = [f"{hashlib.sha256(files[path]).hexdigest()}  {path}\n" for path in sorted(files)]
    return hashlib.sha256("".join(lines).encode()).hexdigest()


def _write(draft: Path, files: Files, name: str, source: str) -> None:
    for path, content in files.items():
        place = draft / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content)
    hashes = {path: hashlib.sha256(files[path]).hexdigest() for path in sorted(files)}
    record = {"format": FORMAT, "name": name, "from": source, "digest": digest_of(files), "files": hashes}
    write_whole(draft / RECORD, [json.dumps(record, indent=2) + "\n"], mode=0o666)


def _checked(
    draft: Path, folder: Path, target: Path, vocabulary: Vocabulary
) -> Mapping[str, Mapping[str, str]]:
    """The hashes of the pack's patterns, which load, keep to their lock and take nobody's name."""
    places = pattern_files(draft)
    if not places:
        raise BadPattern([Fault(str(target), 0, 0, "has no pattern files (*.yaml)")])
    taken = {path.stem: "the library" for path in pattern_files(library.SHIPPED)}
    for path in pattern_files(folder) if folder.is_dir() else ():
        if not path.is_relative_to(target):
            taken[path.stem] = str(path)
    faults = [
        Fault(_in_target(path, draft, target), 0, 0, f"pattern {path.stem!r} is also in {taken[path.stem]}")
        for path in places
        if path.stem in taken
    ]
    if faults:
        raise BadPattern(faults)
    try:
        loaded = load_patterns([draft], vocabulary=vocabulary, any_status=True)
        locked = read_lock(draft / LOCK) or {}
    except BadPattern as error:
        moved = [
            Fault(_in_target(Path(fault.path), draft, target), fault.line, fault.column, fault.message)
            for fault in error.faults
        ]
        raise BadPattern(moved, more=error.more) from None
    own = hashes_of(loaded.files[path.stem] for path in places)
    if different := changes(locked, own):
        why = "the lock of the pack does not fit its patterns"
        raise BadPattern(
            Fault(str(target / LOCK), 0, 0, f"{item.pattern}: {item.change}; {why}") for item in different
        )
    return own


def _in_target(path: Path, draft: Path, target: Path) -> str:
    """Where a file of the draft would be: drafts are gone when somebody reads the error."""
    return str(target / path.relative_to(draft)) if path.is_relative_to(draft) else str(path)


# --- reading --------------------------------------------------------------------------------


def without_top(files: Files) -> Files:
    """The files without the folder that holds all of them, where there is one.

    >>> without_top({"acme/a.yaml": b"", "acme/b/c.yaml": b""})
    {'a.yaml': b'', 'b/c.yaml': b''}
    """
    tops = {path.partition("/")[0] for path in files}
    if len(tops) != 1 or not all("/" in path for path in files):
        return files
    return {path.partition("/")[2]: content for path, content in files.items()}


def _name_of(source: Path) -> str:
    name = source.resolve().name
    for suffix in sorted(ARCHIVES, key=len, reverse=True):
        name = name.removesuffix(suffix)
    return name


def _unsafe(path: str) -> str:
    """Why a path may not be in a pack, in its folder or out of it; '' where it may.

    >>> [bool(_unsafe(path)) for path in ("a/b.yaml", "../b.yaml", "/b.yaml", "a//b.yaml", "a\\\\b.yaml")]
    [False, True, True, True, True]
    """
    parts = path.split("/")
    plain = len(parts) <= MAX_DEPTH + 1 and all(map(_PART.fullmatch, parts))
    return "" if plain else f"unsafe path: expected at most {MAX_DEPTH} plain names (letters, digits, _ - .)"


def _refused(path: str) -> str:
    """Why a file may not be in a pack; '' where it may."""
    if why := _unsafe(path):
        return why
    if is_pattern_name(path.rpartition("/")[2]) or path == LOCK or path in WORDS:
        return ""
    return f"is not allowed in a pack: expected pattern files (*.yaml), {LOCK}, README.md or LICENSE"


class _Contents:
    """Files of a pack as they are read, within the bounds."""

    def __init__(self, source: Path) -> None:
        self._source, self._size = source, 0
        self.files: dict[str, bytes] = {}
        self._folded: set[str] = set()

    def fail(self, why: str, path: str = "") -> BadPattern:
        return BadPattern([Fault(f"{self._source}/{path}" if path else str(self._source), 0, 0, why)])

    def add(self, path: str, stream: Any) -> None:
        """Read a file; BadPattern where a bound is exceeded or the path was there already."""
        # The folder that holds everything may come first.
        inside = path.partition("/")[2] or path
        if why := _unsafe(path) or (_refused(path) and _refused(inside)):
            raise self.fail(why, path[:200].encode("unicode_escape").decode())
        if len(self.files) == MAX_FILES:
            raise self.fail(f"has more than {MAX_FILES} files")
        if path.casefold() in self._folded:
            raise self.fail("is there twice", path)
        content = stream.read(MAX_FILE + 1)
        self._size += len(content)
        if len(content) > MAX_FILE:
            raise self.fail(f"is larger than {MAX_FILE // 1024} KB", path)
        if self._size > MAX_TOTAL:
            raise self.fail(f"has more than {MAX_TOTAL // 2**20} MB")
        self._folded.add(path.casefold())
        self.files[path] = content


def read_folder(source: Path) -> Files:
    """The files of a folder; BadPattern for links and what is no plain file."""
    contents = _Contents(source)
    for path, entry in _walk(source, ""):
        if not entry.is_file(follow_symlinks=False):
            raise contents.fail("is a link or no plain file, which a pack may not have", path)
        handle = os.open(entry.path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0))
        with os.fdopen(handle, "rb") as stream:
            contents.add(path, stream)
    return contents.files


def _walk(folder: Path, above: str) -> Iterator[tuple[str, os.DirEntry[str]]]:
    with os.scandir(folder) as listed:
        entries: Sequence[os.DirEntry[str]] = sorted(listed, key=lambda entry: entry.name)
    for entry in entries:
        path = f"{above}{entry.name}"
        if entry.is_dir(follow_symlinks=False) and path.count("/") < MAX_DEPTH:
            yield from _walk(Path(entry.path), f"{path}/")
        elif path != RECORD:  # an installed pack can be installed elsewhere
            yield path, entry


def read_archive(source: Path) -> Files:
    """The files of a .zip, .tar or .tar.gz; BadPattern where it is damaged, too large or holds links."""
    contents = _Contents(source)
    if not source.name.endswith(ARCHIVES):
        raise contents.fail(f"is not a pack: expected a folder or an archive ({', '.join(ARCHIVES)})")
    if not source.is_file():
        raise contents.fail("is not a plain file")
    with open(source, "rb") as file:
        data = file.read(MAX_ARCHIVE + 1)
    if len(data) > MAX_ARCHIVE:
        raise contents.fail(f"is larger than {MAX_ARCHIVE // 2**20} MB")
    try:
        if source.name.endswith(".zip"):
            _read_zip(data, contents)
        else:
            _read_tar(data, contents, packed=not source.name.endswith(".tar"))
    except (
        zipfile.BadZipFile,
        tarfile.TarError,
        EOFError,
        zlib.error,
        OSError,
        RuntimeError,
        ValueError,
    ) as error:
        raise contents.fail(f"is damaged: {type(error).__name__}") from None
    return contents.files


def _read_zip(data: bytes, contents: _Contents) -> None:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        for item in archive.infolist():
            mode = item.external_attr >> 16
            if item.is_dir() and not item.file_size:
                continue
            if stat.S_IFMT(mode) not in (0, stat.S_IFREG):
                raise contents.fail("is a link or no plain file, which a pack may not have", item.filename)
            if item.flag_bits & 1 or item.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
                raise contents.fail("is encrypted or packed in an unusual way", item.filename)
            with archive.open(item) as stream:
                contents.add(item.filename, stream)


def _read_tar(data: bytes, contents: _Contents, *, packed: bool) -> None:
    if packed:
        # Unpacked within a bound first: a header of a tar may claim any size.
        with gzip.GzipFile(fileobj=io.BytesIO(data)) as unpacking:
            data = unpacking.read(MAX_ARCHIVE + 1)
        if len(data) > MAX_ARCHIVE:
            raise contents.fail(f"unpacks to more than {MAX_ARCHIVE // 2**20} MB")
    with tarfile.open(fileobj=io.BytesIO(data), mode="r:") as archive:
        for item in archive:
            if item.isdir():
                continue
            plain = item.isreg() and item.sparse is None
            stream = archive.extractfile(item) if plain else None
            if stream is None:
                raise contents.fail("is a link or no plain file, which a pack may not have", item.name[:200])
            contents.add(item.name.removeprefix("./"), stream)
