"""Mask secrets and personal data in evidence.

Rules look at form only: what has the form of a key, an address or a phone number is replaced by a word in
brackets. Repetitions are bounded or end with a token, so every rule is linear, and only the first MAX_READ
characters are read.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from itertools import pairwise
from typing import Any

from .event import Event
from .lazy_regex import Rule

_LENGTHS = """
AD24 AE23 AT20 BE16 BG22 CH21 CY28 CZ24 DE22 DK18 EE20 ES24 FI18 FR27 GB22 GR27 HR21 HU28 IE22 IL23
IS26 IT27 LI21 LT20 LU20 LV21 MC27 MT31 NL18 NO15 PL28 PT25 RO24 RS22 SA24 SE24 SI19 SK24 TR26 UA29
"""
IBAN_LENGTHS = {part[:2]: int(part[2:]) for part in _LENGTHS.split()}
_ISSUERS = re.compile(r"4|5[1-5]|2[2-7]|3[0-8]|6[0-9]")
_SEPARATORS = re.compile(r"[+/_=-]+")
_HEX = re.compile(r"[0-9a-f]+|[0-9A-F]+")


def is_card(text: str) -> bool:
    """Whether the digits are a card number: an issuer's first ones, and the Luhn sum.

    >>> is_card("4111 1111 1111 1111"), is_card("4111 1111 1111 1112"), is_card("1767225600000")
    (True, False, False)
    """
    digits = [int(char) for char in text if char.isdigit()]
    doubled = [sum(divmod(2 * digit, 10)) for digit in digits[-2::-2]]
    valid = (sum(digits[-1::-2]) + sum(doubled)) % 10 == 0
    return valid and _ISSUERS.match("".join(map(str, digits))) is not None


def is_ip(text: str) -> bool:
    """Whether it is an IP address of another machine, and not `a::b` in a program.

    >>> is_ip("192.0.2.7"), is_ip("127.0.0.1"), is_ip("fe80::1"), is_ip("18:12:00"), is_ip("ab::c")
    (True, False, True, False, False)
    """
    import ipaddress  # slow to load, and few texts need it

    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return False
    return not (address.is_loopback or address.is_unspecified) and any(char.isdigit() for char in text)


def iban_length(text: str) -> int | None:
    """How many of the characters are an IBAN with a valid sum; None where they do not begin with one.

    >>> iban_length("DE89 3704 0044 0532 0130 00 THANKS"), iban_length("DE00 3704 0044 0532 0130 00")
    (27, None)
    """
    needed = IBAN_LENGTHS.get(text[:2], 0)
    places = [at for at, char in enumerate(text) if char != " "][:needed]
    compact = "".join(text[at] for at in places)
    if not needed or len(compact) < needed:
        return None
    moved = compact[4:] + compact[:4]
    valid = int("".join(str(int(char, 36)) for char in moved)) % 97 == 1
    return places[-1] + 1 if valid else None


def is_random(text: str) -> bool:
    """Whether a long token looks random: letters and digits alternate all the time.

    Words, paths, dates, hexadecimal ids and UUIDs do not.

    >>> is_random("q7Rk2LwZ9xVb4TnM8cYd3HsP"), is_random("src/ethogram/records/detection")
    (True, False)
    >>> is_random("0f8fad5b-d9cb-469f-a165-70867728950e")
    False
    """
    runs = [run for run in _SEPARATORS.split(text) if run]
    whole = "".join(runs)
    digits = sum(char.isdigit() for char in whole)
    if len(whole) < 20 or _HEX.fullmatch(whole) or digits == len(whole):
        return False
    pairs = [pair for run in runs for pair in pairwise(run)]
    changes = sum(_sort(item) != _sort(two) for item, two in pairs) / max(len(pairs), 1)
    if digits < 2:
        # Names in camel case change often too, but they can be spoken.
        return changes >= 0.4 and sum(char in "aeiouAEIOU" for char in whole) <= 0.3 * len(whole)
    return changes >= (0.22 if len(runs) == 1 and digits >= 4 else 0.35)


def _sort(char: str) -> int:
    return 0 if char.isdigit() else 1 if char.isupper() else 2


Match = re.Match[str]

SECRET = "[secret]"

_NAMES = (
    r"pass(?:word|wd|phrase|code)?|pwd|secret|token|credentials?|api[_-]?key|access[_-]?key"
    r"|secret[_-]?key|private[_-]?key|account[_-]?key|auth(?:orization)?"
)
_VALUE = r"(?!\[secret\])(?:\"[^\"]{1,500}\"?|'[^']{1,500}'?|[^\s\"',;&]{1,500})"
_KEYS = "|".join(
    (
        r"(?:sk|pk|rk)[-_](?:[A-Za-z]{2,10}[-_])?[A-Za-z0-9_-]{16,}",
        r"gh[pousr]_[A-Za-z0-9]{20,}",
        r"github_pat_[A-Za-z0-9_]{20,}",
        r"glpat-[A-Za-z0-9_-]{20,}",
        r"(?:AKIA|ASIA|AGPA|AIDA|AROA)[A-Z0-9]{12,}",
        r"xox[abeoprs]-[A-Za-z0-9-]{10,}",
        r"AIza[A-Za-z0-9_-]{30,}",
        r"ya29\.[A-Za-z0-9_-]{20,}",
        r"npm_[A-Za-z0-9]{30,}",
        r"pypi-[A-Za-z0-9_-]{50,}",
        r"hf_[A-Za-z0-9]{20,}",
        r"SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}",
        r"eyJ[A-Za-z0-9_-]{5,}\.[A-Za-z0-9_-]{5,}(?:\.[A-Za-z0-9_-]*)?",
    )
)


def _always(word: str) -> Callable[[Match], str]:
    return lambda _: word


def _if(test: Callable[[str], bool], word: str) -> Callable[[Match], str]:
    return lambda match: word if test(match[0]) else match[0]


def _value(match: Match) -> str:
    """The name and the separator, without the value."""
    return f"{match[1]}{SECRET}"


def _likely_value(match: Match) -> str:
    """The same, where the value does not look like the next word of a sentence."""
    value = match[2]
    likely = len(value) >= 20 or re.search(r"[\d!#$%^&*+=]", value)
    return _value(match) if likely else match[0]


def _has_digit(text: str) -> bool:
    return any(char.isdigit() for char in text)


def _iban(match: Match) -> str:
    length = iban_length(match[0])
    return match[0] if length is None else f"[iban]{match[0][length:]}"


def _is_mail(text: str) -> bool:
    return not text.startswith("git@")


_PRIVATE_KEY = r"(?s)-----BEGIN [A-Z0-9 ]{0,40}KEY[A-Z ]{0,10}-----.*?(?:-----END [A-Z0-9 ]{0,50}-----|\Z)"
_NAMED = rf"(?i)((?:{_NAMES})[\"']?\s{{0,3}}[:=]\s{{0,3}})(?!bearer\s|basic\s){_VALUE}"
_OPTION = rf"(?i)(--?(?:{_NAMES})\s{{1,3}})(?!-){_VALUE}"
_BEARER = r"(?i)\b((?:bearer|basic)\s{1,3})([A-Z0-9._~+/=-]{8,})"
_STATED = r"(?i)(\bpass(?:word|phrase|code)\s{1,3}is:?\s{1,3})(\S{1,200})"
_IPV6 = r"(?<![\w:.])[0-9A-Fa-f:]{3,39}(?:(?<=:)(?:\d{1,3}\.){3}\d{1,3})?(?![\w:])"

_LOGIN = (
    r"(?i)((?:^|[\s;|&(])(?:-u|--user)[ =]?['\"]?[\w.@-]{1,64}:"
    r"|\b(?:mysql\w*|mariadb|mongo\w*|sshpass|psql)\b[^\n;|&]{0,80}?\s-p\s?)(?!\s)[^\s;|&]{3,200}"
)
"""The password after `-u name:`, and after -p of programs that take one there."""

_NAME_SIGNS = ("pass", "pwd", "secret", "token", "credential", "key", "auth")
RULES: tuple[tuple[Rule, Callable[[Match], str], tuple[str, ...]], ...] = (
    (Rule(_PRIVATE_KEY), _always(SECRET), ("-----begin",)),
    (Rule(r"(://)[^\s/@]{1,500}(?=@)"), _value, ("://",)),
    (Rule(_BEARER), _likely_value, ("bearer", "basic")),
    (Rule(_NAMED), _value, _NAME_SIGNS),
    (Rule(_OPTION), _value, _NAME_SIGNS),
    (Rule(_LOGIN), _value, ("-u", "-p")),
    (Rule(_STATED), _likely_value, ("pass",)),
    (Rule(rf"(?<![A-Za-z0-9])(?:{_KEYS})"), _if(_has_digit, SECRET), ()),
    (Rule(r"[\w.+-]{1,64}@(?:[\w-]{1,63}\.){1,8}[A-Za-z]{2,24}"), _if(_is_mail, "[e-mail]"), ("@",)),
    (Rule(r"(?<![\w+/=-])[A-Za-z0-9+/_=-]{24,}"), _if(is_random, SECRET), ()),
    (Rule(r"\b[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,4})?\b"), _iban, ()),
    (Rule(r"(?<![\d.])\d(?:[ -]?\d){12,18}(?!\d)"), _if(is_card, "[card]"), ()),
    (Rule(r"(?<![\w.])(?<!==)(?:\d{1,3}\.){3}\d{1,3}(?!\w|\.\d)"), _if(is_ip, "[ip]"), (".",)),
    (Rule(_IPV6), _if(is_ip, "[ip]"), (":",)),
    (Rule(r"(?<![\w+])\+\d(?:[ ().-]{0,2}\d){6,14}(?!\d)"), _always("[phone]"), ("+",)),
    (Rule(r"(?<![\w.-])(?:\(\d{3}\) ?|\d{3}[ .-])\d{3}[ .-]\d{4}(?![\w-])"), _always("[phone]"), ()),
    (Rule(r"(?<![\w.:-])0[1-9](?:[ /-]?\d){8,10}(?![\w:-]|\.\d)"), _always("[phone]"), ("0",)),
)
"""In this order: named secrets before what only looks like one. An ASCII text that a rule applies to has one
of its signs, upper or lower case; a rule without signs is always tried."""

MAX_READ = 2_000
CUT = " …"
MAX_SHOWN = 200
_HINT = re.compile(r"[0-9@=:]|--|bearer|basic", re.IGNORECASE)
"""Without any of these, no rule can apply."""


def mask(text: str, keep: Iterable[str] = ()) -> str:
    """The text with secrets and personal data replaced, except for what occurs in one of `keep`.

    >>> mask("mail ann@example.com, key sk-proj-4fT9aQ2LxW8zR7Kd")
    'mail [e-mail], key [secret]'
    >>> mask("ann@example.com was warm", keep=["ann@example.com"])
    'ann@example.com was warm'
    """
    text = _cut(text)
    if not _HINT.search(text):
        return text
    exceptions = tuple(keep)
    # The mark of a cut text is no letter that a rule could match.
    lowered = text.lower() if text.removesuffix(CUT).isascii() else None
    for pattern, replace, signs in RULES:
        if lowered is not None and signs and not any(sign in lowered for sign in signs):
            continue
        before, text = text, pattern.sub(_except(replace, exceptions), text)
        if lowered is not None and text != before:
            lowered = text.lower()
    return text


def masked(value: Any) -> Any:
    """A value with every text in it masked; lists are walked, all else stays."""
    if isinstance(value, (list, tuple)):
        return [masked(item) for item in value]
    return mask(value) if isinstance(value, str) else value


def excerpt(event: Event) -> str | None:
    """The masked text of an event (else its command or path) in at most MAX_SHOWN characters, or None."""
    texts = (event.text, event.attributes.get("command"), event.attributes.get("path"))
    text = next((item for item in texts if isinstance(item, str) and item.strip()), None)
    if text is None:
        return None
    shown = " ".join(mask(text).split())
    return shown if len(shown) <= MAX_SHOWN else shown[: MAX_SHOWN - 1] + "…"


def _cut(text: str) -> str:
    """At most MAX_READ characters, without a word that would be cut in two: it may be half a key."""
    if len(text) <= MAX_READ:
        return text
    head = text[:MAX_READ]
    whole = head if text[MAX_READ].isspace() else head.rsplit(None, 1)[0]
    return f"{whole}{CUT}"


def _except(replace: Callable[[Match], str], texts: tuple[str, ...]) -> Callable[[Match], str]:
    if not texts:
        return replace
    return lambda match: match[0] if any(match[0] in text for text in texts) else replace(match)
