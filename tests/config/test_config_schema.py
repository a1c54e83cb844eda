"""The published schema of the settings says what the checks say."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator
from ruamel.yaml import YAML

from ethogram.config import Settings, load_settings, show
from ethogram.config.loading import default_settings
from ethogram.config.settings import CONVERSATION, HOOK, LEARNING, LIMITS, RISK, USAGE
from ethogram.errors import BadConfig
from ethogram.schemas import descriptions, schema
from markdown_blocks import blocks
from sampling import for_each

SCHEMA = schema("config")
NESTED = {
    "hook": HOOK,
    "usage": USAGE,
    "conversation": CONVERSATION,
    "risk": RISK,
    "learning": LEARNING,
    "limits": LIMITS,
}


@pytest.fixture(autouse=True)
def empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def is_valid(value: object) -> bool:
    return Draft202012Validator(SCHEMA).is_valid(value)


def is_read(text: str) -> bool:
    Path("ethogram.yaml").write_text(text)
    try:
        load_settings("ethogram.yaml", environ={})
    except BadConfig:
        return False
    return True


def read(text: str) -> object:
    return YAML(typ="safe", pure=True).load(text)


def test_every_setting_is_in_it_with_what_it_says_and_its_default():
    names = [field.name for field in fields(Settings)]
    assert list(SCHEMA["properties"]) == names
    assert set(descriptions(Settings)) == set(names)
    assert all(item["description"] for item in SCHEMA["properties"].values())
    assert is_valid(default_settings())
    for name, defaults in NESTED.items():
        assert set(defaults) <= set(SCHEMA["properties"][name]["properties"]), name


def test_the_defaults_read_back_as_the_defaults():
    assert is_read("")
    before = load_settings(environ={})
    Path("ethogram.yaml").write_text("")
    after = load_settings(
        environ={}, overrides={k: v for k, v in default_settings().items() if v is not None}
    )
    assert after.settings == before.settings


@pytest.mark.parametrize(
    "text",
    [
        "risk: {weights: {low: 0.2}, half_life: 12h, half_lives: {stuck: 1d}, floor: 0}",
        "risk: {multipliers: {both: 2}}",
        "risk: {floor_half_life: 2w}",
        "enabled_patterns: [loop, 'run/*']",
        "combination_detection: false",
        "learning: {enabled: false, adjustment_threshold: 0.8, history_retention_days: 90, automatic: true}",
        "calibration: false",
        "hook: {rungs: [nudge, stop], cool_down: 3}",
        "usage: {night: [22, 4], cohort: 0, weights: {text: 0.5}}",
        "conversation: {embedder: 'onnx:/models/minilm'}",
        "conversation: {embedder: 'openai:nomic-embed-text@http://localhost:11434/v1'}",
        "conversation: {embedder: null, half_life: 1h, weights: {keywords: 2}}",
        "resources_monitored: [tokens]",
        "resource_limits: {tokens: 10.5}",
        "fail_on: null",
        "time_zone: Europe/Paris",
        "limits: {events: 3}",
        "parameters: {loop: {window_size: 30}}",
    ],
)
def test_both_take(text):
    assert is_read(text)
    assert is_valid(read(text))


@pytest.mark.parametrize(
    "text",
    [
        "risk: {weights: {low: 2}}",
        "risk: {weights: {grave: 0.2}}",
        "risk: {half_life: 0s}",
        "risk: {half_life: 7}",
        "risk: {half_lives: {stuck: soon}}",
        "risk: {multipliers: {both: 0.5}}",
        "risk: {floor: -0.1}",
        "risk: {height: 1}",
        "enabled_patterns: loop",
        "patterns: [mine, x.py]",
        "hook: {patterns: [x.py]}",
        "combination_detection: maybe",
        "learning: {adjustment_threshold: 70}",
        "learning: {history_retention_days: 0}",
        "hook: {rungs: [shout]}",
        "usage: {night: [3, 3]}",
        "usage: {kinds: [talk]}",
        "conversation: {weights: {keywords: 11}}",
        "conversation: {embedder: statc}",
        "conversation: {embedder: 'onnx:'}",
        "resource_limits: {tokens: 0}",
        "fail_on: grave",
        "limits: {events: 0}",
        "parameters: {loop: {window_size: many}}",
        "latness: 3s",
        "[1, 2]",
    ],
)
def test_both_refuse(text):
    assert not is_read(text)
    assert not is_valid(read(text))


@for_each("block", blocks("yaml"))
def test_settings_in_the_documentation_are_valid(block):
    value = read(block.text)
    is_settings = isinstance(value, dict) and set(value) <= set(SCHEMA["properties"])
    if is_settings and block.page.name != "mute.md":  # a file of mutes begins like a setting
        errors = [error.message for error in Draft202012Validator(SCHEMA).iter_errors(value)]
        assert not errors


def test_weights_that_do_not_rise_are_told_with_their_place():
    Path("ethogram.yaml").write_text("fail_on: high\nrisk:\n  weights: {low: 0.5, high: 0.2}\n")
    with pytest.raises(BadConfig) as caught:
        load_settings("ethogram.yaml", environ={})
    assert [str(fault) for fault in caught.value.faults] == [
        "ethogram.yaml:3:13: risk.weights: medium (0.3) must not weigh less than low (0.5)",
        "ethogram.yaml:3:23: risk.weights: high (0.2) must not weigh less than medium (0.3)",
    ]


def test_durations_are_shown_as_they_are_written():
    Path("ethogram.yaml").write_text("risk: {half_life: 36h, half_lives: {stuck: 90s}}\n")
    shown = show(load_settings("ethogram.yaml", environ={}))
    told = {key: value for key, value, _ in shown if key.startswith("risk.half")}
    assert told == {"risk.half_life": "36h", "risk.half_lives.stuck": "90s"}
