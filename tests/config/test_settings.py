"""Settings: where each value comes from, and what is refused."""

from dataclasses import fields
from pathlib import Path
from zoneinfo import available_timezones

import pytest

from ethogram.config import Loaded, Settings, load_settings, show
from ethogram.config.settings import SETTINGS, setting_check
from ethogram.errors import BadConfig
from ethogram.models import parse_duration
from ethogram.models.constants import NOT_PLACES
from ethogram.models.limits import Limits
from ethogram.risk.scoring import RiskWeights
from ethogram.signals import Options
from ethogram.signals.timing import is_zone
from waiting import calls_of

FULL = """\
patterns: [my/patterns, love_bombing, 'extra/*.yaml']
parameters:
  love_bombing: {warmth: 0.3, pressure: 0.25}
  darvo:
    limit: 7
status: {darvo: shadow}
scorers: {'*': judge@2, compassion: judge@3}
signals: {mood: category, my_score: number}
time_zone: Europe/Paris
session_inactivity: 45m
lateness: 90s
source: forum
limits: {events: 1000}
fail_on: high
"""


@pytest.fixture(autouse=True)
def empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def load(text: str | bytes = "", environ: dict | None = None, overrides: dict | None = None) -> Loaded:
    Path("ethogram.yaml").write_bytes(text if isinstance(text, bytes) else text.encode())
    return load_settings("ethogram.yaml", environ=environ or {}, overrides=overrides)


def faults(text: str | bytes = "", environ: dict | None = None, overrides: dict | None = None) -> list[str]:
    with pytest.raises(BadConfig) as caught:
        load(text, environ, overrides)
    return [str(fault) for fault in caught.value.faults]


def test_without_anything_every_value_is_its_default():
    loaded = load_settings(environ={})
    assert loaded == Loaded(Settings(), loaded.origins, None)
    assert set(loaded.origins.values()) == {"default"}


def test_every_setting_has_a_check():
    assert [field.name for field in fields(Settings)] == list(SETTINGS)
    assert all(callable(setting_check(name)) for name in SETTINGS)


def test_the_defaults_are_those_of_the_parts_they_are_for():
    assert Limits(**Settings().limits) == Limits()
    assert RiskWeights(**Settings().risk) == RiskWeights()
    assert Options(Settings().time_zone, Settings().session_inactivity) == Options()


def test_signals_and_settings_know_the_same_time_zones():
    assert all(is_zone(name) for name in available_timezones() - NOT_PLACES)
    assert not any(is_zone(name) for name in NOT_PLACES)


def test_a_file_may_set_everything():
    settings = load(FULL).settings
    assert settings.patterns == ("my/patterns", "love_bombing", "extra/*.yaml")
    assert settings.parameters == {"love_bombing": {"warmth": 0.3, "pressure": 0.25}, "darvo": {"limit": 7}}
    assert settings.status == {"darvo": "shadow"}
    assert settings.scorers == {"*": "judge@2", "compassion": "judge@3"}
    assert settings.signals == {"mood": "category", "my_score": "number"}
    assert settings.time_zone == "Europe/Paris"
    assert settings.session_inactivity == parse_duration("45m")
    assert settings.lateness == parse_duration("90s")
    assert settings.source == "forum"
    assert settings.limits == {**Settings().limits, "events": 1000}
    assert settings.fail_on == "high"


def test_what_concerns_runs_may_be_set_in_the_file_and_in_the_environment():
    text = (
        "inference_enabled: false\nsemantic_analysis: advanced\nnormalization_level: high\n"
        "resources_monitored: [tokens]\nresource_limits: {memory_mb: 512.5}\n"
    )
    environ = {
        "ETHOGRAM_INFERENCE_ENABLED": "false",
        "ETHOGRAM_SEMANTIC_ANALYSIS": "advanced",
        "ETHOGRAM_NORMALIZATION_LEVEL": "high",
        "ETHOGRAM_RESOURCES_MONITORED": "[tokens]",
        "ETHOGRAM_RESOURCE_LIMITS": "{memory_mb: 512.5}",
    }
    for settings in (load(text).settings, load("", environ).settings):
        assert not settings.inference_enabled
        assert (settings.semantic_analysis, settings.normalization_level) == ("advanced", "high")
        assert (settings.resources_monitored, settings.resource_limits) == (("tokens",), {"memory_mb": 512.5})
    assert load("", {"ETHOGRAM_RESOURCES_MONITORED": "tokens"}).settings.resources_monitored == ("tokens",)


def test_each_value_knows_its_line():
    origins = load(FULL).origins
    assert origins["patterns"] == "ethogram.yaml:1:1"
    assert origins["parameters.love_bombing.pressure"] == "ethogram.yaml:3:31"
    assert origins["parameters.darvo.limit"] == "ethogram.yaml:5:5"
    assert origins["limits.events"] == "ethogram.yaml:13:10"
    assert origins["limits.line"] == "default"


def test_show_lists_every_value_once_with_its_origin():
    lines = {key: (value, origin) for key, value, origin in show(load(FULL))}
    assert len(lines) == len(show(load(FULL)))
    assert lines["parameters.love_bombing.warmth"] == (0.3, "ethogram.yaml:3:18")
    assert lines["session_inactivity"] == ("45m", "ethogram.yaml:10:1")
    assert lines["patterns"] == (["my/patterns", "love_bombing", "extra/*.yaml"], "ethogram.yaml:1:1")
    assert "parameters" not in lines
    assert {key: value for key, value, _ in show(load())}["parameters"] == {}


def test_the_environment_wins_over_the_file_and_the_caller_over_both():
    text, environ = (
        "lateness: 1s\nsource: a\nfail_on: low",
        {"ETHOGRAM_LATENESS": "2s", "ETHOGRAM_SOURCE": "b"},
    )
    loaded = load(text, environ, {"lateness": "3s"})
    assert (loaded.settings.lateness, loaded.origins["lateness"]) == (parse_duration("3s"), "--lateness")
    assert (loaded.settings.source, loaded.origins["source"]) == ("b", "ETHOGRAM_SOURCE")
    assert (loaded.settings.fail_on, loaded.origins["fail_on"]) == ("low", "ethogram.yaml:3:1")


def test_mappings_are_laid_over_each_other_entry_by_entry():
    text = "parameters: {a: {x: 1, y: 2}, b: {z: 3}}"
    loaded = load(text, {"ETHOGRAM_PARAMETERS": "{a: {y: 5}}"}, {"parameters": {"c": {"w": 9}}})
    assert loaded.settings.parameters == {"a": {"x": 1, "y": 5}, "b": {"z": 3}, "c": {"w": 9}}
    assert loaded.origins["parameters.a.x"] == "ethogram.yaml:1:18"
    assert loaded.origins["parameters.a.y"] == "ETHOGRAM_PARAMETERS"
    assert loaded.origins["parameters.c.w"] == "--set"


def test_lists_are_replaced_whole():
    assert load("patterns: [a, b]", {"ETHOGRAM_PATTERNS": "[c]"}).settings.patterns == ("c",)
    assert load("patterns: [a, b]", {"ETHOGRAM_PATTERNS": "my/own.yaml"}).settings.patterns == (
        "my/own.yaml",
    )


def test_a_variable_can_take_a_setting_back():
    loaded = load("fail_on: high\ntime_zone: UTC", {"ETHOGRAM_FAIL_ON": "null", "ETHOGRAM_TIME_ZONE": "null"})
    assert (loaded.settings.fail_on, loaded.settings.time_zone) == (None, None)


def test_an_empty_variable_and_an_option_that_was_not_given_say_nothing():
    loaded = load("source: a", {"ETHOGRAM_SOURCE": ""}, {"source": None})
    assert loaded.origins["source"] == "ethogram.yaml:1:1"


def test_the_file_may_be_named_by_path_or_by_variable():
    Path("other.yaml").write_text("source: other")
    Path("third.yaml").write_text("source: third")
    Path("ethogram.yaml").write_text("source: here")
    environ = {"ETHOGRAM_CONFIG": "other.yaml"}
    assert load_settings(environ=environ).settings.source == "other"
    assert load_settings("third.yaml", environ=environ).settings.source == "third"
    assert load_settings("third.yaml", environ=environ).path == "third.yaml"
    assert load_settings(environ={}).path == "ethogram.yaml"


@pytest.mark.parametrize("text", ["", "# nothing yet\n", "---\n", "null\n", "\ufeffsource: input\n"])
def test_a_file_that_says_nothing_is_fine(text: str):
    assert load(text).settings == Settings()


def test_an_unknown_key_is_refused_with_its_place_and_the_nearest():
    assert faults("source: a\nlatenes: 30s") == [
        "ethogram.yaml:2:1: unknown setting 'latenes'; did you mean 'lateness'?"
    ]
    assert faults("limits:\n  event: 5") == [
        "ethogram.yaml:2:3: unknown key in limits: 'event'; did you mean 'events'?"
    ]


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("patterns: mine", "1:11: patterns must be a list, like [a, b]; got 'mine'"),
        ("patterns: [a, 3]", "1:15: patterns.1 must be a text; got 3"),
        ("patterns: ['']", "1:12: patterns.0 must be a text; got ''"),
        ("parameters: {a: 1}", "1:17: parameters.a must be a mapping, like {name: value}; got 1"),
        ("parameters: {a: {b: high}}", "1:21: parameters.a.b must be a number; got 'high'"),
        ("parameters: {a: {b: true}}", "1:21: parameters.a.b must be a number; got True"),
        ("parameters: {a: {b: .nan}}", "1:21: parameters.a.b must be a number; got '.nan'"),
        (
            "status: {a: stabel}",
            "1:13: status.a must be one of experimental, shadow, stable, retired; got 'stabel'",
        ),
        ("scorers: {a: [b]}", "1:14: scorers.a must be a text; got ['b']"),
        ("signals: {a: text}", "1:14: signals.a must be one of number, category; got 'text'"),
        ("signals: {My Mood: number}", "1:11: signals: the name 'My Mood' must be a plain word"),
        (
            "time_zone: Europe/Pariss",
            "1:12: time_zone must be the name of a time zone, like Europe/Paris; got 'Europe/Pariss'",
        ),
        ("time_zone: ../../etc/passwd", "1:12: time_zone must be the name of a time zone"),
        ("time_zone: localtime", "1:12: time_zone must be the name of a time zone"),
        (
            "session_inactivity: 30",
            "1:21: session_inactivity must be a duration, like 90s, 30m, 48h, 7d or 2w",
        ),
        ("lateness: soon", "1:11: lateness must be a duration"),
        ("lateness: -5s", "1:11: lateness must be a duration"),
        ("source: 7", "1:9: source must be a text; got 7"),
        ("source:", "1:8: source must be a text; got nothing"),
        ("limits: {events: 0}", "1:18: limits.events must be a whole number above 0; got 0"),
        ("limits: {events: 1.5}", "1:18: limits.events must be a whole number above 0; got 1.5"),
        ("limits: {events: true}", "1:18: limits.events must be a whole number above 0; got True"),
        (
            "fail_on: hihg",
            "1:10: fail_on must be one of low, medium, high, critical (leave it out for none); got 'hihg'",
        ),
        (
            "fail_on: [high]",
            "1:10: fail_on must be one of low, medium, high, critical (leave it out for none); got ['high']",
        ),
        ("inference_enabled: maybe", "1:20: inference_enabled must be true or false; got 'maybe'"),
        ("semantic_analysis: deep", "1:20: semantic_analysis must be one of basic, advanced; got 'deep'"),
        ("resources_monitored: tokens", "1:22: resources_monitored must be a list, like [a, b]"),
        (
            "resources_monitored: [token]",
            "1:23: resources_monitored.0 must be one of memory_mb, file_operations",
        ),
        ("resource_limits: {tokens: 0}", "1:27: resource_limits.tokens must be a number above 0; got 0"),
        ("resource_limits: {disk: 5}", "1:19: unknown key in resource_limits: 'disk'"),
        ("[a, b]", "1:1: must be a mapping of settings, like lateness: 30s"),
        ("just words", "1:1: must be a mapping of settings, like lateness: 30s"),
        ("source: a\nsource: b", "2:1: key 'source' stands twice (first in line 1); remove one"),
        ("source: &x a\nfail_on: *x", "1:9: anchors and aliases are not allowed; write the value out"),
        ("source: [a", "1:11: is not YAML"),
        ("source: !!python/object a", "1:9: tag"),
    ],
)
def test_what_is_wrong_is_said_with_its_place_and_what_would_be_right(text: str, fault: str):
    [said] = faults(text)
    assert said.startswith(f"ethogram.yaml:{fault}")


@pytest.mark.parametrize(
    ("text", "nearest"),
    [
        ("status: {a: stabel}", "stable"),
        ("fail_on: hihg", "high"),
        ("time_zone: Europe/Pariss", "Europe/Paris"),
    ],
)
def test_a_word_that_is_nearly_right_is_answered_with_the_right_one(text: str, nearest: str):
    [said] = faults(text)
    assert f"did you mean {nearest!r}" in said


def test_all_faults_are_told_at_once():
    texts = faults(
        "latenes: 1s\nsource: 7\nlimits: {events: no, lines: 3}\nfail_on: high",
        {"ETHOGRAM_FAIL_ON": "hihg", "ETHOGRAM_SCORERS": "{a: [", "ETHOGRAM_LATENES": "1s"},
        {"status": {"x": "on"}, "colour": "red"},
    )
    places = sorted(item.split(": ")[0] for item in texts)
    assert places == sorted(
        [
            *("ethogram.yaml:1:1", "ethogram.yaml:2:9", "ethogram.yaml:3:18", "ethogram.yaml:3:22"),
            *("ETHOGRAM_FAIL_ON", "ETHOGRAM_LATENES", "ETHOGRAM_SCORERS:1:6", "--status", "--colour"),
        ]
    )


def test_faults_in_the_environment_are_found_beside_a_file_that_cannot_be_read():
    texts = faults(b"source: \xff", {"ETHOGRAM_SOURCE": " "})
    assert texts[0] == "ethogram.yaml:1:9: is not UTF-8; save the file as UTF-8"
    assert texts[1].startswith("ETHOGRAM_SOURCE: source must be a text")


def test_variables_of_tests_and_benchmarks_are_left_alone():
    loaded = load("", {"ETHOGRAM_DATA": "/data", "ETHOGRAM_TESTS": "long", "ETHOGRAM": "1", "PATH": "/bin"})
    assert set(loaded.origins.values()) == {"default"}


def test_a_file_that_is_not_there_is_a_fault_only_if_it_was_named():
    with pytest.raises(BadConfig, match=r"nowhere\.yaml: cannot be read: No such file"):
        load_settings("nowhere.yaml", environ={})
    with pytest.raises(BadConfig, match=r"nowhere\.yaml: cannot be read: No such file"):
        load_settings(environ={"ETHOGRAM_CONFIG": "nowhere.yaml"})
    Path("ethogram.yaml").symlink_to("nowhere.yaml")
    with pytest.raises(BadConfig, match=r"ethogram\.yaml: cannot be read: No such file"):
        load_settings("ethogram.yaml", environ={})


def test_a_folder_is_refused():
    Path("ethogram.yaml").mkdir()
    with pytest.raises(BadConfig, match="is a folder"):
        load_settings("ethogram.yaml", environ={})


@pytest.mark.parametrize(
    "text",
    [
        b"a: " + b"x" * 200_000,
        b"[" * 100_000,
        b"\xff" * 1000,
        b"\0" * 1000,
        b"a: &a [1]\nb: *a\n" * 3,
        b"? [a]\n: b",
    ],
    ids=["too large", "too deep", "not UTF-8", "nul", "aliases", "a list as key"],
)
def test_a_hostile_file_is_refused_at_once(text: bytes):
    assert faults(text)
    # Nothing of it is gone through, however much there is.
    assert calls_of(lambda: faults(text)) < 10_000


def test_a_file_of_many_mistakes_shows_the_first_and_counts_the_rest():
    with pytest.raises(BadConfig) as caught:
        load("\n".join(f"latenes{n}: 1" for n in range(300)))
    assert (len(caught.value.faults), caught.value.more) == (50, 250)


SECRET = "sk-ant-0123456789"
NEVER_HERE = "keys to services must not be in settings; name the environment variable in key_env"


@pytest.mark.parametrize(
    "key",
    ["api_key", "key", "token", "secret", "password", "apiKey", "API-KEY", "auth_token", "client_secret"],
)
def test_a_secret_among_the_options_of_an_evaluator_is_refused_and_not_shown(key: str):
    texts = faults(f"evaluators:\n  anthropic:\n    model: m\n    {key}: {SECRET}\n")
    assert texts == [f"ethogram.yaml:4:5: evaluators.anthropic: {key}: {NEVER_HERE}"]
    assert faults(f"evaluators: {{{key}: {SECRET}}}") == [
        f"ethogram.yaml:1:14: evaluators: {key}: {NEVER_HERE}"
    ]
    assert faults(f"evaluators: {{a: {{deep: {{{key}: {SECRET}}}}}}}") == [
        f"ethogram.yaml:1:25: evaluators.a.deep: {key}: {NEVER_HERE}"
    ]
    texts = faults(environ={"ETHOGRAM_EVALUATORS": f"{{a: {{{key}: {SECRET}}}}}"})
    assert texts == [f"ETHOGRAM_EVALUATORS: evaluators.a: {key}: {NEVER_HERE}"]


@pytest.mark.parametrize(
    "text",
    [
        f"evaluators: {{anthropic: {SECRET}}}",
        f"evaluators: {SECRET}",
        f"evaluators: {{anthropic: {{model: [{SECRET}]}}}}",
        f"evaluators: {{anthropic: {{key_env: {SECRET}}}}}",
    ],
)
def test_what_stands_in_the_wrong_place_there_may_be_a_secret_and_is_not_shown(text: str):
    (said,) = faults(text)
    assert said.startswith("ethogram.yaml:1:")
    assert "must be" in said
    assert SECRET not in said


def test_names_that_only_sound_like_secrets_may_stand_there():
    options = {"key_env": "MY_KEY", "max_tokens": 900, "monkey": 1, "token_limit": 3, "model": "m"}
    assert load(overrides={"evaluators": {"openai": options}}).settings.evaluators == {"openai": options}
