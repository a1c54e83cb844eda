"""Masking of secrets and personal data in what is shown as evidence."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from itertools import pairwise

from .event import Event, Value
from .lazy_regex import Rule

# Whether what has the form of a card, an address or a key is one: sums, ranges and how it is mixed.

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
    """Whether it is an address that says where somebody is: not this machine, no `a::b` of a program.

    >>> is_ip("192.0.2.7"), is_ip("127.0.0.1"), is_ip("fe80::1"), is_ip("18:12:00"), is_ip("ab::c")
    (True, False, True, False, False)
    """
    import ipaddress  # which takes a while to load, and few texts have anything like it

    try:
        found = ipaddress.ip_address(text)
    except ValueError:
        return False
    return not (found.is_loopback or found.is_unspecified) and any(char.isdigit() for char in text)


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


def is_loud(text: str) -> bool:
    """Whether a long token is mixed as only a random one is: letters and digits change all the time.

    Words, paths, dates, ids in hexadecimal and UUIDs are not.

    >>> is_loud("q7Rk2LwZ9xVb4TnM8cYd3HsP"), is_loud("src/ethogram/records/detection")
    (True, False)
    >>> is_loud("0f8fad5b-d9cb-469f-a165-70867728950e")
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


# The rules of masking: what a secret or personal datum looks like, and the word that takes its place.
#
# Repetitions are bounded or end where a token ends, so that no text takes more than linear time.

Match = re.Match[str]

SECRET = "[secret]"

_NAMES = (
    r"pass(?:word|wd|phrase|code)?|pwd|secret|token|credentials?|api[_-]?key|access[_-]?key"
    r"|secret[_-]?key|private[_-]?key|account[_-]?key|auth(?:orization)?"
)
_GIVEN = r"(?!\[secret\])(?:\"[^\"]{1,500}\"?|'[^']{1,500}'?|[^\s\"',;&]{1,500})"
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
    """The name and what joins it to the value, without the value."""
    return f"{match[1]}{SECRET}"


def _likely_value(match: Match) -> str:
    """Likewise, where the value looks like one and not like the next word of a sentence."""
    told = match[2]
    likely = len(told) >= 20 or re.search(r"[\d!#$%^&*+=]", told)
    return _value(match) if likely else match[0]


def _has_digit(text: str) -> bool:
    return any(char.isdigit() for char in text)


def _iban(match: Match) -> str:
    length = iban_length(match[0])
    return match[0] if length is None else f"[iban]{match[0][length:]}"


def _is_mail(text: str) -> bool:
    return not text.startswith("git@")


_PRIVATE_KEY = r"(?s)-----BEGIN [A-Z0-9 ]{0,40}KEY[A-Z ]{0,10}-----.*?(?:-----END [A-Z0-9 ]{0,50}-----|\Z)"
_NAMED = rf"(?i)([\w-]{{0,40}}(?:{_NAMES})[\"']?\s{{0,3}}[:=]\s{{0,3}})(?!bearer\s|basic\s){_GIVEN}"
_OPTION = rf"(?i)(--?(?:{_NAMES})\s{{1,3}})(?!-){_GIVEN}"
_BEARER = r"(?i)\b((?:bearer|basic)\s{1,3})([A-Z0-9._~+/=-]{8,})"
_TOLD = r"(?i)(\bpass(?:word|phrase|code)\s{1,3}is:?\s{1,3})(\S{1,200})"
_IPV6 = r"(?<![\w:.])[0-9A-Fa-f:]{3,39}(?:(?<=:)(?:\d{1,3}\.){3}\d{1,3})?(?![\w:])"

_LOGIN = (
    r"(?i)((?:^|[\s;|&(])(?:-u|--user)[ =]?['\"]?[\w.@-]{1,64}:"
    r"|\b(?:mysql\w*|mariadb|mongo\w*|sshpass|psql)\b[^\n;|&]{0,80}?\s-p\s?)(?!\s)[^\s;|&]{3,200}"
)
"""What stands behind a name after -u, and behind -p of programs that take a password there."""

RULES: tuple[tuple[Rule, Callable[[Match], str]], ...] = (
    (Rule(_PRIVATE_KEY), _always(SECRET)),
    (Rule(r"(://)[^\s/@]{1,500}(?=@)"), _value),
    (Rule(_BEARER), _likely_value),
    (Rule(_NAMED), _value),
    (Rule(_OPTION), _value),
    (Rule(_LOGIN), _value),
    (Rule(_TOLD), _likely_value),
    (Rule(rf"(?<![A-Za-z0-9])(?:{_KEYS})"), _if(_has_digit, SECRET)),
    (Rule(r"[\w.+-]{1,64}@(?:[\w-]{1,63}\.){1,8}[A-Za-z]{2,24}"), _if(_is_mail, "[e-mail]")),
    (Rule(r"(?<![\w+/=-])[A-Za-z0-9+/_=-]{24,}"), _if(is_loud, SECRET)),
    (Rule(r"\b[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,4})?\b"), _iban),
    (Rule(r"(?<![\d.])\d(?:[ -]?\d){12,18}(?!\d)"), _if(is_card, "[card]")),
    (Rule(r"(?<![\w.])(?<!==)(?:\d{1,3}\.){3}\d{1,3}(?!\w|\.\d)"), _if(is_ip, "[ip]")),
    (Rule(_IPV6), _if(is_ip, "[ip]")),
    (Rule(r"(?<![\w+])\+\d(?:[ ().-]{0,2}\d){6,14}(?!\d)"), _always("[phone]")),
    (Rule(r"(?<![\w.-])(?:\(\d{3}\) ?|\d{3}[ .-])\d{3}[ .-]\d{4}(?![\w-])"), _always("[phone]")),
    (Rule(r"(?<![\w.:-])0[1-9](?:[ /-]?\d){8,10}(?![\w:-]|\.\d)"), _always("[phone]")),
)
"""In this order: what names a secret before what only looks like one."""


# Masking: what is shown as evidence, without secrets and personal data.
#
# Rules look at form only: what has the form of a key, an address or a number of somebody is replaced by a
# word in brackets. Every rule is linear, and no more than MOST_READ characters are looked at.

MOST_READ = 2_000
MOST_SHOWN = 200

_TELLING = re.compile(r"[0-9@=:]|--|bearer|basic", re.IGNORECASE)
"""Without any of these, no rule can apply."""


def mask(text: str, keep: Iterable[str] = ()) -> str:
    """The text with secrets and personal data replaced; what stands in one of `keep` is left.

    >>> mask("mail ann@example.com, key sk-proj-4fT9aQ2LxW8zR7Kd")
    'mail [e-mail], key [secret]'
    >>> mask("ann@example.com was warm", keep=["ann@example.com"])
    'ann@example.com was warm'
    """
    text = _cut(text)
    if not _TELLING.search(text):
        return text
    kept = tuple(keep)
    for pattern, replaced in RULES:
        text = pattern.sub(_unless_kept(replaced, kept), text)
    return text


def masked(value: Value) -> Value:
    """A reading as it is shown: numbers as they are, categories masked."""
    return mask(value) if isinstance(value, str) else value


def excerpt(event: Event) -> str | None:
    """What the event says, masked, in at most MOST_SHOWN characters; None where it says nothing.

    That is its text; without one, the command or else the path it is about.
    """
    found = (event.text, event.attributes.get("command"), event.attributes.get("path"))
    said = next((item for item in found if isinstance(item, str) and item.strip()), None)
    if said is None:
        return None
    shown = " ".join(mask(said).split())
    return shown if len(shown) <= MOST_SHOWN else shown[: MOST_SHOWN - 1] + "…"


def _cut(text: str) -> str:
    """At most MOST_READ characters; a word that would be cut in two is left out: it may be half a key."""
    if len(text) <= MOST_READ:
        return text
    head = text[:MOST_READ]
    whole = head if text[MOST_READ].isspace() else head.rsplit(None, 1)[0]
    return f"{whole} …"


def _unless_kept(
    replaced: Callable[[re.Match[str]], str], texts: tuple[str, ...]
) -> Callable[[re.Match[str]], str]:
    if not texts:
        return replaced
    return lambda match: match[0] if any(match[0] in name for name in texts) else replaced(match)
