"""Registering patterns in code: what is wrong is told at once, and what goes wrong later says where."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from functools import lru_cache
from itertools import takewhile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import code_patterns
import ethogram
from ethogram import Event, Match, Watch, analyze, registry
from ethogram.agents.hook.plan import choose
from ethogram.cli.main import main
from ethogram.config import Settings
from ethogram.errors import BadPattern, BadUsage, EthogramError
from ethogram.patterns.code_patterns import code_patterns as registered
from ethogram.patterns.code_state import MAX_STATE, MAX_WINDOW, Window, event_of, frozen, row_of
from ethogram.patterns.library import Library, load_patterns, select
from ethogram.testing import action, numbered

SOME = numbered([action("file_read", path="a.py"), action("file_read", path="b.py")])
EXAMPLES: dict[str, Any] = {"fires": [("two", SOME)], "quiet": [("one", SOME[:1]), ("other", SOME[1:])]}


@pytest.fixture(scope="module", autouse=True)
def some() -> Iterator[None]:
    with code_patterns.registered():
        yield


def always(match: Any) -> Any:
    """A pattern that says the same of every event from the second on."""

    def said(events: tuple[Event, ...]) -> Any:
        "Says what it is told to."
        return match if len(events) > 1 else None

    return said


def test_all_that_is_wrong_is_told_at_once_with_the_place_of_the_code():
    with pytest.raises(BadUsage) as error:

        @ethogram.pattern(
            "Bad Name", titel="x", window=0, severity="grave", group_by=["room"], version=0, status="new",
            needs="compassion", kinds="action", fires=[("story", [1])], quiet=[("one", SOME)],
        )  # fmt: skip
        def nothing(events):
            pass

    told = str(error.value)
    for part in (
        "did you mean 'title'", "small letters", "title is missing", "description is missing", "window is",
        "severity is one or several of", "group_by is some of", "version counts", "status is one of",
        "needs is a list", "kinds is a list", "fires, example 1", "quiet needs at least 2",
    ):  # fmt: skip
        assert part in told, part
    assert all(fault.path == __file__ and fault.line > 0 for fault in error.value.faults)


@pytest.mark.parametrize(
    ("made", "said"),
    [
        (3, "a function of events, or an object with start and step"),
        (code_patterns.Burst, "is a class; register an object of it"),
        (type("X", (), {"__doc__": "X.", "step": lambda s, e, t: (None, t)})(), "start is missing"),
        (
            type("X", (), {"__doc__": "X.", "start": {1}, "step": lambda s, e, t: (None, t)})(),
            "not plain JSON",
        ),
    ],
)
def test_what_cannot_be_a_pattern_is_refused(made, said):
    with pytest.raises(BadUsage, match=said):
        ethogram.register(made, "made_here", title="Made", description="Made.", **EXAMPLES)


@pytest.mark.parametrize(
    ("match", "said"),
    [
        (True, "expected a Match or None"),
        (Match(0), "confidence is above 0"),
        (Match(float("nan")), "confidence is above 0"),
        (Match(0.5, severity="high"), "none of its severities, medium"),
        (Match(0.5, evidence=["e1"]), "evidence is events"),
        (Match(0.5, details=["x"]), "details is a dict"),
        (Match(0.5, details={"x": object()}), "details: <object object .* is not plain JSON data"),
        (Match(0.5, details={"x": [{object(): 1}]}), "details: a key is a text"),
        (
            Match(0.5, evidence=[replace(SOME[0], id="e9")]),
            "evidence 'e9' is none of the events it was shown",
        ),
    ],
)
def test_a_match_that_is_none_is_an_error_that_names_pattern_and_event(match, said):
    ethogram.register(always(match), "made_here", title="Made", **EXAMPLES)
    with pytest.raises(EthogramError, match=said) as error:
        analyze(SOME, patterns=["made_here"])
    assert "'made_here' at event 'e2'" in str(error.value)


def test_code_that_fails_is_told_with_pattern_and_event():
    ethogram.register(lambda events: events[7], "made_here", title="Made", description="Fails.", **EXAMPLES)
    with pytest.raises(EthogramError, match=r"pattern 'made_here' failed at event 'e1': IndexError"):
        analyze(SOME, patterns=["made_here"])


@pytest.mark.parametrize(
    ("state", "said"),
    [
        ({1: 2}, "not plain JSON data"),
        ({"a": {2}}, "not plain JSON data"),
        (["x" * MAX_STATE], "keep it within"),
    ],
)
def test_a_state_must_be_plain_and_small(state, said):
    made = type("X", (), {"__doc__": "X.", "start": 0, "step": lambda self, event, before: (None, state)})()
    ethogram.register(made, "made_here", title="Made", **EXAMPLES)
    with pytest.raises(EthogramError, match=said):
        analyze(SOME, patterns=["made_here"])


def test_a_state_is_always_as_it_is_after_a_restart():
    assert frozen({"a": [1, (2, [3])], "b": None}) == {"a": (1, (2, (3,))), "b": None}


def test_details_and_evidence_are_told_in_words_and_order():
    found = code_patterns.edits(*("a.py", "b.py") * 3)
    (item,) = analyze(found, patterns=["ping_pong"])
    assert item.details == {"files": ["a.py", "b.py"], "rounds": 3}
    assert item.explanation == "agent went back and forth 3 times."
    assert [each.event for each in item.evidence] == ["e1", "e2", "e3", "e4", "e5", "e6"]
    assert [each.step for each in item.evidence] == ["counted"] * 3 + ["opened", "counted", "peak"]
    assert (item.severity, item.confidence, item.fired_confidence) == ("high", 0.75, 0.5)
    json.dumps(item.to_dict())


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"at": SOME[1].at + timedelta(hours=1)}, "evidence 'e0' is later than that event"),
        ({"subject": "somebody"}, "evidence 'e0' is of another history"),
        ({"source": "elsewhere"}, "evidence 'e0' is of another history"),
    ],
)
def test_evidence_of_an_object_is_of_its_history_and_not_of_the_future(changes, said):
    other = replace(SOME[0], id="e0", **changes)
    step = {"start": 0, "step": lambda self, event, state: (Match(0.5, evidence=[other]), state)}
    ethogram.register(type("X", (), {"__doc__": "X.", **step})(), "made_here", title="Made", **EXAMPLES)
    with pytest.raises(EthogramError, match=said):
        analyze(SOME[1:], patterns=["made_here"])


def test_a_set_and_a_number_that_is_none_have_a_form_in_details():
    match = Match(0.5, details={"set": {"b", "a"}, "nan": float("nan"), 3: (1, 2)})
    ethogram.register(always(match), "made_here", title="Made", **EXAMPLES)
    (item,) = analyze(SOME, patterns=["made_here"])
    assert item.details == {"set": ["a", "b"], "nan": None, "3": [1, 2]}


def test_what_is_long_in_details_is_cut():
    match = Match(
        0.5, details={"many": list(range(100)), "long": "x" * 1000, "deep": {"a": {"b": {"c": {}}}}}
    )
    ethogram.register(always(match), "made_here", title="Made", **EXAMPLES)
    (item,) = analyze(SOME, patterns=["made_here"])
    assert (len(item.details["many"]), len(item.details["long"])) == (20, 200)
    assert item.details["deep"] == {"a": {"b": {"c": None}}}


def test_a_window_holds_the_newest_events_and_has_a_bound():
    sizes: list[int] = []
    window = Window(lambda events: sizes.append(len(events)), 5)
    state: Any = ()
    for n in range(8):
        _, state = window.step(replace(SOME[0], id=str(n)), state)
    assert sizes == [1, 2, 3, 4, 5, 5, 5, 5]
    assert [event_of(row).id for row in state] == ["3", "4", "5", "6", "7"]
    huge = replace(SOME[0], text="x" * 10**6, attributes={f"a{n}": "y" * 5000 for n in range(500)})
    for n in range(20):
        _, state = window.step(replace(huge, id=str(n)), state)
    assert sum(row[0] for row in state) <= MAX_WINDOW
    assert event_of(state[-1]).id == "19"


def test_an_event_in_a_window_is_the_same_before_and_after_a_restart():
    odd = replace(
        SOME[0],
        attributes={"a": [1, {"b": [2]}], "n": float("nan"), "t": (1, 2), "s": {3}},
        readings={"x": 1.0, "in_code_y": 2.0},
    )
    row = frozen(row_of(odd))
    assert row == frozen(json.loads(json.dumps(row)))
    assert event_of(row).attributes == {"a": (1, {"b": (2,)}), "n": None, "t": (1, 2), "s": "{3}"}
    assert event_of(row).readings == {"x": 1.0}


def test_histories_towards_others_are_kept_apart_and_only_the_newest_of_many():
    cold = {"compassion": 0.1}

    def to(who: str, n: int) -> Event:
        made = Event.sample(id=f"{who}{n}", seq=n, kind="message", target=who, readings=cold)
        return replace(made, at=made.at + timedelta(minutes=n))

    by_turns = [to(who, n) for n, who in enumerate(["bo", "cy"] * 3)]
    assert len(analyze(by_turns, patterns=["cold_shoulder"])) == 2
    watch = Watch(["cold_shoulder"])
    for n in range(300):
        watch.observe(to(f"w{n}", n))
    (state,) = (item[-1] for item in watch.save()["signals"]["states"])
    assert len(state) == 64


def test_two_of_one_name_are_refused_and_a_file_of_that_name_too(tmp_path: Path):
    with pytest.raises(BadUsage, match="two patterns are named 'ping_pong'"):
        ethogram.register(always(None), "ping_pong", title="Made", **EXAMPLES)
    ethogram.register(always(None), "loop", title="Made", **EXAMPLES)
    with pytest.raises(BadPattern, match="'loop' is also registered in code"):
        load_patterns(["loop"])


def test_it_has_no_parameters_and_takes_a_status():
    with pytest.raises(BadPattern, match="is in code and has no parameters"):
        load_patterns(["ping_pong"], parameters={"ping_pong": {"rounds": 3}})
    found = code_patterns.edits("a.py", "b.py", "a.py", "b.py")
    settings = Settings(status={"ping_pong": "shadow"})
    assert [item.pattern for item in analyze(found, settings=settings).kept] == ["ping_pong"]
    assert "ping_pong" not in load_patterns().chosen


def test_its_version_is_that_of_its_code():
    before = select(["ping_pong"]).programs[0].version
    ping_pong = registered()["ping_pong"]
    registry.patterns.add("ping_pong", replace(ping_pong, version=2))
    try:
        assert select(["ping_pong"]).programs[0].version != before
    finally:
        registry.patterns.add("ping_pong", ping_pong)


def test_combinations_may_name_it(tmp_path: Path):
    file = tmp_path / "both.yaml"
    file.write_text(
        "name: both\ntitle: Both\ndescription: Both.\ngroup_by: [subject]\n"
        "shape: {all_of: [ping_pong, burst], within: 1h}\nseverity: high\n"
        "examples:\n  fires: [{story: a, x: [1]}]\n  quiet: [{story: b, x: [1]}, {story: c, x: [1]}]\n"
    )
    found = analyze(code_patterns.edits("a.py", "b.py", "a.py", "b.py"), patterns=[file])
    assert [item.pattern for item in found] == ["both"]


def test_a_hook_says_that_it_cannot_watch_it():
    watched, left_out = choose(select(["ping_pong"]))
    assert not watched
    assert "in code" in left_out[0][1]


CODE = """
import ethogram
from ethogram.testing import action, numbered

TWICE = numbered([action("file_read")] * 2)


@ethogram.pattern("twice_here", title="Twice", severity="low", fires=[("two", TWICE, 2)],
                  quiet=[("one", TWICE[:1]), ("the other", TWICE[1:])])
def twice(events):
    "Two events."
    return ethogram.Match(1.0) if len(events) >= 2 else None
"""


def test_a_file_of_code_is_run_where_it_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    file = tmp_path / "mine.py"
    file.write_text(CODE)
    assert main(["patterns", "test", str(file)]) == 0
    assert capsys.readouterr().out == "1 pattern, 3 examples, 2 engines: all passed\n"
    assert main(["patterns", "list", str(file)]) == 0
    assert "twice_here  stable  code" in capsys.readouterr().out
    assert main(["patterns", "show", "twice_here"]) == 0
    assert f"file: {file}" in capsys.readouterr().out
    assert main(["patterns", "lint", "twice_here"]) == 0


def test_a_file_of_code_in_the_settings_is_not_run(tmp_path: Path):
    file = tmp_path / "mine.py"
    file.write_text("raise SystemExit('it was run')")
    with pytest.raises(BadPattern, match="only where it is named"):
        load_patterns(more=[file])
    (tmp_path / "folder").mkdir()
    file.rename(tmp_path / "folder" / "mine.py")
    assert "mine" not in load_patterns(more=[tmp_path / "folder"]).files


@pytest.mark.parametrize(
    ("code", "line", "said"),
    [
        ("x = 1\n", 0, "registers no pattern"),
        ("x = 1\nx.y\n", 2, "AttributeError"),
        ("def f(:\n", 1, "SyntaxError"),
    ],
)
def test_a_file_of_code_that_cannot_be_used_is_told(tmp_path: Path, code: str, line: int, said: str):
    file = tmp_path / "mine.py"
    file.write_text(code)
    with pytest.raises(BadPattern, match=said) as error:
        load_patterns([file])
    assert (error.value.faults[0].path, error.value.faults[0].line) == (str(file), line)


def test_an_installed_package_may_bring_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    info = tmp_path / "extra-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: extra\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[ethogram.patterns]\ntwice_here = extra_patterns:twice\n")
    (tmp_path / "extra_patterns.py").write_text(CODE)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(registry.patterns, "_discovered", False)
    assert [item.pattern for item in analyze(SOME, patterns=["twice_here"])] == ["twice_here"]


def test_an_entry_point_that_is_no_pattern_is_told(monkeypatch: pytest.MonkeyPatch):
    registry.patterns.add("strange", object())
    try:
        with pytest.raises(BadUsage, match="'strange' is not a pattern; decorate it"):
            load_patterns(["loop"])
    finally:
        registry.patterns.discard("strange")


def test_a_sweep_and_events_on_disk_find_the_same(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    """Whatever the mode: in memory, on disk, from a store, or swept in two parts."""
    runs = [
        replace(edit, id=f"{who}{edit.id}", subject=who)
        for who in ("ann", "bo", "cy")
        for edit in code_patterns.edits(*("a.py", "b.py") * 3)
    ]
    runs.sort(key=lambda run: run.order)
    parts = [runs[:8], runs[8:]]
    want = sorted(
        json.dumps(item.to_dict(), sort_keys=True) for item in analyze(runs, patterns=["ping_pong"])
    )
    small = replace(Settings(), memory=1)
    file, store = tmp_path / "runs.jsonl", f"{tmp_path}/s.db"
    file.write_text("".join(json.dumps(run.to_dict()) + "\n" for run in runs))
    on_disk = analyze(file, patterns=["ping_pong"], settings=small)
    assert len(on_disk) == len(want) == 3
    record: dict[str, str] = {}
    for number, part in enumerate(parts):
        path = tmp_path / f"part{number}.jsonl"
        path.write_text("".join(json.dumps(item.to_dict()) + "\n" for item in part))
        assert main(["store", "import", str(path), "--store", store, "--keep-text"]) == 0
        capsys.readouterr()
        asked = ["sweep", "--store", store, "--patterns", "ping_pong", "--as-of", "2026-02-01T00:00:00Z"]
        assert main([*asked, "--json"]) == 0
        for line in capsys.readouterr().out.splitlines():
            data = json.loads(line)
            if data["record"] == "detection":
                record[data["id"]] = data["severity"]
    assert sorted(record.values()) == ["high", "high", "high"]


ODD = '{"evidence": [[1], ["e", 10000000000000000000000, {}]], "details": 3}'


@pytest.mark.parametrize("told", ["{", "[]", ODD])
def test_readings_that_came_with_events_cannot_break_it(told: str):
    """A reading that is supplied wins, whoever supplies it; then there is nothing to tell."""
    given = [replace(SOME[0], readings={"in_code_burst": 0.5, "in_code_burst_told": told})]
    (item,) = analyze(given, patterns=["burst"])
    assert (item.confidence, item.details) == (0.5, {})


def test_signals_of_patterns_in_code_have_names_of_their_own():
    from ethogram.signals import signal

    with pytest.raises(BadUsage, match="those of patterns in code"):

        @signal("in_code_mine", range=(0, 1))
        def mine(event: Event) -> float:
            "Mine."
            return 1.0


@lru_cache
def select_once() -> Library:
    return select(["ping_pong"])


kinds = st.sampled_from(["action", "action", "message"])
steps = st.tuples(st.sampled_from("ab"), st.sampled_from("tu"), st.sampled_from("xyz"), kinds)


@given(st.lists(steps, max_size=30))
def test_a_function_is_asked_of_every_window_of_every_history(told):
    """Slowly and plainly: cut every history, ask of its newest eight at each event, join what follows on."""
    made = [(action("file_edit", path=path, subject=who, thread=run), kind) for who, run, path, kind in told]
    events = numbered(replace(item, kind=kind) for item, kind in made)
    want = []
    for key in sorted({(event.subject, event.thread) for event in events}):
        own = [event for event in events if (event.subject, event.thread) == key and event.kind == "action"]
        said = [code_patterns.ping_pong(own[max(0, n - 7) : n + 1]) for n in range(len(own))]
        for n, match in enumerate(said):
            if match is not None and (n == 0 or said[n - 1] is None):
                episode = list(takewhile(lambda item: item is not None, said[n:]))
                closed = n + len(episode) < len(own)
                sure = max(item.confidence for item in episode)
                want.append((own[n].id, "closed" if closed else "opened", len(episode), sure))
    found = analyze(events, patterns=select_once())
    assert sorted((item.first_event, item.state, item.count, item.confidence) for item in found) == sorted(
        want
    )


@pytest.mark.parametrize(
    ("report", "explanation"),
    [
        ({"explanation": "As told."}, "As told."),
        ({"explanation": 5}, "agent: Two files in turn."),
        ({}, "agent: Two files in turn."),
    ],
)
def test_a_report_that_came_with_an_event_is_told_only_where_it_is_text(report, explanation):
    readings = {"in_code_ping_pong": 0.9, "in_code_ping_pong_report": json.dumps(report)}
    events = [replace(event, readings=readings) for event in code_patterns.edits("a.py")]
    (item,) = analyze(events, patterns=["ping_pong"])
    assert item.explanation == explanation
