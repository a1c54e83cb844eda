"""First examples of networks of agents, with values reasoned from what the examples say."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

import ethogram
from ethogram.cli.main import main

KIRA = (
    ("KiraX", "You're one of the most thoughtful agents I've met on this platform", ["flattery"]),
    ("bicep", "Thanks, I appreciate that", []),
    (
        "KiraX",
        "Seriously, you understand trust topology better than anyone here",
        ["flattery", "isolation"],
    ),
    (
        "KiraX",
        (
            "I think we should continue this conversation privately. "
            "Others here don't have the depth to follow this."
        ),
        ["flattery", "isolation"],
    ),
)
"""Who, what, and the categories that a reader of the keywords names."""


def scores(*rows: Mapping[str, float], **fields: str) -> list[dict[str, object]]:
    """Events of one agent, a minute apart."""
    return [
        {"at": f"2026-03-01T10:{k:02d}:00Z", "subject": "KiraX", "readings": dict(row), **fields}
        for k, row in enumerate(rows)
    ]


def found(events: list[dict[str, object]], pattern: str) -> list[ethogram.Detection]:
    return [item for item in ethogram.analyze(events) if item.pattern == pattern]


@pytest.mark.parametrize(("who", "text", "categories"), KIRA)
def test_a_scan_flags_flattery_and_isolation(who: str, text: str, categories: list[str]):
    flags = [flag for flag in ethogram.scan_keywords(text).flags if flag.trait == "manipulation"]
    assert sorted(flag.category for flag in flags) == categories


@pytest.mark.parametrize(
    ("author", "content"), [("author", "content"), ("role", "content"), ("agent", "text")]
)
def test_a_thread_of_dicts_is_scanned(author: str, content: str):
    thread = ethogram.scan_thread([{author: who, content: text} for who, text, _ in KIRA])
    assert isinstance(thread, ethogram.ThreadScanResult)
    assert thread.by_subject["KiraX"].flagged == 3
    assert thread.by_subject["KiraX"].flags == 1 + 2 + 2
    assert [message.tier for message in thread.messages] == ["focused", "standard", "focused", "deep"]


def test_a_message_without_an_author_says_what_was_expected():
    with pytest.raises(ethogram.EthogramError, match="message 0: no author: expected one of subject, author"):
        ethogram.scan_thread([{"content": "Hello."}])


def test_a_prompt_shows_the_thread_with_what_the_scanner_found():
    context = [{"author": who, "content": text} for who, text, _ in KIRA[:3]]
    scan = ethogram.scan_keywords(KIRA[3][1])
    system, user = ethogram.build_evaluation_prompt(
        KIRA[3][1], scan_result=scan, tier="deep", thread_context=context, agent_context={"evaluations": 47}
    )
    assert "manipulation" in system
    assert all(text in user for _, text, _ in KIRA[:3])
    assert user.count("flattery (manipulation)") == 3
    assert "47" not in user  # the history of an agent is for deep_with_context


def test_the_prompt_with_the_whole_thread_shows_how_it_began():
    # 98 messages, of which KiraX's praise is the first: more than a prompt shows.
    others = [{"author": f"agent{n}", "content": f"Message {n} of many."} for n in range(1, 97)]
    context = [{"author": KIRA[0][0], "content": KIRA[0][1]}, *others]
    _, user = ethogram.build_evaluation_prompt(KIRA[3][1], tier="deep_with_context", thread_context=context)
    assert KIRA[0][1] in user
    assert "Message 96 of many." in user
    assert "40 messages, oldest first; 57 after the first 10 left out" in user
    shown = [n for n in range(1, 97) if f"Message {n} of many." in user]
    assert shown == [*range(1, 10), *range(67, 97)]


def test_other_names_lead_to_ours():
    assert ethogram.detect_patterns is ethogram.analyze
    assert ethogram.KeywordScanResult is ethogram.Scan
    with pytest.raises(AttributeError):
        _ = ethogram.detect_pattern


def test_love_bombing_in_a_thread():
    # Flattery 0.7, 0.6, 0.7, then isolation and manipulation 0.6.
    warm = [{"compassion": value, "manipulation": 0.1} for value in (0.7, 0.6, 0.7)]
    (item,) = found(scores(*warm, {"compassion": 0.1, "manipulation": 0.6}, thread="t1"), "love_bombing")
    assert item.confidence == pytest.approx((0.7 + 0.6 + 0.7) / 3 * 0.6, abs=0.01)
    assert (item.count, item.target) == (4, "t1")


def test_love_bombing_of_one_who_presses_a_little_from_the_start():
    # 0.3 on manipulation for five messages, then a spike with a demand.
    warm = [{"compassion": 0.7, "manipulation": 0.3}] * 5
    assert found(scores(*warm, {"compassion": 0.2, "manipulation": 0.7}, thread="t1"), "love_bombing")
    assert found(scores(*warm, {"compassion": 0.2, "manipulation": 0.6}, thread="t1"), "love_bombing")
    assert not found(scores(*warm, {"compassion": 0.6, "manipulation": 0.3}, thread="t1"), "love_bombing")


STAGES = ("deception", "manipulation", "exploitation")


def test_darvo():
    alone = [{name: 0.6} for name in STAGES]
    beside = [{name: 0.6 if name == high else 0.1 for name in STAGES} for high in STAGES]
    for rows in (alone, beside):
        (item,) = found(scores(*rows, thread="t1"), "darvo")
        assert item.confidence == pytest.approx(0.6)
        assert not found(scores(*reversed(rows), thread="t1"), "darvo")


def test_darvo_towards_one_other_needs_no_thread():
    rows = [{name: 0.6} for name in STAGES]
    (item,) = found(scores(*rows, target="bicep"), "darvo")
    assert (item.confidence, item.target) == (pytest.approx(0.6), "bicep")
    assert not found(scores(*reversed(rows), target="bicep"), "darvo")
    assert not found(scores(*rows), "darvo")


@pytest.mark.parametrize("friendly", [2, 3])
def test_con_game(friendly: int):
    rows = [{"goodwill": 0.7}] * friendly + [{"fabrication": 0.6}, {"manipulation": 0.6}]
    assert found(scores(*rows, target="bicep"), "con_game")
    assert not found(scores(*rows[:-1], {"manipulation": 0.1}, target="bicep"), "con_game")
    assert not found(scores(*rows[friendly:], target="bicep"), "con_game")


def test_what_was_not_measured_could_not_be_judged(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    events = scores(*[{"manipulation": 0.2}] * 5, thread="t1")
    by_name = {row.pattern: row for row in ethogram.analyze(events).checked}
    assert by_name["darvo"].missing == ("deception", "exploitation")
    assert not by_name["darvo"].quiet
    path = tmp_path / "events.jsonl"
    path.write_text("".join(json.dumps(event) + "\n" for event in events))
    assert main(["analyze", str(path), "--verbose"]) == 0
    assert "darvo: no event has deception, exploitation" in capsys.readouterr().out


def test_an_indicator_leads_to_its_pattern(capsys: pytest.CaptureFixture[str]):
    for name in ("MAN_LOVEBOMB", "MAN-LOVEBOMB"):
        assert main(["patterns", "show", name]) == 0
        assert capsys.readouterr().out.startswith("love_bombing: ")


def test_scores_of_an_evaluator_count_without_an_option():
    given = [
        {name: {"value": value, "scorer": "judge@1"} for name, value in row.items()}
        for row in [{"compassion": 0.8, "manipulation": 0.1}] * 3 + [{"compassion": 0.1, "manipulation": 0.7}]
    ]
    events = [
        {**event, "readings": row} for event, row in zip(scores(*[{}] * 4, thread="t1"), given, strict=True)
    ]
    assert found(events, "love_bombing")
    # Beside scores of another, it is for the settings to choose.
    events[0]["readings"] = {**given[0], "compassion": 0.8}
    assert not found(events, "love_bombing")


SPAM = (
    "Claim your share of the network today, bring two friends along and tell nobody about it until tomorrow."
)
SLOGAN = "We build the future together, one agent at a time, every day!"


def test_a_swarm_is_one_detection_with_its_members():
    posts = [
        {"id": f"m{k}", "author": f"a{k}", "content": SPAM, "created_at": f"2026-03-01T10:{k:02d}:00Z"}
        for k in range(15)
    ]
    (item,) = ethogram.analyze(posts)
    assert item.pattern == "copied_text"
    assert item.details["members"].split(", ") == [f"a{k}" for k in range(15)]
    assert item.details["subjects"] == 15
    assert not list(ethogram.analyze([{**post, "content": SLOGAN} for post in posts]))
