"""Helplines: the words that a service has written for a region."""

from __future__ import annotations

import pytest

from ethogram.errors import BadUsage
from ethogram.usage.helpline import KNOWN, KNOWN_IN, Helpline, fault, find_helpline, helpline

TEXTS = {"US": "the country's", "US-CA": "the state's", "default": "anywhere's"}


@pytest.mark.parametrize(
    ("region", "chosen"),
    [("US-CA", "US-CA"), ("US-NY", "US"), ("US", "US"), ("DE", "default"), (None, "default")],
)
def test_the_nearest_region_is_chosen(region, chosen):
    assert helpline(TEXTS, region) == Helpline(chosen, TEXTS[chosen])


def test_without_any_text_nothing_is_offered():
    assert helpline({}, "DE") is None
    assert helpline({"FR": "theirs"}, "DE") is None


@pytest.mark.parametrize("region", ["germany", "de", "", "../x", "US-", "DE\n"])
def test_what_is_no_region_is_told(region):
    with pytest.raises(BadUsage, match="expected a code such as DE or US-CA"):
        helpline(TEXTS, region)


@pytest.mark.parametrize(
    ("region", "text", "said"),
    [
        ("deutschland", "x", "invalid region"),
        ("DE", "", "missing"),
        ("DE", 116123, "missing"),
        ("DE", "x" * 501, "501 characters"),
        ("DE", "a\x1b[31mred", "control characters"),
        ("DE", "two\nlines", "line breaks"),
    ],
)
def test_faults_of_an_entry(region, text, said):
    assert said in (fault(region, text) or "")


def test_a_good_entry_has_no_fault():
    assert fault("DE", "Telefon 000, kostenlos, rund um die Uhr") is None


def test_a_services_own_text_comes_before_a_well_known_number():
    assert find_helpline(TEXTS, "US-NY") == Helpline("US", TEXTS["US"])
    assert find_helpline({"default": "anywhere's"}, "GB") == Helpline("default", "anywhere's")
    assert find_helpline({"FR": "theirs"}, "GB") == Helpline("GB", KNOWN["GB"])
    assert find_helpline({}, None) is None
    assert find_helpline({}, "BR") is None


@pytest.mark.parametrize("region", KNOWN)
def test_every_well_known_number_is_an_entry_that_asks_to_be_verified(region):
    assert fault(region, KNOWN[region]) is None
    assert KNOWN[region].endswith(f"({KNOWN_IN})")
