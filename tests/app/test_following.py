"""Following files: the last look finds what `analyze` finds, and every change is reported once."""

from __future__ import annotations

import json
import random
from datetime import UTC, datetime
from pathlib import Path

import pytest

from ethogram.app.analyze import analyze
from ethogram.app.live.growing_files import Follower, Look
from ethogram.app.sweep import sweep
from ethogram.config import Settings
from ethogram.errors import BadEvents
from ethogram.ingest import events_of
from ethogram.models import Detection
from ethogram.patterns.library import Library, load_patterns
from ethogram.store import open_store
from sampling import seeds
from small import BOTH, GONE, HOT, WARM, turns, warm_messages, write_patterns

NOW = datetime(2026, 2, 1, tzinfo=UTC)


@pytest.fixture
def library(tmp_path) -> Library:
    return load_patterns([write_patterns(tmp_path / "patterns", WARM, HOT, GONE, BOTH)])


@pytest.fixture
def path(tmp_path) -> Path:
    (tmp_path / "in").mkdir()
    return tmp_path / "in" / "a.jsonl"


def lines(*events: dict) -> str:
    return "".join(json.dumps(event) + "\n" for event in events)


def add(path: Path, text: str) -> None:
    with path.open("a") as file:
        file.write(text)


def look(follower: Follower, *, whole: bool = False) -> list[tuple[str, str, str]]:
    """What a look reports, and marks as reported."""
    seen: Look = follower.look(NOW, whole=whole)
    follower.mark(seen, NOW)
    return [(change, item.pattern, item.subject) for change, item in seen.changes if change]


def standing(follower: Follower) -> dict[str, dict]:
    return {item.id: item.to_dict() for item in follower.look(NOW, whole=True).detections}


def expected(paths: Path, library: Library) -> dict[str, dict]:
    found: list[Detection] = list(analyze(paths, library, now=NOW))
    return {item.id: item.to_dict() for item in found}


PEOPLE = [
    *warm_messages(),
    *turns("cy", [0.9, 0.9, 0.97, 0.1, 0.1], [4, 5, 6, 7, 8]),
    *warm_messages("di", (9, 10, 11, 12)),
]


def test_each_change_is_reported_once_as_it_happens(path, library):
    path.write_text("")
    follower = Follower([str(path)], library, Settings())
    seen = []
    for event in sorted(PEOPLE, key=lambda event: event["at"]):
        add(path, lines(event))
        assert follower.has_changed()
        seen += look(follower)
        assert look(follower) == []
    assert seen.count(("new", "warm_then_cold", "ann")) == seen.count(("new", "warm_then_cold", "di")) == 1
    assert [change for change, _, who in seen if who == "cy"] == ["new", "closed"]
    assert standing(follower) == expected(path, library)


@pytest.mark.parametrize("seed", seeds(3, 8))
def test_whatever_the_pieces_the_end_is_that_of_analyze(path, library, seed):
    rng = random.Random(seed)
    data = lines(*sorted(PEOPLE, key=lambda event: event["at"])).encode()
    path.write_bytes(b"")
    follower, at = Follower([str(path.parent)], library, Settings()), 0
    while at < len(data):
        end = min(len(data), at + rng.randint(1, 400))
        with path.open("ab") as file:
            file.write(data[at:end])
        look(follower)
        at = end
    assert standing(follower) == expected(path, library)


def test_a_line_that_is_still_written_waits(path, library):
    first, rest = lines(*warm_messages())[:-30], lines(*warm_messages())[-30:]
    path.write_text(first)
    follower = Follower([str(path)], library, Settings())
    assert look(follower) == []
    add(path, rest.rstrip("\n"))
    assert look(follower) == [("new", "warm_then_cold", "ann")]


def test_a_new_file_of_a_folder_is_picked_up(path, library):
    path.write_text(lines(*warm_messages()[:2]))
    follower = Follower([str(path.parent)], library, Settings())
    assert look(follower) == []
    (path.parent / "b.jsonl").write_text(lines(*warm_messages()[2:]))
    assert follower.has_changed()
    assert look(follower) == [("new", "warm_then_cold", "ann")]


def test_a_rotated_file_is_read_under_its_new_name(path, library):
    path.write_text(lines(*warm_messages()[:3]))
    follower = Follower([str(path)], library, Settings())
    assert look(follower) == []
    path.rename(path.with_name("a.jsonl.1"))
    assert look(follower) == []
    path.write_text(lines(*warm_messages()[3:]))
    assert look(follower) == [("new", "warm_then_cold", "ann")]
    path.with_name("a.jsonl.1").rename(path.with_name("a.jsonl.2"))
    path.rename(path.with_name("a.jsonl.1"))
    path.write_text(lines(*turns("cy", [0.9, 0.9, 0.9], [14, 15, 16])))
    assert look(follower) == [("new", "hot_for_long", "cy")]


def test_what_was_found_in_content_that_is_gone_stays(path, library):
    path.write_text(lines(*warm_messages()))
    follower = Follower([str(path)], library, Settings())
    assert look(follower) == [("new", "warm_then_cold", "ann")]
    path.write_text(lines(*turns("cy", [0.9, 0.9, 0.9], [14, 15, 16])))
    assert look(follower) == [("new", "hot_for_long", "cy")]
    path.unlink()
    assert look(follower) == []


def test_the_store_remembers_what_was_reported(path, library, tmp_path):
    path.write_text(lines(*warm_messages()))
    with open_store(str(tmp_path / "s.db"), create=True) as store:
        assert look(Follower([str(path)], library, Settings(), store=store)) == [
            ("new", "warm_then_cold", "ann")
        ]
        again = Follower([str(path)], library, Settings(), store=store)
        assert look(again) == []
        assert [item.subject for item in store.find_detections()[0]] == ["ann"]
        assert store.unreported() == []
        add(path, lines(*turns("cy", [0.9, 0.9, 0.9], [14, 15, 16])))
        assert look(again) == [("new", "hot_for_long", "cy")]


def test_what_the_store_has_only_as_a_part_of_a_combination_is_reported(path, library, tmp_path):
    combination = load_patterns(["hot_then_gone"], more=[tmp_path / "patterns"])
    events = turns("cy", [0.9, 0.9, 0.9, 0.1], [1, 2, 3, 4])
    path.write_text(lines(*events))
    with open_store(str(tmp_path / "s.db"), create=True) as store:
        store.add(events_of(events).events)
        at = datetime(2026, 1, 5, tzinfo=UTC)
        assert sweep(store, combination, as_of=at, clock=lambda: at).changes == ()
        follower = Follower([str(path)], library, Settings(), store=store)
        assert ("new", "hot_for_long", "cy") in look(follower)
        assert "hot_for_long" in {item.pattern for item in store.find_detections()[0]}


def test_a_bad_line_is_an_error_unless_it_is_skipped(path, library):
    path.write_text("{bad}\n" + lines(*warm_messages()))
    with pytest.raises(BadEvents, match="not JSON"):
        Follower([str(path)], library, Settings()).look(NOW)
    seen = Follower([str(path)], library, Settings(), skip_bad=True).look(NOW)
    assert (seen.bad, len(seen.detections)) == (1, 1)
    with pytest.raises(BadEvents, match="no such file"):
        Follower([str(path.with_name("none"))], library, Settings())


def test_a_document_without_lines_is_read_whole(path, library):
    document = path.with_name("a.json")
    document.write_text(json.dumps(warm_messages(), indent=1))
    follower = Follower([str(document)], library, Settings())
    assert look(follower) == [("new", "warm_then_cold", "ann")]
    assert standing(follower) == expected(document, library)


def session() -> list[dict]:
    """A session of Claude Code that runs the same failing command six times."""
    common = {"sessionId": "s1", "cwd": "/p", "version": "2"}
    told = {"role": "user", "content": "Fix the tests."}
    made = [{"type": "user", "uuid": "r0", "timestamp": "2026-01-01T10:00:00Z", "message": told}]
    for k in range(1, 7):
        call = {"type": "tool_use", "id": f"c{k}", "name": "Bash", "input": {"command": "pytest -x"}}
        failed = {"type": "tool_result", "tool_use_id": f"c{k}", "is_error": True, "content": "Exit code 1"}
        for kind, role, uuid, parent, block in (
            ("assistant", "assistant", f"a{k}", f"r{k - 1}", call),
            ("user", "user", f"r{k}", f"a{k}", failed),
        ):
            message = {"id": f"m{k}", "role": role, "content": [block]}
            at = f"2026-01-01T10:0{k}:{'00' if role == 'assistant' else '30'}Z"
            made.append(
                {"type": kind, "uuid": uuid, "parentUuid": parent, "timestamp": at, "message": message}
            )
    return [{**common, **line} for line in made]


def test_a_transcript_is_followed_line_by_line(path):
    library = load_patterns(["loop", "repetitive_errors"])
    path.write_text("")
    follower, seen = Follower([str(path)], library, Settings()), []
    for line in session():
        add(path, lines(line)[:-40])
        assert look(follower) == []
        add(path, lines(line)[-40:])
        seen += look(follower)
    assert seen[0][:2] == ("new", "loop")
    assert standing(follower) == expected(path, library)
