"""Helplines: texts that a service gives its own people, by region. None ship with the package.

A number that is out of date does harm, so whoever runs the service writes them and answers for them.
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
