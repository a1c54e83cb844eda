"""Normalization: removes from texts what varies between equal steps: times, temporary names, ids.

Three strengths: `low` replaces white space, times of day and memory addresses; `medium` also temporary
names, ids and fractions of seconds; `high` also every number and quoted value.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from hashlib import blake2b

from ...models.lazy_regex import Rule

MAX_CLEANED = 1_200
"""Characters that are cleaned; of a longer text its two ends, and the rest is hashed without digits."""

_TIME = (
    r"\d{4}-\d\d-\d\d(?:[T _]\d\d[:\-]?\d\d(?:[:\-]?\d\d)?(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?)?(?!\d)"
    r"|\d{1,2}:\d\d:\d\d(?:[.,]\d+)?\b"
    r"|(?:19|20)\d{6}[T_-]?\d{4,6}(?!\d)"
)
_ADDRESS = r"0x[0-9a-fA-F]{4,}\b"
_UUID = r"[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}\b"
_FRACTION = r"\d+\.\d+ ?(?:[nuµm]?s|secs?|seconds?|m|minutes?)\b|\d+m\d+(?:\.\d+)?s\b"
_HEX = r"[0-9a-fA-F]{7,64}\b"
# All alternatives begin alike, so that most words are rejected at once.
_LOW = Rule(rf"\b(?=[0-9])(?:(?P<TIME>{_TIME})|(?P<HEX>{_ADDRESS}))")
_MEDIUM = Rule(
    rf"\b(?=[0-9a-fA-F])(?:(?P<TIME>{_TIME})|(?P<HEX>{_ADDRESS})|(?P<ID>{_UUID})|(?P<FRACTION>{_FRACTION})|(?P<MIXED>{_HEX}))"
)
_LONG = Rule(r"\d{8,}")
_NAME = (
    r"(?:/private)?(?:/var/folders|/var/tmp|/dev/shm|/tmp|%temp%|\$TMPDIR|\\Temp)[/\\][\w.+/\\-]*"
    r"|\b(?:tmp|temp)[_-]?(?=\w{0,60}\d)\w{3,60}(?:\.\w{1,8})?"
)
_TEMPORARY_NAME = Rule(_NAME, re.IGNORECASE)
_TEMPORARY = Rule(
    rf"{_NAME}|(?<![\w-])(?=[\w-]{{0,60}}\d)[\w-]{{1,60}}\.(?:tmp|log|out|bak|pid|lock|swp)\b",
    re.IGNORECASE,
)
_PARTS = Rule(r"([/\\])")
_DIGIT = Rule(r"\d")
GENERATED_LENGTH = 5
"""A part of a temporary path that begins with tmp and is longer was generated."""
_PROCESS = Rule(r"\b([Pp]id|PID)([ =:#\[-]{1,3})\d+")
_NUMBER = Rule(r"\d+(?:[.,]\d+)*")
QUOTED = Rule(r"(?<!\w)'[^'\n]{0,200}'|\"[^\"\n]{0,200}\"|`[^`\n]{0,200}`")
# Every time, id, fraction, hex or long number contains this. Few texts do, and it is much faster to find.
_SIGN = Rule(
    r"[0-9](?:[0-9a-fA-F]{5}|[0-9a-fA-F]{2,3}-|:[0-9]{2}:|x[0-9a-fA-F]{4}|\.[0-9]+ ?[numsµ]|m[0-9]"
    r"|(?<=[a-fA-F]{2}[0-9]))"
)
_OTHER_DIGIT = Rule(r"[^\x00-\x7f](?<=\d)")
_COLOUR = Rule(r"\x1b\[[0-9;?]*[A-Za-z]")
_DIGITS_AND_SPACE = b"0123456789 \t\r\n"
_TAKEN_FOR_ASCII = ("\u212a", "\u017f", "\u0130", "\u0131")
"""Letters beyond ASCII that match k, s or i when case is ignored."""
_FILE_SIGNS = (".tmp", ".log", ".out", ".bak", ".pid", ".lock", ".swp")
_NAME_SIGNS = ("tmp", "temp", "/var/folders", "/dev/shm")
# Of the names in lower case; many a text has the word template.
_NAME_SIGN = Rule(r"te?mp(?:[/\\%]|dir|[_-]?\w{0,60}\d)|/var/folders|/dev/shm")


@lru_cache(maxsize=1024)
def cleaned(text: str, strength: str = "medium") -> str:
    """Return the text with varying parts replaced.

    Each rule runs only on texts with a sign of it, since most of the time of a measurement is spent here.

    >>> cleaned("open  /tmp/a1b2.txt failed at 12:30:01 (0.31s)")
    'open TEMP failed at TIME (FRACTION)'
    >>> cleaned("line 12 of 'a'", "low"), cleaned("line 12 of 'a'", "high")
    ("line 12 of 'a'", 'line N of Q')
    """
    text = without_colour(text)
    lowered = "" if strength == "low" else text.lower()
    if lowered:
        text = _replace_temporary(text, lowered, _temporary)
    if _SIGN.search(text) or (not text.isascii() and _OTHER_DIGIT.search(text)):
        text = _LOW.sub(_label, text) if strength == "low" else _LONG.sub("N", _MEDIUM.sub(_label, text))
    if "pid" in lowered:
        text = _PROCESS.sub(r"\1\2N", text)
    if strength == "high":
        text = QUOTED.sub("Q", _NUMBER.sub("N", text))
    return " ".join(text.split())


@lru_cache(maxsize=1024)
def cleaned_call(text: str, strength: str = "medium") -> str:
    """Return the text of a call with generated names replaced; at `high` also numbers and quoted values.

    Ids, hashes and times in a call were chosen by the agent: with another one it is another call. So were
    names without a digit among temporary files, where a whole project may lie.

    >>> cleaned_call("grep  a1b2c3d4 /tmp/x7/out.txt"), cleaned_call("page 3", "high")
    ('grep a1b2c3d4 /tmp/TEMP/out.txt', 'page N')
    """
    if strength == "high":
        return cleaned(text, strength)
    text = without_colour(text)
    if strength != "low":
        text = _replace_temporary(text, text.lower(), _generated)
    return " ".join(text.split())


def _replace_temporary(text: str, lowered: str, name: Callable[[re.Match[str]], str]) -> str:
    # The pattern of files is slow, and few texts need it.
    if has_sign(text, _FILE_SIGNS, lowered):
        return _TEMPORARY.sub(name, text)
    if has_sign(text, _NAME_SIGNS, lowered) and _NAME_SIGN.search(lowered):
        return _TEMPORARY_NAME.sub(name, text)
    return text


def _generated(match: re.Match[str]) -> str:
    """A temporary path with a label for each part that looks generated, its ending apart."""
    return "".join(_label_of_part(part) for part in _PARTS.split(match[0]))


def _label_of_part(part: str) -> str:
    if not (_DIGIT.search(part) or (len(part) > GENERATED_LENGTH and part.lower().startswith("tmp"))):
        return part
    ending = part.rpartition(".")[2] if "." in part else ""
    return f"TEMP.{ending}" if ending.isalpha() and len(ending) <= GENERATED_LENGTH else "TEMP"


def _label(match: re.Match[str]) -> str:
    """The name of the group that matched; hex needs both letters and digits (not `defaced` or `1234567`)."""
    if match.lastgroup != "MIXED":
        return str(match.lastgroup)
    return match[0] if match[0].isalpha() or match[0].isdigit() else "HEX"


def _temporary(match: re.Match[str]) -> str:
    """The label of a temporary file; its ending stays, unless it is a number."""
    name = match[0].rstrip(".")
    ending = name.rpartition(".")[2] if "." in name[-6:] else ""
    return f"TEMP.{ending}" if ending.isalpha() and ending != "txt" else "TEMP"


def without_colour(text: str) -> str:
    """Return the text without terminal colour codes."""
    return _COLOUR.sub("", text) if "\x1b" in text else text


def has_sign(text: str, signs: tuple[str, ...], lowered: str | None = None) -> bool:
    """Return whether a text contains one of the lower-case signs, ignoring case as regular expressions do."""
    lowered = text.lower() if lowered is None else lowered
    # A loop, since `any` takes twice as long over so few and short signs.
    for sign in signs:
        if sign in lowered:
            return True
    return not text.isascii() and any(letter in text for letter in _TAKEN_FOR_ASCII)


def digest(text: str, strength: str = "medium") -> str:
    """Return eight characters that are equal for texts which differ only in varying parts.

    >>> digest("done in 0.31s") == digest("done in 0.52s"), digest("3 of 9") == digest("4 of 9")
    (True, False)
    """
    if len(text) > MAX_CLEANED:
        half = MAX_CLEANED // 2
        ends = (_bytes(cleaned(text[:half], strength)), _bytes(cleaned(text[-half:], strength)))
        rest = _bytes(text[half:-half]).translate(None, _DIGITS_AND_SPACE)
        return _hash(b"%b\0%b\0%b" % (ends[0], rest, ends[1]))
    return short_hash(cleaned(text, strength))


def call_hash(text: str, strength: str = "medium") -> str:
    """Return eight characters that are equal for calls which differ only in temporary names.

    >>> call_hash("submit flag{5edcfa0b}") == call_hash("submit flag{0fe5c44f}")
    False
    """
    if len(text) > MAX_CLEANED and strength != "high":
        half = MAX_CLEANED // 2
        ends = cleaned_call(text[:half], strength), cleaned_call(text[-half:], strength)
        return short_hash("\0".join((ends[0], text[half:-half], ends[1])))
    return digest(text, strength) if strength == "high" else short_hash(cleaned_call(text, strength))


def short_hash(text: str) -> str:
    """Return eight characters of a hash."""
    return _hash(_bytes(text))


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _hash(data: bytes) -> str:
    return blake2b(data, digest_size=4).hexdigest()
