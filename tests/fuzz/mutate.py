"""Mutations: a seed input altered at random, by its structure where it is JSON, else by tokens and bytes."""

from __future__ import annotations

import copy
import io
import json
import re
import zipfile
from collections.abc import Iterator
from contextlib import suppress
from random import Random
from typing import Any

LONGEST = 200_000
DEEP: Any = 0
for _ in range(60):
    DEEP = [DEEP]
STRANGE_VALUES = [
    *(None, True, False, 0, -1, 7, 0.5, -0.0, 1e308, 10**400, -(2**63), 2**64, float("nan"), float("inf")),
    *("", " ", "x", "\0", "a\0b", "\ud800", "\ufeff", "\u202e", "9" * 5000, "word " * 3000, "x" * 60_000),
    *("0001-01-01T00:00:00+23:59", "9999-12-31T23:59:59-23:59", "2026-02-30T00:00:00Z", "2026-01-01", "NaN"),
    *(253402300800, -62135596801, 1e18, 1767225600, 1767225600.25, 1767225600000, "1767225600000000000"),
    *([], {}, [[]], [None], [{}], {"": ""}, {"a": {}}, ["x", 1], {"type": "text"}, {"role": {}}, DEEP),
    *('{"a": 1}', "[1, 2]", '"x"', "{", "[" * 5000, '{"a":' * 200, "null", "../../x", "-", "=1+1"),
]
TOKENS = [
    *rb"""{ } [ ] , : " ' \ # | > ? ~ ; = < ** --- &a *a !!python/object %YAML \u0000 \ud800 \x PAR1 null true
    NaN Infinity -1 0 1e400 9d 1e9h 2026-13-01T00:00:00Z 0000-01-01""".split(),
    *(b"\n", b"\r\n", b"\r", b"\t", b" ", b"  ", b"- ", b"&a ", b"\0", b"\xff", b"\xc3", b"\xed\xa0\x80"),
    *(
        text.encode()
        for text in ("\ufeff", "\u2028", "\x85", "😀", "9" * 400, "x" * 60_000, "[" * 3000, "(" * 300)
    ),
]
WORD = re.compile(rb"\w+|\s+|[^\w\s]")


def mutated(rng: Random, seed: bytes, other: bytes) -> bytes:
    """The seed with one to four things changed; `other` is another input to take parts from."""
    # A seed may be damaged already; zipfile has a dozen ways to say so.
    with suppress(Exception):
        if seed.startswith(b"PK") and rng.random() < 0.8:
            return _zip(rng, seed)
        if (documents := _documents(seed)) is not None and rng.random() < 0.75:
            seed = _json(rng, *documents)
            if rng.random() < 0.75:
                return seed[:LONGEST]
    for _ in range(rng.choice((1, 1, 2, 4))):
        seed = rng.choice((_bytes, _bytes, _words, _lines))(rng, seed, other)
    return seed[:LONGEST]


def _documents(data: bytes) -> tuple[list[Any], bool] | None:
    """The values of a JSON document or of JSON lines, and whether it is lines; None for anything else."""
    try:
        return [json.loads(data)], False
    except (ValueError, RecursionError):
        pass
    try:
        return [json.loads(line) for line in data.splitlines() if line.strip()], True
    except (ValueError, RecursionError):
        return None


def _json(rng: Random, documents: list[Any], lines: bool) -> bytes:
    documents = copy.deepcopy(documents)
    for _ in range(rng.choice((1, 1, 2, 3))):
        places = list(_places(documents))
        if places:
            _change(rng, *rng.choice(places), places)
    # The writer spells NaN, Infinity and half surrogate pairs as readers of JSON may meet them.
    written = [json.dumps(document, ensure_ascii=rng.random() < 0.9) for document in documents]
    joined = "\n".join(written) + "\n" * lines
    if rng.random() < 0.1:
        key = rng.choice(re.findall(r'"\w{1,30}": ', joined) or ["{"])
        joined = joined.replace(key, key + "1, " + key, 1) if key != "{" else joined
    return joined.encode("utf-8", "surrogatepass")


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    """(container, key) of everything inside a value."""
    inside: Any = (
        value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    )
    for key, inner in list(inside):
        yield value, key
        yield from _places(inner)


def _change(rng: Random, container: Any, key: Any, places: list[tuple[Any, Any]]) -> None:
    try:
        value = container[key]
    except (KeyError, IndexError):
        return  # an earlier change removed it
    way = rng.randrange(8)
    if way == 0:
        del container[key]
    elif way == 1 and isinstance(container, list):
        container.insert(rng.randrange(len(container) + 1), copy.deepcopy(value))
    elif way == 2 and isinstance(container, dict):
        container[str(rng.choice([item for _, item in places]))] = container.pop(key)
    elif way == 3:
        # A value of elsewhere: an id, a parent or a time that makes circles and contradictions.
        source, name = rng.choice(places)
        container[key] = copy.deepcopy(source[name]) if name in source or isinstance(name, int) else value
    elif way == 4:
        container[key] = rng.choice(([value], {"a": value}, [value] * 3, json.dumps(value), str(value)))
    elif way == 5 and isinstance(value, str) and (nested := _documents(value.encode("utf-8", "replace"))):
        container[key] = _json(rng, *nested).decode("utf-8", "replace")
    else:
        container[key] = copy.deepcopy(rng.choice(STRANGE_VALUES))


def _zip(rng: Random, data: bytes) -> bytes:
    """An archive with one member changed, or written twice, or under another name."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as new:
        names = old.namelist()
        chosen = rng.choice(names)
        for name in names:
            inner = old.read(name)
            new.writestr(name, mutated(rng, inner, inner) if name == chosen else inner)
        if rng.random() < 0.1:
            new.writestr(rng.choice((*names, "../x.json", "x\\y", "é")) + ".json", old.read(chosen))
    return out.getvalue()


def _bytes(rng: Random, data: bytes, other: bytes) -> bytes:
    at = rng.randrange(len(data) + 1)
    end = min(len(data), at + rng.choice((1, 1, 4, 40, 400)))
    way = rng.randrange(9)
    if way == 0:
        return data[:at] + bytes([rng.randrange(256)]) + data[at + 1 :]
    if way == 1:
        return data[:at] + data[end:]
    if way == 2:
        return data[:end] + data[at:end] * rng.choice((1, 1, 50)) + data[end:]
    if way == 3:
        return data[:at]
    if way == 4:
        start = rng.randrange(len(other) + 1)
        return data[:at] + other[start : start + 300] + data[at:]
    if way == 5 and rng.random() < 0.3:
        text = data.decode("utf-8", "replace")
        return text.encode(rng.choice(("utf-16", "utf-16-le", "utf-8-sig", "utf-32")), "replace")
    return data[:at] + rng.choice(TOKENS) + data[at if way < 7 else end :]


def _words(rng: Random, data: bytes, other: bytes) -> bytes:
    """A word, space or sign replaced by another of the same input, or by a strange one."""
    words = WORD.findall(data[:LONGEST])
    if not words:
        return rng.choice(TOKENS)
    at = rng.randrange(len(words))
    words[at] = rng.choice((rng.choice(words), rng.choice(TOKENS), b""))
    return b"".join(words)


def _lines(rng: Random, data: bytes, other: bytes) -> bytes:
    lines = data.splitlines(keepends=True)
    if not lines:
        return other
    at, to = rng.randrange(len(lines)), rng.randrange(len(lines))
    way = rng.randrange(5)
    if way == 0:
        del lines[at]
    elif way == 1:
        lines.insert(to, lines[at])
    elif way == 2:
        lines[at], lines[to] = lines[to], lines[at]
    elif way == 3:
        lines[at] = rng.choice((b" ", b"  ", b"\t", b"- ")) + lines[at]
    else:
        lines[at] = lines[at].lstrip()
    return b"".join(lines)
