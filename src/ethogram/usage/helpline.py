"""Helplines by region, for the staff of a service: its own texts, else a small table of well-known numbers.

A number that is out of date does harm, so whoever runs the service checks them and answers for them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from ..errors import BadUsage
from ..models.record import Record
from ..models.slotted import dataclass

ANYWHERE = "default"
MAX_LENGTH = 500
REGION = re.compile(r"[A-Z]{2}(-[A-Z0-9]{1,3})?")
"""A country or a part of it, as in ISO 3166: DE, US-CA."""
EU = "AT BE BG CY CZ DE DK EE ES FI FR GR HR HU IT LT LU LV MT NL PL PT RO SE SI SK"
"""The European Union without Ireland, which has an entry of its own."""
KNOWN_IN = "known November 2026; verify before use"
KNOWN: Mapping[str, str] = {
    region: f"{text} ({KNOWN_IN})"
    for region, text in {
        "US": "988 Suicide & Crisis Lifeline: call or text 988",
        "CA": "9-8-8 Suicide Crisis Helpline: call or text 988",
        "GB": "Samaritans: call 116 123",
        "IE": "Samaritans: call 116 123",
        "AU": "Lifeline: call 13 11 14",
        "NZ": "1737, need to talk?: call or text 1737",
        **dict.fromkeys(EU.split(), "Emergency number: call 112"),
    }.items()
}
"""What is shown to staff where a service has written no text of its own that fits."""


@dataclass(frozen=True, slots=True)
class Helpline(Record):
    """The text to offer, and the region it was written for."""

    region: str
    text: str


def helpline(texts: Mapping[str, str], region: str | None) -> Helpline | None:
    """The text for a region: its own, else its country's, else the default; None where there is none.

    >>> helpline({"US": "Call the line.", "default": "Ask a doctor."}, "US-CA")
    Helpline(region='US', text='Call the line.')
    """
    if region is not None and not REGION.fullmatch(region):
        raise BadUsage(f"invalid region {region!r:.40}: expected a code such as DE or US-CA")
    for name in (*(() if region is None else (region, region.partition("-")[0])), ANYWHERE):
        if name in texts:
            return Helpline(name, texts[name])
    return None


def find_helpline(texts: Mapping[str, str], region: str | None) -> Helpline | None:
    """The service's own text for a region, else the well-known number of its country; None: neither.

    >>> find_helpline({}, "US-NY").text
    '988 Suicide & Crisis Lifeline: call or text 988 (known November 2026; verify before use)'
    """
    return helpline(texts, region) or helpline(KNOWN, region)


def fault(region: object, text: object) -> str | None:
    """What is wrong with an entry, and what was expected; None where nothing is."""
    if not isinstance(region, str) or (region != ANYWHERE and not REGION.fullmatch(region)):
        return f"invalid region {region!r:.40}: expected a code such as DE or US-CA, or {ANYWHERE}"
    if not isinstance(text, str) or not text.strip():
        return f"the text of {region} is missing; write what people there should be offered"
    if len(text) > MAX_LENGTH:
        return f"the text of {region} has {len(text)} characters; at most {MAX_LENGTH} are shown"
    if not text.isprintable():
        return f"the text of {region} has line breaks or control characters; write one line"
    return None
