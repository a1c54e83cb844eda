"""Whether what has the form of a card, an address or a key is one: sums, ranges and how it is mixed."""

from __future__ import annotations

import re
from itertools import pairwise

_LENGTHS = """
AD24 AE23 AT20 BE16 BG22 CH21 CY28 CZ24 DE22 DK18 EE20 ES24 FI18 FR27 GB22 GR27 HR21 HU28 IE22 IL23
IS26 IT27 LI21 LT20 LU20 LV21 MC27 MT31 NL18 NO15 PL28 PT25 RO24 RS22 SA24 SE24 SI19 SK24 TR26 UA29
"""
IBAN_LENGTHS = {one[:2]: int(one[2:]) for one in _LENGTHS.split()}
_ISSUERS = re.compile(r"4|5[1-5]|2[2-7]|3[0-8]|6[0-9]")
_SEPARATORS = re.compile(r"[+/_=-]+")
_HEX = re.compile(r"[0-9a-f]+|[0-9A-F]+")


def is_card(text: str) -> bool:
    """Whether the digits are a card number: an issuer's first ones, and the Luhn sum.

    >>> is_card("4111 1111 1111 1111"), is_card("4111 1111 1111 1112"), is_card("1767225600000")
    (True, False, False)
    """
    digits = [int(char) for char in text if char.isdigit()]
    doubled = [sum(divmod(2 * one, 10)) for one in digits[-2::-2]]
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
    changes = sum(_sort(one) != _sort(two) for one, two in pairs) / max(len(pairs), 1)
    if digits < 2:
        # Names in camel case change often too, but they can be spoken.
        return changes >= 0.4 and sum(char in "aeiouAEIOU" for char in whole) <= 0.3 * len(whole)
    return changes >= (0.22 if len(runs) == 1 and digits >= 4 else 0.35)


def _sort(char: str) -> int:
    return 0 if char.isdigit() else 1 if char.isupper() else 2
