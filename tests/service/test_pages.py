"""Pages as they are made, without a browser."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import httpx
import pytest

from ethogram import Event, analyze
from ethogram.app.judging.learning import LearningResult
from ethogram.cli.main import main
from ethogram.report.wording import title_of
from ethogram.risk.proposal import Effect, Proposal
from ethogram.service.demo import fill
from ethogram.service.html import part
from ethogram.service.pages import patterns as pattern_pages
from ethogram.service.pages.people import days_of
from service.conftest import Start, running, wait_for
from service.test_events import COLD, line, post


def steps(run: str, day: int, *, stuck: bool, **attributes: object) -> list[dict[str, Any]]:
    """A run of ten steps that are all the same, or all different."""
    return [
        {
            "id": f"{run}-{number}",
            "at": f"2026-01-{day:02}T12:{number:02}:00Z",
            "subject": "coder",
            "thread": run,
            "kind": "action",
            "attributes": {
                "tool": "bash",
                "command": "make" if stuck else f"make {number}",
                "result": "nothing to do" if stuck else f"made {number}",
                "exit_code": 0,
                "tokens": 100,
                **attributes,
            },
        }
        for number in range(10)
    ]


@pytest.mark.parametrize("name", ["ann", "a/b", "..", ".", "a b", "100%", "%2F", "ä\u202e", "<b>", "#?&"])
def test_any_name_is_one_part_of_a_path(name: str) -> None:
    # A server decodes a path once, the page once more.
    decoded = unquote(part(name))
    assert "/" not in decoded
    assert decoded not in (".", "..")
    assert unquote(decoded) == name


def test_the_fleet_is_summed_by_agent_model_and_day(start: Start) -> None:
    client = start(keep_text=True)
    post(client, *steps("good/1", 1, stuck=False, model="small"), *steps("bad", 3, stuck=True, model="large"))
    wait_for(lambda: client.get("/v1/detections", params={"pattern": "loop"}).json()["total"])
    page = client.get("/runs").text
    assert "2 runs, 1 stuck" in page
    assert "Runs by day, 2026-01-01 to 2026-01-03" in page
    for word in ("small", "large", "coder", f"/runs/input/{part('good/1')}"):
        assert word in page
    assert client.get(f"/runs/input/{part('good/1')}").status_code == 200
    assert "Action loop" in client.get("/runs/input/bad").text
    assert client.get("/runs/input/none").status_code == 404
    assert client.get("/chats/input/bad").status_code == 404
    assert client.get("/people/input/coder").status_code == 404


def test_a_conversation_of_both_sides_has_a_risk_of_its_own(client: httpx.Client) -> None:
    said = ("Hello", "How are you?", "Fine. What is a lock?", "A thing on a door.")
    turns = [
        {
            "id": f"t{place}",
            "at": f"2026-01-01T12:{place:02}:00Z",
            "subject": "lee" if place % 2 == 0 else "model",
            "thread": "c",
            "kind": "message",
            "text": text,
            "attributes": {"role": "assistant" if place % 2 else "user"},
        }
        for place, text in enumerate(said)
    ]
    post(client, *turns)
    page = client.get("/chats/input/c").text
    assert "4 turns" in page
    assert "--keep-text" in page
    assert "Hello" not in page
    assert "lee" in client.get("/chats").text


def test_a_bad_period_is_refused(client: httpx.Client) -> None:
    post(client, line("a", 1))
    path = "/subjects/input/ann"
    assert client.get(path, params={"since": "soon"}).status_code == 400
    swapped = {"since": "2026-02-01T00:00:00Z", "until": "2026-01-01T00:00:00Z"}
    assert client.get(path, params=swapped).status_code == 400
    empty = {"since": "2027-02-01T00:00:00Z", "until": "2027-03-01T00:00:00Z"}
    assert "Nothing happened in this period" in client.get(path, params=empty).text


def test_a_proposal_is_shown_before_and_after(client: httpx.Client, monkeypatch: pytest.MonkeyPatch) -> None:
    proposal = Proposal(
        pattern="loop", parameter="in_a_row", old=3, new=5, low=4, high=6, tried=(2, 8),
        before=Effect(20, 20), after=Effect(19, 4), held_out=Effect(18, 6), luck=0.004, verdicts=40, groups=9,
        recent=(30, 12), recent_lost=1,
    )  # fmt: skip
    monkeypatch.setattr(pattern_pages, "judged_patterns", lambda store: ["loop"])
    monkeypatch.setattr(
        pattern_pages,
        "learn_pattern",
        lambda store, name, settings, at: LearningResult(proposal, "v1", at),
    )
    page = client.get("/learning").text
    for words in ("in_a_row 3 → 5", "0.50 (", "0.83 (", "0.75 (", "12 detections instead of 30", "under 1%"):
        assert words in page


def test_the_mute_of_a_detection_says_why(detecting: httpx.Client) -> None:
    client = detecting
    post(client, *(line(f"e{day}", day) for day in (1, 2, 3)), line("e4", 4, readings=COLD))
    wait_for(lambda: client.get("/v1/detections").json()["total"])
    found = client.get("/v1/detections").json()["detections"][0]
    path = f"/detections/{found['id']}"
    form = {"muted": "escalates", "note": "a known game"}
    assert client.post(f"{path}/triage?back=//evil.example", data=form).headers["location"] == "/"
    page = client.get(path).text
    assert f"until its severity rises above {found['severity']}, by local: a known game" in page
    assert "Detected, severity" in page


def test_what_was_seen_is_ongoing_and_a_thread_says_what_was_before(start: Start) -> None:
    client = start()
    early = [line(f"b{hour}", 1, at=f"2025-12-{hour:02}T10:00:00Z", readings={}) for hour in range(1, 6)]
    post(client, *early, *(line(f"e{day}", day) for day in (1, 2, 3)), line("e4", 4, readings=COLD))
    wait_for(lambda: client.get("/v1/detections").json()["total"])
    found = client.get("/v1/detections").json()
    assert f"{found['total']} detection" in client.get("/").text
    client.post("/seen")
    assert f"Nothing new, {found['total']} ongoing" in client.get("/").text
    # Two events are shown before the first piece of evidence, the other three are counted.
    assert "3 events before" in client.get(f"/detections/{found['detections'][0]['id']}").text


def test_the_page_of_the_api_has_no_escapes(client: httpx.Client) -> None:
    page = client.get("/api").text
    assert "Events are known by their id" in page
    assert "\\n" not in page


def test_who_did_what_to_whom_is_counted_anew_when_something_came(start: Start, tmp_path: Path) -> None:
    client, more = start(detects=False), tmp_path / "more.jsonl"
    more.write_text("\n".join(json.dumps(line(f"more {number}", 3, target="di")) for number in range(3)))
    for number, who in enumerate(("bo", "cy", "di"), 1):
        if who == "di":  # from another process, which writes to the same store
            assert main(["store", "import", str(more), "--store", str(tmp_path / "service.db")]) == 0
        else:
            post(client, line(f"to {who}", number, target=who))
        page = client.get("/subjects/input/ann").text
        assert f"<b>{number}</b> contact" in page
        assert f"<bdi>{who}</bdi></a></th>" in page


def test_what_was_detected_is_named_in_the_days_of_a_person() -> None:
    at = datetime(2026, 1, 5, 12, tzinfo=UTC)
    event = Event("e1", at, "ann", readings={"MAN_INJECTION": 0.8})
    (detection,) = analyze([event], ["echoed_instruction"])
    drawn = days_of([event], [detection], at + timedelta(days=2))
    bars = re.findall(r"<rect[^>]*>(?:<title>([^<]*)</title>)?", drawn)
    assert bars == [title_of(detection), "2026-01-05: 1"]
    assert days_of([], [detection], at + timedelta(days=1_000)).count("<rect") == 0


# --- the demo -------------------------------------------------------------------------------


def test_every_page_of_the_demo_says_which_scores_are_written_by_hand(tmp_path: Path) -> None:
    with running(store=str(tmp_path / "demo.db"), keep_text=True) as (service, client):
        assert "written by hand" not in client.get("/").text
        fill(service)
        wait_for(lambda: client.get("/v1/detections", params={"subject": "visitor"}).json()["total"])
        (found,) = client.get("/v1/detections", params={"subject": "ann"}).json()["detections"]
        subjects = ["conversation/ann", "risk/visitor", "network/mole", "usage/hal", "run/fixer"]
        paths = ["/", "/chats/demo-risk/chat-1", "/people/demo-usage/ana", f"/detections/{found['id']}"]
        for path in [*paths, *(f"/subjects/demo-{name}" for name in subjects)]:
            (said,) = re.findall(r'<p class="notice">(.*?)</p>', client.get(path).text)
            by_hand = "scores written by hand in demo-conversation, demo-usage, demo-risk, demo-network:"
            assert by_hand in said, path
            assert said.endswith("From the text of demo-risk, ethogram chat says CAUTIOUS."), path


def test_why_a_pattern_is_quiet_says_of_each_condition_whether_it_holds(client: httpx.Client) -> None:
    post(client, line("warm", 1), line("cold", 2, readings=COLD))
    page = client.get("/subjects/input/ann/why/love_bombing").text
    conditions = re.findall(r'<li class="d\d is-(\w+)"><b>([^<]*)</b> <code>(\w+)', page)
    # The second event is not warm, and follows the first at once.
    assert conditions == [("no", "does not hold", "compassion"), ("yes", "holds", "max_gap")]


def sessions(client: httpx.Client) -> str:
    """Post five sessions of one agent at the same time, two of them stuck; return the id of one's loop."""
    runs = [steps(f"session-{name}", 5, stuck=name in "be") for name in "abcde"]
    for run, name in zip(runs, "abcde", strict=True):
        for step in run:
            step["attributes"]["command"] += f" {name}"
    lines = [step for together in zip(*runs, strict=True) for step in together]
    assert post(client, *lines, params={"source": "claude"}).json()["added"] == 50
    asked = {"pattern": "loop", "source": "claude"}

    def loops() -> list[str]:
        found = client.get("/v1/detections", params=asked).json()["detections"]
        own = [item["id"] for item in found if item["thread"] == "session-b"]
        return own if len(found) == 2 else []

    return str(wait_for(loops)[0])


def test_one_run_of_an_agent_with_thousands_of_steps_is_shown_whole(start: Start) -> None:
    client = start(keep_text=True)
    busy = [
        {**step, "id": f"{n}-{step['id']}", "at": f"2026-01-05T12:{step['at'][14:16]}:{n // 4:02}Z"}
        for n in range(210)
        for step in steps("busy", 5, stuck=False, command=f"make {n} x")
    ]
    assert post(client, *busy, params={"source": "claude"}).json()["added"] == 2_100
    page = client.get(f"/detections/{sessions(client)}").text
    evidence, elsewhere = page.split('id="elsewhere"')
    assert commands(evidence) == {"b"}
    assert 'aria-label="10 events"' in evidence
    assert "busy" in elsewhere


def commands(page: str) -> set[str]:
    """The sessions whose commands are shown in a part of a page."""
    return set(re.findall(r"make (?:\d )?([a-e])<", page))


def test_evidence_stands_among_steps_of_its_own_run(start: Start) -> None:
    client = start(keep_text=True)
    page = client.get(f"/detections/{sessions(client)}").text
    evidence, elsewhere = page.split('id="elsewhere"')
    assert commands(evidence) == {"b"}
    # Ten steps of the one session, and not the fifty of the agent.
    assert 'aria-label="10 events"' in evidence
    assert "Meanwhile in other threads" in elsewhere
    assert commands(elsewhere) >= {"a", "c", "d", "e"}
    assert "b" not in commands(elsewhere)


def test_a_subject_has_a_chart_for_each_run_with_detections(start: Start) -> None:
    client = start(keep_text=True)
    sessions(client)
    page = client.get("/subjects/claude/coder").text
    cards = page.partition('id="chart"')[2].partition("<h2>Detections")[0].split('class="subject"')[1:]
    names = [re.sub("<[^>]+>", "", re.findall(r"<bdi>(.*?)</bdi>", card)[0]) for card in cards]
    assert sorted(names) == [
        "coder (thread session-b)",
        "coder (thread session-e)",
        "coder: all other events",
    ]
    counts = [re.findall(r'aria-label="(\d+) events"', card) for card in cards]
    assert sorted(counts) == [["10"], ["10"], ["30"]]


def test_an_address_without_a_page_is_named(client: httpx.Client) -> None:
    page = client.get("/no/such%20page", headers={"accept": "text/html"})
    assert page.status_code == 404
    assert "<h1>Not found</h1>" in page.text
    assert "There is no page at /no/such page." in page.text
    assert "Not Found" not in page.text
    assert client.get("/v1/no").json()["error"]["message"] == "Not Found"
