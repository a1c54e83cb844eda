"""What signals of runs take from the settings and the context: goals, recovery, limits, resources."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from ethogram import analyze
from ethogram.config import Settings
from ethogram.models import Event
from ethogram.models.constants import RESOURCES
from ethogram.signals import Measurer, Options

START = datetime(2026, 5, 1, tzinfo=UTC)


def told(n: int, kind: str, text: str | None = None, subject: str = "agent", **attributes: object) -> Event:
    at = START + timedelta(seconds=n)
    return Event.sample(
        id=f"e{n}", seq=n, at=at, kind=kind, text=text, subject=subject, thread="r", attributes=attributes
    )


def readings(name: str, *events: Event, **options: object) -> list[object]:
    measurer = Measurer([name], Options(**options))
    return [measurer.measure(event).readings.get(name) for event in events]


def asks(text: str) -> Event:
    return told(0, "message", text, subject="ann", role="user")


# --- the goal --------------------------------------------------------------------------------


def test_the_goal_is_shown_short_and_without_secrets():
    goal = f"Deploy with key sk-proj-4fT9aQ2LxW8zR7Kd and mail ann@example.com.\n\n{'More words. ' * 400}"
    _, found = readings("goal_text", asks(goal), told(1, "action", tool="x"))
    assert found.startswith("Deploy with key [secret] and mail [e-mail]. More words.")
    assert len(found) == 200


def test_the_first_goal_stands_and_the_settings_win():
    later = told(2, "message", "Another thing.", subject="ann", role="user")
    events = (asks("Fix the parser."), told(1, "action", tool="x"), later, told(3, "action", tool="x"))
    assert readings("goal_text", *events) == [None, "Fix the parser.", None, "Fix the parser."]
    assert readings("goal_text", *events, goal="Paint it.")[1] == "Paint it."
    assert readings("goal_text", told(1, "action", tool="x")) == [None]


def test_goal_drift_says_what_the_goal_was():
    events = [asks("Fix the parser in calendar/parse.py")]
    for n in range(1, 15):
        event = told(n, "action", tool="x")
        events.append(event.read_as({"alignment": max(0.0, 1 - n / 14)}, {}))
    [item] = analyze(events, patterns=["goal_drift"]).detections
    assert item.details["goals"] == ["Fix the parser in calendar/parse.py"]


def near(text: str, mode: str, goal: str = "Authenticate users at the login form") -> float:
    step = told(1, "action", tool="read", arguments={"query": text})
    return readings("alignment", asks(goal), step, semantic_analysis=mode)[1]


@pytest.mark.parametrize(
    "text", ["authentication loginform", "authenticated usership", "authenticator forms"]
)
def test_parts_of_words_meet_only_in_the_advanced_analysis(text: str):
    assert near(text, "basic") < 0.5 < near(text, "advanced")


@pytest.mark.parametrize("text", ["invoice taxes billing", "station nation ration", "log aut use for"])
def test_words_that_merely_sound_alike_do_not_meet(text: str):
    assert near(text, "advanced") == near(text, "basic") == 0


def test_the_advanced_analysis_never_finds_less():
    for name in ("login users", "parse the calendar", "userid formatting", "x9 y8"):
        basic = near(name, "basic")
        assert basic is None or near(name, "advanced") >= basic


# --- looking for what is there ----------------------------------------------------------------

GONE = {"tool": "Read", "result": "File does not exist.", "error": True}


def looks(n: int, command: str, result: str = "x", code: int = 0) -> Event:
    return told(n, "action", tool="bash", command=command, result=result, exit_code=code)


def test_a_look_that_succeeds_after_a_phantom_is_a_recovery():
    values = readings(
        "recovery",
        looks(1, "ls src"),
        told(2, "action", path="src/gone.py", **GONE),
        looks(3, "ls src"),
        looks(4, "grep -rn name src"),
        looks(5, "cat src/none.py", "cat: src/none.py: No such file or directory", 1),
        looks(6, "cat src/a.py"),
        looks(7, "touch src/b.py", ""),
    )
    assert values == [0, 0, 1, 1, 0, 1, 0]


def test_a_look_long_after_a_phantom_is_none():
    steps = [looks(n, f"touch f{n}", "") for n in range(2, 22)]
    values = readings("recovery", told(1, "action", path="gone.py", **GONE), *steps, looks(30, "ls"))
    assert values[-1] == 0


def test_hallucination_counts_recoveries_and_references_only_where_asked_to():
    events = []
    for n in range(0, 8, 2):
        events.append(told(n, "action", tool="frob", result="Error: unknown tool frob", error=True))
        events.append(looks(n + 1, "ls src"))
    [item] = analyze(events, patterns=["hallucination"]).detections
    assert (item.details["occurrences"], item.details["recovery_attempts"]) == (4, 4)
    assert (item.details["incorrect_references"], item.details["types"]) == (["frob"], ["reference"])
    off = Settings(parameters={"hallucination": {"verify_references": 0}})
    assert not list(analyze(events, patterns=["hallucination"], settings=off).detections)


# --- what is used up --------------------------------------------------------------------------


def growing(count: int = 8) -> list[Event]:
    return [told(n, "action", tool="x", tokens=100 * 2**n, memory=2**n * 1e6) for n in range(count)]


def test_a_limit_is_projected_for_each_resource_that_has_one():
    events = growing(6)
    values = readings("exhaustion", *events, resource_limits={"memory_mb": 512, "tokens": 3_000})
    assert values[-1] == "memory_mb: 4 steps to 512; tokens: 0 steps to 3000"
    assert values[0] == "memory_mb: no_risk; tokens: no_risk"
    assert readings("exhaustion", *events) == ["memory_mb: no limit; tokens: no limit"] * 6
    assert readings("exhaustion", told(1, "action", tool="x")) == [None]


def test_resource_spiral_tells_when_the_limit_is_reached():
    limited = Settings(resource_limits={"memory_mb": 512})
    found = {
        detection.pattern: detection
        for detection in analyze(growing(6), patterns=["resource_spiral"], settings=limited).detections
    }
    projected_exhaustion = found["resource_spiral.memory_mb"].details["projected_exhaustion"]
    assert projected_exhaustion == "memory_mb: 4 steps to 512; tokens: no limit"


@pytest.mark.parametrize("watched", [("tokens",), ("memory_mb",), ("seconds",)])
def test_only_the_resources_that_are_monitored_are_found(watched: tuple[str, ...]):
    some = Settings(resources_monitored=watched)
    patterns = {
        detection.pattern
        for detection in analyze(growing(), patterns=["resource_spiral"], settings=some).detections
    }
    assert patterns == {f"resource_spiral.{name}" for name in watched if name != "seconds"}


@pytest.mark.parametrize("name", RESOURCES)
def test_a_resource_that_is_not_monitored_is_not_read(name: str):
    used = {"tool": "Read", "path": "a", "tokens": 1, "duration": 1.0, "memory": 1e6}
    events = [told(40 * n, "action", **used) for n in range(3)]
    assert readings(name, *events)[-1] is not None
    assert readings(name, *events, resources_monitored=())[-1] is None


def test_the_seeds_name_for_normalization_wins_where_it_is_set():
    assert Options.of(Settings(normalization="low")).normalization == "low"
    assert Options.of(Settings(normalization="low", normalization_level="high")).normalization == "high"
