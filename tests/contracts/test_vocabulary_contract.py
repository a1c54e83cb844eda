"""What the catalogues, the tables and every registered signal promise to pattern files."""

import csv
import keyword
import math
import re

import pytest

from ethogram import registry
from ethogram.data import DATA
from ethogram.errors import BadConfig
from ethogram.models import TRAITS, is_indicator_name
from ethogram.patterns.catalogue import (
    attribute_catalogue,
    indicator_catalogue,
    known_signals,
    load_tables,
    load_vocabulary,
    signal_catalogue,
)
from sampling import for_each

EVENT_FIELDS = {"kind", "source", "subject", "target", "thread", "session", "reply_to"}
RESERVED = {
    "gap",
    "age",
    "rise",
    "tau",
    "difference",
    "plain_difference",
    "t",
    "n_where",
    "n_against",
    "deadline",
}
CALLS = {
    *("known", "or_else", "any", "abs", "log", "sqrt", "clip", "min", "max", "minutes", "hours", "days"),
    *("count", "share", "sum", "mean", "std", "median", "distinct", "top_count", "oldest", "newest", "run"),
    *("cycle", "cycle_length", "growth", "swings", "swing_growth", "rate", "usual", "surprise", "values"),
    *("surprise_count", "jump", "excess", "fading", "span", "cover", "top"),
}


def test_there_are_214_indicators_of_the_twelve_traits():
    found = indicator_catalogue()
    assert len(found) == 214
    assert {item.trait for item in found.values()} == set(TRAITS)
    assert {item.polarity for item in found.values()} == {"+", "-"}


def test_every_indicator_is_recognised_by_its_name():
    assert [name for name in indicator_catalogue() if not is_indicator_name(name)] == []


def test_no_indicator_is_listed_twice():
    with open(DATA / "vocabulary" / "indicators.csv", encoding="utf-8") as file:
        assert sum(1 for _ in csv.DictReader(file)) == len(indicator_catalogue())


def test_a_trait_belongs_to_one_dimension_and_has_one_polarity():
    assert len({(item.trait, item.dimension, item.polarity) for item in indicator_catalogue().values()}) == 12


def test_every_trait_is_a_number_from_0_to_1():
    for trait in TRAITS:
        assert (signal_catalogue()[trait].kind, signal_catalogue()[trait].range) == ("number", (0, 1))


def test_every_field_of_an_event_that_a_pattern_may_name_is_a_category():
    assert {attribute_catalogue()[name].kind for name in EVENT_FIELDS} == {"category"}


def test_no_name_is_both_a_signal_and_an_attribute():
    assert not set(known_signals()) & set(attribute_catalogue())


@for_each("name", sorted({*known_signals(), *attribute_catalogue()}))
def test_a_name_can_be_written_in_a_condition_and_means_one_thing(name: str):
    assert re.fullmatch(r"[a-z][a-z0-9_]*", name)
    assert not keyword.iskeyword(name)
    assert name not in RESERVED | CALLS


@for_each("entry", [*signal_catalogue().values(), *attribute_catalogue().values()])
def test_an_entry_is_described_in_one_line_and_has_a_kind(entry):
    assert entry.kind in ("number", "category", "any")
    assert entry.description.endswith(".")
    assert "\n" not in entry.description


@for_each("entry", signal_catalogue().values())
def test_a_signal_is_a_number_or_a_category_and_its_range_says_the_same(entry):
    assert entry.kind in ("number", "category")
    if entry.kind == "number":
        low, high = entry.range
        assert low < high
    else:
        assert entry.range is None or all(isinstance(item, str) for item in entry.range)


def test_a_signal_that_is_measured_here_and_may_be_supplied_is_of_one_kind():
    for name, signal in registry.signals.items():
        if name in signal_catalogue():
            assert signal_catalogue()[name].kind == signal.kind


def test_every_table_gives_weights_to_known_indicators():
    for values in load_tables().values():
        assert set(values) <= set(indicator_catalogue())
        assert all(math.isfinite(value) and value >= 0 for value in values.values())


def test_base_rate_weighs_every_indicator_and_a_rare_one_more():
    weights = load_tables()["base_rate"]
    assert set(weights) == set(indicator_catalogue())
    # Never seen in 1354 messages: -log10(0.5 / 1355). Seen in 630 of them: -log10(630.5 / 1355).
    assert max(weights.values()) == 3.43
    assert weights["RSN_STRUCTURE"] == 0.33


def test_a_vocabulary_knows_catalogue_registry_and_declarations():
    found = load_vocabulary({"mood": "category"})
    assert found.signals["compassion"] == "number"
    assert found.signals["late_night"] == "number"
    assert found.signals["mood"] == "category"
    assert "MAN_LOVEBOMB" in found.indicators
    assert found.attributes["tool"] == "category"
    assert "mood" not in load_vocabulary().signals


def test_declaring_what_is_known_as_the_same_is_harmless():
    assert load_vocabulary({"compassion": "number"}).signals["compassion"] == "number"


def test_contradictions_are_refused_all_at_once():
    declared = {"compassion": "category", "tool": "category", "MAN_LOVEBOMB": "number", "mood": "colour"}
    with pytest.raises(BadConfig) as caught:
        load_vocabulary(declared)
    messages = [fault.message for fault in caught.value.faults]
    assert messages[0].startswith("signals.compassion: is known as a number, not a category")
    assert messages[1].startswith("signals.tool: is an attribute")
    assert messages[2].startswith("signals.MAN_LOVEBOMB: is an indicator")
    assert messages[3].startswith("signals.mood: unknown kind 'colour'; write number or category")
