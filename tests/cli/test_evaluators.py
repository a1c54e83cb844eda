"""`ethogram signals evaluators`: who there is and what each needs; and options as they are given to one."""

from __future__ import annotations

import json

import pytest

from ethogram import registry
from ethogram.cli.main import main
from ethogram.cli.scoring import options_of
from ethogram.errors import BadUsage


def test_everybody_is_listed_with_what_it_needs_and_what_it_is(capsys):
    assert main(["signals", "evaluators", "--json"]) == 0
    found = {one["name"]: one for one in map(json.loads, capsys.readouterr().out.splitlines())}
    assert sorted(found) == registry.evaluators.names()
    for one in found.values():
        assert list(one) == ["record", "name", "needs", "description"]
        assert one["needs"]
        assert "costs nothing" in one["description"] or "paid by the token" in one["description"]
    assert found["local"]["needs"] == "nothing"
    assert "ANTHROPIC_API_KEY" in found["anthropic"]["needs"]
    assert "OPENAI_API_KEY" in found["openai"]["needs"]
    assert "ethogram[llm]" in found["openai"]["needs"]
    assert "file=" in found["recorded"]["needs"]

    assert main(["signals", "evaluators"]) == 0
    lines = capsys.readouterr().out.splitlines()
    for line, one in zip(lines, found.values(), strict=True):
        assert line.split() == [*one["name"].split(), *one["needs"].split(), *one["description"].split()]
    assert len({line.index(one["description"]) for line, one in zip(lines, found.values(), strict=True)}) == 1


def test_options_may_be_mappings_written_as_in_the_settings():
    whole = {"price": {"input": 1, "output": 2.5}}
    assert options_of(["price={input: 1, output: 2.5}"]) == whole
    assert options_of(["price.input=1", "price.output=2.5"]) == whole
    assert options_of(["price={input: 1}", "price.output=2.5"]) == whole


def test_names_stay_texts_though_they_look_like_numbers():
    given = ["model=4.10", "file=2026", "timeout=20", "allow_http=true"]
    assert options_of(given) == {"model": "4.10", "file": "2026", "timeout": 20, "allow_http": True}


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("model=", "--option model has no value: expected model=VALUE"),
        ("price.input= ", "--option price.input has no value"),
        ("model", "expected NAME=VALUE"),
        ("=3", "expected NAME=VALUE"),
        ("price.=3", "expected NAME=VALUE"),
        ("price={input: 1", "--option price"),
        ("price={input: 1} 2", "--option price"),
        ("price={input: *a}", "--option price"),
    ],
)
def test_an_option_that_makes_no_sense_is_told(given, said):
    with pytest.raises(BadUsage) as refused:
        options_of([given])
    assert said in str(refused.value)


def test_a_value_and_a_part_of_it_are_not_both_given():
    with pytest.raises(BadUsage, match="--option price has a value already"):
        options_of(["price=3", "price.input=1"])
