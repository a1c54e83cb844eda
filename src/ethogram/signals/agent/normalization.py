"""What varies by chance, taken out of a text: times, temporary names, ids, hex, and more where asked for.

Three strengths. `low` takes out only what never carries a meaning (white space, times of day, addresses in
memory); `medium` also temporary names, ids and fractions of seconds; `high` also every number and every
quoted value.
"""

from __future__ import annotations

import re
from hashlib import blake2b

from ...models.lazy_regex import Rule

MOST = 1_200
"""Characters that are looked at closely; of a longer text its two ends, and the rest without its digits."""

_TIME = (
    r"\d{4}-\d\d-\d\d(?:[T _]\d\d[:\-]?\d\d(?:[:\-]?\d\d)?(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?)?(?!\d)"
    r"|\d{1,2}:\d\d:\d\d(?:[.,]\d+)?\b"
    r"|(?:19|20)\d{6}[T_-]?\d{4,6}(?!\d)"
)
_ADDRESS = r"0x[0-9a-fA-F]{4,}\b"
_UUID = r"[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}\b"
_FRACTION = r"\d+\.\d+ ?(?:[nuµm]?s|secs?|seconds?|m|minutes?)\b|\d+m\d+(?:\.\d+)?s\b"
_HEX = r"[0-9a-fA-F]{7,64}\b"
# All of these begin alike, so that one look at each word is enough for most of them.
_LOW = Rule(rf"\b(?=[0-9])(?:(?P<TIME>{_TIME})|(?P<HEX>{_ADDRESS}))")
_MEDIUM = Rule(
    rf"\b(?=[0-9a-fA-F])(?:(?P<TIME>{_TIME})|(?P<HEX>{_ADDRESS})|(?P<ID>{_UUID})|(?P<FRACTION>{_FRACTION})|(?P<MIXED>{_HEX}))"
)
_LONG = Rule(r"\d{8,}")
_TEMPORARY = Rule(
    r"(?:/private)?(?:/var/folders|/var/tmp|/dev/shm|/tmp|%temp%|\$TMPDIR|\\Temp)[/\\][\w.+/\\-]*"
    r"|\b(?:tmp|temp)[_-]?(?=\w{0,60}\d)\w{3,60}(?:\.\w{1,8})?"
    r"|(?<![\w-])(?=[\w-]{0,60}\d)[\w-]{1,60}\.(?:tmp|log|out|bak|pid|lock|swp)\b",
    re.IGNORECASE,
)
_PROCESS = Rule(r"\b([Pp]id|PID)([ =:#\[-]{1,3})\d+")
_NUMBER = Rule(r"\d+(?:[.,]\d+)*")
QUOTED = Rule(r"(?<!\w)'[^'\n]{0,200}'|\"[^\"\n]{0,200}\"|`[^`\n]{0,200}`")
# Every time, id, fraction, hex or long number has a digit in such company. Few texts do, and to look for
# digits is much quicker than to look at every word.
_SIGN = Rule(
    r"[0-9](?:[0-9a-fA-F]{5}|[0-9a-fA-F]{2,3}-|:[0-9]{2}:|x[0-9a-fA-F]{4}|\.[0-9]+ ?[numsµ]|m[0-9]"
    r"|(?<=[a-fA-F]{2}[0-9]))"
)
_OTHER_DIGIT = Rule(r"[^\x00-\x7f](?<=\d)")
_COLOUR = Rule(r"\x1b\[[0-9;?]*[A-Za-z]")
_DIGITS_AND_SPACE = b"0123456789 \t\r\n"


_TAKEN_FOR_ASCII = ("\u212a", "\u017f", "\u0130", "\u0131")
"""The letters beyond ASCII that a rule takes for k, s or i."""


_TEMPORARY_SIGNS = (
    "tmp", "temp", ".log", ".out", ".bak", ".pid", ".lock", ".swp", "/var/folders", "/dev/shm"
)  # fmt: skip


def _put(found: re.Match[str]) -> str:
    """What stands for it: the name of the rule that found it."""
    if found.lastgroup != "MIXED":
        return str(found.lastgroup)
    # Only what has both letters and digits: `defaced` is a word, `1234567` a number.
    said = found.group()
    return said if said.isalpha() or said.isdigit() else "HEX"


def cleaned(text: str, strength: str = "medium") -> str:
    """The text with what varies by chance replaced.

    Each rule is tried only on texts with a sign of it, since most of the time is spent here.

    >>> cleaned("open  /tmp/a1b2.txt failed at 12:30:01 (0.31s)")
    'open TEMP failed at TIME (FRACTION)'
    >>> cleaned("line 12 of 'a'", "low"), cleaned("line 12 of 'a'", "high")
    ("line 12 of 'a'", 'line N of Q')
    """
    text = without_colour(text)
    if strength != "low" and has_sign(text, _TEMPORARY_SIGNS):
        text = _TEMPORARY.sub(_temporary, text)
    if _SIGN.search(text) or (not text.isascii() and _OTHER_DIGIT.search(text)):
        text = _LOW.sub(_put, text) if strength == "low" else _LONG.sub("N", _MEDIUM.sub(_put, text))
    if strength != "low" and ("pid" in text or "PID" in text or "Pid" in text):
        text = _PROCESS.sub(r"\1\2N", text)
    if strength == "high":
        text = QUOTED.sub("Q", _NUMBER.sub("N", text))
    return " ".join(text.split())


def without_colour(text: str) -> str:
    """The text without what sets colours in a terminal."""
    return _COLOUR.sub("", text) if "\x1b" in text else text


def has_sign(text: str, signs: tuple[str, ...]) -> bool:
    """Whether one of these signs, written in small letters, is in a text, in small or capital ones.

    A rule is worth trying only where one of its signs is, or a letter that it takes for one of ASCII.
    """
    said = text.lower()
    # Written out, since `any` takes twice as long over so few and short ones.
    for sign in signs:
        if sign in said:
            return True
    return not text.isascii() and any(item in text for item in _TAKEN_FOR_ASCII)


def _temporary(found: re.Match[str]) -> str:
    """Temporary files may be of different kinds: what follows the last dot is kept, unless it is a number."""
    name = found.group().rstrip(".")
    ending = name.rpartition(".")[2] if "." in name[-6:] else ""
    return f"TEMP.{ending}" if ending.isalpha() and ending != "txt" else "TEMP"


def digest(text: str, strength: str = "medium") -> str:
    """Eight characters that are equal for texts that differ only by chance.

    >>> digest("done in 0.31s") == digest("done in 0.52s"), digest("3 of 9") == digest("4 of 9")
    (True, False)
    """
    if len(text) > MOST:
        half = MOST // 2
        ends = (_bytes(cleaned(text[:half], strength)), _bytes(cleaned(text[-half:], strength)))
        rest = _bytes(text[half:-half]).translate(None, _DIGITS_AND_SPACE)
        return _hash(b"%b\0%b\0%b" % (ends[0], rest, ends[1]))
    return short_hash(cleaned(text, strength))


def short_hash(text: str) -> str:
    """Eight characters of a hash."""
    return _hash(_bytes(text))


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _hash(said: bytes) -> str:
    return blake2b(said, digest_size=4).hexdigest()
