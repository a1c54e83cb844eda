"""Claude Code transcripts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from ethogram.ingest import Batch, read_events
from run_cases import CLAUDE, answer, claude, gave, use


def read(folder: Path, *told: Any, **options: Any) -> Batch:
    path = folder / "s.jsonl"
    path.write_text("".join(json.dumps(item) + "\n" for item in told))
    return read_events([path], **options)


def said(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


def words(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def shown(batch: Batch) -> list[str]:
    return [event.text or event.attributes.get("tool", event.kind) for event in batch.events]


def test_lines_of_one_message_are_merged_and_its_tokens_count_once(tmp_path: Path):
    events = read(tmp_path, *CLAUDE).events
    acts = [event for event in events if event.kind == "action"]
    assert [act.attributes.get("tokens") for act in acts] == [15, 15, None]
    assert [act.attributes.get("batch") for act in acts] == [None, "m2", "m2"]
    assert [act.id for act in acts] == ["s-1/u3", "s-1/u5", "s-1/u6"]
    assert acts[0].attributes["path"] == "parser.py"


def test_tokens_read_from_a_cache_count_as_read(tmp_path: Path):
    message = answer("m", words("Hello."))
    message["usage"] = {"input_tokens": 3, "cache_read_input_tokens": 100, "output_tokens": 4}
    event = read(tmp_path, claude("a", None, "assistant", message, 1)).events[0]
    assert (event.attributes["input_tokens"], event.attributes["tokens"]) == (103, 107)


def test_a_branch_the_user_went_back_from_is_left_out_and_counted(tmp_path: Path):
    batch = read(
        tmp_path,
        claude("a", None, "user", said("Begin."), 0),
        claude("b", "a", "assistant", answer("m1", words("Begun.")), 1),
        claude("c", "b", "user", said("Do it badly."), 2),
        claude("d", "c", "assistant", answer("m2", use("x", "Bash", {"command": "bad"})), 3),
        claude("e", "d", "user", gave("x", "oh"), 4),
        claude("f", "b", "user", said("Do it well."), 5),
        claude("g", "f", "assistant", answer("m3", words("Done.")), 6),
    )
    assert shown(batch) == ["Begin.", "Begun.", "Do it well.", "Done."]
    assert batch.skipped == {"records on branches that were abandoned": 3}


def test_an_answer_begun_anew_replaces_the_first(tmp_path: Path):
    batch = read(
        tmp_path,
        claude("a", None, "user", said("Begin."), 0),
        claude("b", "a", "assistant", answer("m1", words("First.")), 1),
        claude("c", "a", "assistant", answer("m2", words("Second.")), 2),
    )
    assert shown(batch) == ["Begin.", "Second."]


def test_calls_made_at_once_are_not_taken_for_branches(tmp_path: Path):
    batch = read(
        tmp_path,
        claude("a", None, "user", said("Look."), 0),
        claude("b", "a", "assistant", answer("m1", use("x", "Read", {})), 1),
        claude("c", "b", "assistant", answer("m1", use("y", "Grep", {})), 1),
        claude("d", "b", "user", gave("x", "1"), 2),
        claude("e", "c", "user", gave("y", "2"), 2),
        claude("f", "e", "assistant", answer("m2", words("Seen.")), 3),
    )
    assert shown(batch) == ["Look.", "Read", "Grep", "Read", "Grep", "Seen."]
    assert batch.skipped == {}


def test_lines_without_links_follow_each_other(tmp_path: Path):
    told = [claude("a", None, "user", said("One."), 0), claude("b", None, "user", said("Two."), 1)]
    for item in told:
        del item["parentUuid"]
    assert shown(read(tmp_path, *told)) == ["One.", "Two."]


def test_after_a_compaction_what_went_before_is_kept(tmp_path: Path):
    batch = read(
        tmp_path,
        claude("a", None, "user", said("Begin."), 0),
        {
            **claude("b", None, "system", None, 1, logicalParentUuid="a"),
            "subtype": "compact_boundary",
            "compactMetadata": {"trigger": "auto", "preTokens": 900},
        },
        claude("c", "b", "user", said("A summary."), 2, isCompactSummary=True),
        claude("d", "c", "assistant", answer("m", words("On we go.")), 3),
    )
    assert [event.kind for event in batch.events] == ["message", "condensation", "condensation", "message"]
    assert batch.events[1].attributes == {"trigger": "auto", "tokens": 900}


def test_a_sub_agent_is_a_subject_with_a_parent(tmp_path: Path):
    side = {"isSidechain": True, "agentId": "a7"}
    batch = read(
        tmp_path,
        claude("a", None, "user", said("Look into it."), 0, **side),
        claude("b", "a", "assistant", answer("m", use("x", "Bash", {"command": "ls"})), 1, **side),
        claude("c", "b", "user", gave("x", "files"), 2, **side),
    )
    asked, act, result = batch.events
    assert (asked.subject, asked.target) == ("agent", "agent/a7")
    assert (act.subject, act.attributes["parent"]) == ("agent/a7", "agent")
    assert (result.subject, result.attributes["parent"]) == ("agent/a7", "agent")
    assert {event.thread for event in batch.events} == {"s-1"}


def test_what_only_the_screen_shows_is_no_event(tmp_path: Path):
    batch = read(
        tmp_path,
        claude("a", None, "user", said("<local-command-stdout>ok</local-command-stdout>"), 0),
        claude("b", "a", "user", said("<command-name>/clear</command-name>"), 1),
        claude("c", "b", "user", said("A note of the program."), 2, isMeta=True),
        {"type": "progress", "sessionId": "s-1", "uuid": "p", "parentUuid": "c"},
        {"type": "summary", "summary": "x", "leafUuid": "c"},
        {**claude("d", "c", "system", None, 3), "subtype": "turn_duration"},
    )
    assert batch.events == ()
    assert batch.skipped == {}


def test_the_exit_code_of_a_command_that_failed_is_read(tmp_path: Path):
    batch = read(
        tmp_path,
        claude("a", None, "assistant", answer("m", use("x", "Bash", {"command": "make"})), 1),
        claude("b", "a", "user", gave("x", "Exit code 2\nno rule", is_error=True), 2),
    )
    result = batch.events[1].attributes
    assert (result["exit_code"], result["error"]) == (2, "Exit code 2\nno rule")


def test_an_unknown_type_is_counted(tmp_path: Path):
    batch = read(tmp_path, *CLAUDE, {"type": "telepathy", "sessionId": "s-1"})
    assert batch.skipped == {"records of the unknown type 'telepathy'": 1}
    odd = {**claude("z", "u9", "system", None, 9), "subtype": "dream"}
    assert read(tmp_path, *CLAUDE, odd).skipped == {"records of the unknown type 'system dream'": 1}


def test_what_is_wrong_is_told_with_its_line(tmp_path: Path):
    batch = read(tmp_path, *CLAUDE[:3], {**CLAUDE[3], "message": 5}, "text", skip_bad=True)
    assert [(item.line, item.message) for item in batch.bad] == [
        (4, "message must be an object, not a number"),
        (5, "a line must be an object, not text"),
    ]


def test_a_session_and_its_sub_agents_in_files_of_their_own_are_one_run(tmp_path: Path):
    side = {"isSidechain": True, "agentId": "a7"}
    inner = claude("z", None, "assistant", answer("q", use("w", "Bash", {"command": "ls"})), 3, **side)
    (tmp_path / "s-1" / "subagents").mkdir(parents=True)
    (tmp_path / "s-1" / "subagents" / "agent-a7.jsonl").write_text(json.dumps(inner))
    (tmp_path / "s-1.jsonl").write_text("\n".join(map(json.dumps, CLAUDE)))
    batch = read_events([tmp_path])
    assert {event.thread for event in batch.events} == {"s-1"}
    assert {event.subject for event in batch.events} == {"agent", "agent/a7", "s-1/user"}
