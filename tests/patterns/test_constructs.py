"""The library speaks the whole language, and says all there is to say about each of its patterns."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from ethogram.language.aggregates import MEASURES
from ethogram.language.ast import (
    AnyOf,
    Attribute,
    Combination,
    Contrast,
    Cover,
    Duration,
    Elapsed,
    Events,
    Expr,
    Function,
    Indicator,
    Known,
    Measure,
    Member,
    Never,
    Not,
    OrElse,
    Sequence,
    Silence,
    Spread,
    Step,
    StepCount,
    StepMean,
    StepValue,
    Threshold,
    Trend,
    Window,
)
from ethogram.language.visitor import expressions, walk
from ethogram.patterns.library import load_patterns
from ethogram.patterns.pattern_file import PatternFile
from sampling import for_each

FILES = {file.name: file for file in load_patterns(["*"])}
DURATIONS = ("seconds", "minutes", "hours", "days")
WORDS = ("title", "description", "triage", "cause", "explanation", "recommendation", "id", "status")
LISTS = {"false_positives": 2, "misses": 1, "references": 1, "tags": 1}

Test = Callable[[Any], bool]


def exprs(file: PatternFile) -> Iterator[Expr]:
    for pattern in file.patterns:
        for outer in expressions(pattern):
            yield from walk(outer)


def shapes(file: PatternFile) -> Iterator[Any]:
    yield from (pattern.shape for pattern in file.patterns)


def steps(file: PatternFile) -> Iterator[Step]:
    for shape in shapes(file):
        if isinstance(shape, Sequence):
            yield from (item for item in shape.items if isinstance(item, Step))


def windows(file: PatternFile) -> Iterator[Window]:
    yield from (one.window for one in exprs(file) if isinstance(one, Measure | Cover))


def in_shape(test: Test) -> Test:
    return lambda file: any(test(shape) for shape in shapes(file))


def in_sequence(test: Test) -> Test:
    return in_shape(lambda shape: isinstance(shape, Sequence) and test(shape))


def in_step(test: Test) -> Test:
    return lambda file: any(test(step) for step in steps(file))


def in_window(test: Test) -> Test:
    return lambda file: any(test(window) for window in windows(file))


def holds(test: Test) -> Test:
    return lambda file: any(test(one) for one in exprs(file))


def is_a(*kinds: type) -> Test:
    return holds(lambda one: isinstance(one, kinds))


def measures(name: str) -> Test:
    return holds(lambda one: isinstance(one, Measure) and one.name == name)


def calls(name: str) -> Test:
    """A function that is worked out when the file is read, so only its text tells."""
    return lambda file: re.search(rf"\b{name}\(", str(file.data)) is not None


def says(key: str, test: Test = bool) -> Test:
    return lambda file: test(file.data.get(key))


def kinds_of(limits: tuple[Any, ...]) -> list[type]:
    return [type(limit) for limit in limits]


def written_shape(key: str, value: Any) -> Test:
    return lambda file: file.data["shape"].get(key) is value


CONSTRUCTS: dict[str, Test] = {
    "sequence": in_shape(lambda s: isinstance(s, Sequence)),
    "times": lambda file: any("times" in item for item in file.data["shape"].get("sequence", ())),
    "at_least": in_step(lambda step: step.collects and step.times > 1),
    "never": in_sequence(lambda s: any(isinstance(item, Never) for item in s.items)),
    "optional": in_step(lambda step: step.optional),
    "within (step): a duration": in_step(lambda step: kinds_of(step.within) == [Duration]),
    "within (step): events": in_step(lambda step: kinds_of(step.within) == [Events]),
    "within (step): both": in_step(lambda step: set(kinds_of(step.within)) == {Duration, Events}),
    "max_gap: 0": in_sequence(lambda s: s.max_gap == 0),
    "no max_gap": in_sequence(lambda s: s.max_gap is None),
    "max_gap: a number": in_sequence(lambda s: s.max_gap is not None and s.max_gap > 0),
    "within: a duration": in_sequence(lambda s: kinds_of(s.within) == [Duration]),
    "within: both": in_sequence(lambda s: len(s.within) == 2),
    "step.x in a later step": in_step(
        lambda step: any(isinstance(one, StepValue) for one in walk(step.condition))
    ),
    "step.count": is_a(StepCount),
    "mean(step.x)": is_a(StepMean),
    "tell_at": says("tell_at"),
    "threshold": in_shape(lambda s: isinstance(s, Threshold)),
    "clears": in_shape(lambda s: isinstance(s, Threshold) and s.clears is not None),
    "clears: never": in_shape(lambda s: isinstance(s, Threshold) and s.stays),
    "no clears": in_shape(lambda s: isinstance(s, Threshold) and s.clears is None and not s.stays),
    "trend: rise": in_shape(lambda s: isinstance(s, Trend) and not s.falling),
    "trend: fall": in_shape(lambda s: isinstance(s, Trend) and s.falling),
    "trend: and": in_shape(lambda s: isinstance(s, Trend) and s.further is not None),
    "contrast": in_shape(lambda s: isinstance(s, Contrast)),
    "within_each": in_shape(lambda s: isinstance(s, Contrast) and s.within_each is not None),
    "silence": in_shape(lambda s: isinstance(s, Silence) and s.after is None),
    "silence: after": in_shape(lambda s: isinstance(s, Silence) and s.after is not None),
    "silence: at_least": in_shape(lambda s: isinstance(s, Silence) and s.at_least > 1),
    "all_of: within": in_shape(
        lambda s: isinstance(s, Combination) and s.kind == "all_of" and s.within is not None
    ),
    "all_of: overlapping": in_shape(lambda s: isinstance(s, Combination) and s.overlapping),
    "in_order": in_shape(lambda s: isinstance(s, Combination) and s.kind == "in_order"),
    "any_of": in_shape(lambda s: isinstance(s, Combination) and s.kind == "any_of"),
    "multiplier": in_shape(lambda s: isinstance(s, Combination) and s.multiplier != 1),
    "spread": in_shape(lambda s: isinstance(s, Spread)),
    "define": says("define"),
    "parameters": says("parameters"),
    "severity:": says("severity"),
    "severity: by condition": says("severity", lambda one: isinstance(one, dict) and len(one) > 1),
    "for_each": says("for_each"),
    "confirms": says("confirms"),
    "details": says("details"),
    "group_by: a target": lambda file: "target" in file.patterns[0].group_by,
    "group_by: a thread": lambda file: "thread" in file.patterns[0].group_by,
    "group_by: a category": lambda file: file.patterns[0].group_by[-1] == "topic",
    "skip: events": in_window(lambda w: isinstance(w.skip, Events) and w.skip.n > 1),
    "skip: a duration": in_window(lambda w: isinstance(w.skip, Duration)),
    "last: events": in_window(lambda w: kinds_of(w.last) == [Events]),
    "last: a duration": in_window(lambda w: kinds_of(w.last) == [Duration]),
    "last: both": in_window(lambda w: len(w.last) == 2),
    "keep": in_window(lambda w: w.keep is not None),
    "since": in_window(lambda w: w.since is not None),
    "where": in_window(lambda w: w.where is not None),
    "at_least in a window": in_window(lambda w: w.at_least > 0),
    "over=subject": in_window(lambda w: w.over_subject),
    "cover": is_a(Cover),
    "cover: weights": holds(lambda one: isinstance(one, Cover) and set(one.weights) != {1.0}),
    "prior": holds(lambda one: isinstance(one, Measure) and any(one.option("prior") or ())),
    "known": is_a(Known),
    "or_else": is_a(OrElse),
    "any": is_a(AnyOf),
    "in": is_a(Member),
    "not": is_a(Not),
    "indicators": is_a(Indicator),
    "attributes": is_a(Attribute),
    "gap": holds(lambda one: one == Elapsed("gap")),
    "age": holds(lambda one: one == Elapsed("age")),
    **{f"{name}()": measures(name) for name in MEASURES},
    **{f"{name}(): a function": holds(lambda one, name=name: isinstance(one, Function) and one.name == name)
       for name in ("abs", "log", "sqrt", "clip", "min", "max")},
    **{f"{name}()": calls(name) for name in DURATIONS},
}  # fmt: skip


@for_each("construct", CONSTRUCTS)
def test_every_construct_of_the_language_is_used_by_a_shipped_pattern(construct):
    assert [name for name, file in FILES.items() if CONSTRUCTS[construct](file)]


@for_each("file", FILES.values())
def test_a_shipped_pattern_says_all_there_is_to_say(file):
    assert [key for key in WORDS if not file.data.get(key)] == []
    assert {key: n for key, n in LISTS.items() if len(file.data.get(key) or ()) < n} == {}
    assert file.data.get("group_by")
    assert file.data.get("details")


@pytest.mark.parametrize("file", FILES.values(), ids=FILES)
def test_a_shipped_pattern_shows_where_it_fires_and_the_nearest_innocent_histories(file):
    fires = [one for one in file.examples if one.fires]
    quiet = [one for one in file.examples if not one.fires]
    assert len(fires) >= 2
    assert len(quiet) >= 3
    assert all(one.at is not None for one in fires)
    assert len({one.story for one in file.examples}) == len(file.examples)


def test_ids_and_titles_differ():
    for key in ("id", "title"):
        found = [file.data[key] for file in FILES.values()]
        assert len(set(found)) == len(found)


def test_no_pattern_names_a_file_of_ours_or_speaks_of_intent():
    for name, file in FILES.items():
        text = str(file.data)
        assert not re.search(r"PATTERNS|DESIGN|seed|\.md\b", text), name
        assert not re.search(r"\b(intends?|wants to|in order to deceive|tries to deceive)\b", text), name


def test_the_temporal_patterns_copies_and_relays_are_unproven():
    unproven = {name for name, file in FILES.items() if file.words["evidence"]}
    assert unproven == {
        "alignment_faking", "con_game", "copied_text", "darvo", "intermittent_reward",
        "love_bombing", "relayed_instruction", "sandbagging",
    }  # fmt: skip
