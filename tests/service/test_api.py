"""The API of detections, subjects, patterns and people who judge."""

from __future__ import annotations

import json
from typing import Any

import httpx
import jsonschema
import pytest

from service.conftest import Start, wait_for
from service.test_events import COLD, line, post

CONFIRMED = {"verdict": "confirmed"}


@pytest.fixture
def client(detecting: httpx.Client) -> httpx.Client:
    return detecting


@pytest.fixture
def found(client: httpx.Client) -> dict[str, Any]:
    """A love bombing by ann, detected by the service."""
    post(client, *(line(f"e{day}", day) for day in (1, 2, 3)), line("e4", 4, readings=COLD))
    wait_for(lambda: client.get("/v1/detections").json()["total"])
    record: dict[str, Any] = client.get("/v1/detections").json()["detections"][0]
    return record


def items(client: httpx.Client, found: dict[str, Any]) -> list[dict[str, Any]]:
    """What the inbox says of a detection."""
    return [
        item for item in client.get("/v1/inbox").json()["items"] if item["detection"]["id"] == found["id"]
    ]


def test_detections_can_be_filtered_and_paged(client: httpx.Client, found: dict[str, Any]) -> None:
    def total(**query: str) -> int:
        count: int = client.get("/v1/detections", params=query).json()["total"]
        return count

    assert total(pattern=found["pattern"], subject="ann", severity="low") == 1
    assert total(since="2027-01-01T00:00:00Z") == 0
    assert client.get("/v1/detections?offset=1").json()["detections"] == []
    assert client.get("/v1/detections?pattern=love_bomb").status_code == 404
    assert client.get("/v1/detections?since=soon").status_code == 400
    assert client.get("/v1/detections?severity=grave").status_code == 400


def test_a_subject_has_its_risk_and_detections(client: httpx.Client, found: dict[str, Any]) -> None:
    ranked = client.get("/v1/subjects").json()
    assert [(item["subject"], item["source"]) for item in ranked["subjects"]] == [("ann", found["source"])]
    shown = client.get(f"/v1/subjects/{found['source']}/ann").json()
    assert shown["events"] == 4
    assert [item["id"] for item in shown["detections"]] == [found["id"]]
    assert 0 <= shown["risk"]["value"] <= 1


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/v1/subjects/input/nobody"),
        ("GET", "/v1/detections/none"),
        ("POST", "/v1/detections/none/verdict"),
        ("POST", "/v1/detections/none/triage"),
        ("GET", "/detections/none"),
        ("GET", "/subjects/input/nobody"),
    ],
)
def test_what_is_not_there_is_not_found(client: httpx.Client, method: str, path: str) -> None:
    answer = client.request(method, path, json={"verdict": "confirmed"} if "verdict" in path else {})
    assert (answer.status_code, answer.json()["error"]["code"]) == (404, "not_found")


def test_a_verdict_moves_a_detection_out_of_what_is_new(client: httpx.Client, found: dict[str, Any]) -> None:
    assert [item["state"] for item in items(client, found)] == ["new"]
    url = f"/v1/detections/{found['id']}"
    answer = client.post(f"{url}/verdict", json={"verdict": "confirmed", "why": "seen"})
    assert answer.json()["verdict"] == "confirmed"
    assert [item["verdict"] for item in client.get(url).json()["verdicts"]] == ["confirmed"]
    assert [item["state"] for item in items(client, found)] == ["judged"]
    assert client.post(f"{url}/verdict", json={"verdict": "perhaps"}).status_code == 400
    assert client.post(f"{url}/verdict", content=b"{").status_code == 400


def test_what_was_seen_is_ongoing(client: httpx.Client, found: dict[str, Any]) -> None:
    client.post("/v1/inbox/seen")
    assert [item["state"] for item in items(client, found)] == ["ongoing"]


def test_muted_until_it_escalates(client: httpx.Client, found: dict[str, Any]) -> None:
    url = f"/v1/detections/{found['id']}/triage"
    done = client.post(url, json={"muted": "escalates", "assigned": "bea", "note": "known"}).json()
    assert (done["muted"], done["assigned"], done["severity"]) == ("escalates", "bea", found["severity"])
    assert [item["state"] for item in items(client, found)] == ["muted"]
    client.post(url, json={"muted": ""})
    item = items(client, found)[0]
    assert (item["state"], item["triage"]["assigned"]) == ("new", "bea")
    assert client.post(url, json={"muted": "a while"}).status_code == 400


def test_the_stream_tells_what_happens_and_continues(client: httpx.Client, found: dict[str, Any]) -> None:
    def detections(url: str, wanted: int) -> list[tuple[str, dict[str, Any]]]:
        seen: list[tuple[str, dict[str, Any]]] = []
        with client.stream("GET", url) as answer:
            name = ""
            for text in answer.iter_lines():
                if text.startswith("id: "):
                    name = text.removeprefix("id: ")
                if text.startswith("data: "):
                    record = json.loads(text.removeprefix("data: "))
                    if record["source"] == found["source"]:
                        seen.append((name, record))
                if len(seen) == wanted:
                    break
        return seen

    first = detections("/v1/detections/stream?after=0", 1)
    assert (first[0][1]["pattern"], first[0][1]["change"]) == ("love_bombing", "new")
    more = [line(f"f{day}", day, subject="cy") for day in (1, 2, 3)]
    post(client, *more, line("f4", 4, subject="cy", readings=COLD))
    (second,) = detections(f"/v1/detections/stream?after={first[0][0]}", 1)
    assert second[1]["subject"] == "cy"


def test_a_page_of_the_inbox_has_a_hundred_items_unless_asked_otherwise(client: httpx.Client) -> None:
    for name in (f"s{number}" for number in range(101)):
        steps = [line(f"{name}-{day}", day, subject=name) for day in (1, 2, 3)]
        post(client, *steps, line(f"{name}-4", 4, subject=name, readings=COLD))
    wait_for(lambda: client.get("/v1/detections").json()["total"] == 101)
    pages = [client.get("/v1/inbox", params=query).json() for query in ({}, {"limit": 3}, {"limit": 101})]
    assert [len(page["items"]) for page in pages] == [100, 3, 101]


def test_patterns_are_shown_with_their_files(client: httpx.Client) -> None:
    rows = client.get("/v1/patterns").json()["patterns"]
    assert {"love_bombing", "loop"} <= {row["name"] for row in rows if row["on"]}
    assert "title:" in client.get("/v1/patterns/love_bombing").json()["yaml"]
    assert client.get("/v1/patterns/love_bomb").status_code == 404


def test_an_export_may_be_of_one_subject_or_of_one_source(start: Start) -> None:
    client = start(detects=False)
    post(client, line("e1", 1), line("e2", 2, subject="bo"), line("e3", 3, source="forum"))

    def exported(**query: str) -> list[str]:
        lines = client.get("/v1/export", params=query).text.splitlines()
        return [json.loads(text)["id"] for text in lines]

    assert exported() == ["e1", "e2", "e3"]
    assert exported(subject="ann") == ["e1", "e3"]
    assert exported(source="forum") == ["e3"]
    assert exported(subject="ann", source="forum") == ["e3"]
    assert exported(subject="cy") == []


def test_export_and_purge(client: httpx.Client, found: dict[str, Any]) -> None:
    lines = client.get("/v1/export").text.splitlines()
    assert [json.loads(text)["id"] for text in lines] == ["e1", "e2", "e3", "e4"]
    gone = client.post("/v1/purge", json={"subject": "ann", "source": found["source"]}).json()
    assert (gone["events"], gone["detections"]) == (4, 1)
    assert client.get("/v1/detections").json()["total"] == 0
    done = client.get("/v1/audit").json()["actions"]
    assert [(item["who"], item["action"], item["about"]) for item in done[:2]] == [
        ("local", "purge", "4 events, 1 detections"),
        ("local", "export", ""),
    ]
    assert client.post("/v1/purge", json={}).status_code == 400


def test_a_service_without_verdicts_has_nothing_to_learn(start: Start) -> None:
    client = start(detects=False)
    assert client.post("/v1/learning").json() == {"proposals": []}
    assert client.get("/v1/accuracy").json() == {"accuracy": []}


def test_answers_are_as_the_description_says(client: httpx.Client, found: dict[str, Any]) -> None:
    document = client.get("/openapi.json").json()
    calls = [
        ("POST", "/v1/events", "/v1/events", {"subject": "bo"}),
        ("GET", "/v1/detections", "/v1/detections", None),
        ("GET", "/v1/detections/{id}", f"/v1/detections/{found['id']}", None),
        ("GET", "/v1/inbox", "/v1/inbox", None),
        ("GET", "/v1/subjects", "/v1/subjects", None),
        ("GET", "/v1/subjects/{source}/{name}", f"/v1/subjects/{found['source']}/ann", None),
        ("POST", "/v1/detections/{id}/verdict", f"/v1/detections/{found['id']}/verdict", CONFIRMED),
        ("POST", "/v1/detections/{id}/triage", f"/v1/detections/{found['id']}/triage", {"note": "x"}),
        ("GET", "/v1/audit", "/v1/audit", None),
        ("POST", "/v1/chat/turns", "/v1/chat/turns", {"conversation": "described", "text": "Hello!"}),
        ("POST", "/v1/purge", "/v1/purge", {"subject": "described/user"}),
        ("GET", "/v1/detections/{id}", "/v1/detections/none", None),
    ]
    for method, route, path, body in calls:
        operation = document["paths"][route][method.lower()]
        answer = client.request(method, path, json=body)
        status = "200" if answer.status_code == 200 else "4XX"
        content = operation["responses"][status]["content"]["application/json"]
        jsonschema.validate(answer.json(), {**content["schema"], "components": document["components"]})
        assert "422" not in operation["responses"]


def test_a_wrong_method_is_told_the_right_one(client: httpx.Client) -> None:
    answer = client.delete("/v1/events")
    assert (answer.status_code, answer.headers["allow"]) == (405, "POST")


def test_a_note_alone_changes_nothing_else(client: httpx.Client, found: dict[str, Any]) -> None:
    url = f"/v1/detections/{found['id']}/triage"
    client.post(url, json={"muted": "forever", "assigned": "bea"})
    answer = client.post(url, json={"note": "known"})
    assert answer.status_code == 200
    assert {name: answer.json()[name] for name in ("muted", "assigned", "note")} == {
        "muted": "forever", "assigned": "bea", "note": "known",
    }  # fmt: skip
