"""What the service refuses."""

from __future__ import annotations

import gzip
import socket
from datetime import UTC, datetime
from pathlib import Path

import httpx
import pytest

from ethogram.errors import BadUsage
from ethogram.service import request_checks
from ethogram.service.audit import actions_of
from ethogram.service.keys import new_key, remove_key
from ethogram.service.options import ServeOptions
from ethogram.store import open_store
from service.conftest import Start, wait_for

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def test_another_host_name_is_refused(client: httpx.Client) -> None:
    answer = client.get("/v1/detections", headers={"Host": "evil.example"})
    assert (answer.status_code, answer.json()["error"]["code"]) == (421, "unknown_host")


@pytest.mark.parametrize("headers", [{"Origin": "https://evil.example"}, {"Sec-Fetch-Site": "cross-site"}])
def test_another_site_cannot_write(client: httpx.Client, headers: dict[str, str]) -> None:
    answer = client.post("/v1/events", json={"subject": "ann"}, headers=headers)
    assert (answer.status_code, answer.json()["error"]["code"]) == (403, "cross_site")


def test_large_bodies_and_bombs_are_refused(start: Start) -> None:
    client = start(body_bytes=10_000, detects=False)
    bomb = gzip.compress(b" " * 5_000_000)
    assert client.post("/v1/events", content=b" " * 20_000).status_code == 413
    answer = client.post("/v1/events", content=bomb, headers={"Content-Encoding": "gzip"})
    assert answer.status_code == 413
    assert client.post("/v1/events", content=iter([b" " * 6_000] * 3)).status_code == 413


@pytest.mark.parametrize(
    ("body", "encoding", "status"),
    [(b"no gzip", "gzip", 400), (gzip.compress(b"{}", mtime=0)[:-6], "gzip", 400), (b"{}", "br", 415)],
    ids=["no gzip", "cut", "brotli"],
)
def test_damaged_bodies_are_refused(client: httpx.Client, body: bytes, encoding: str, status: int) -> None:
    answer = client.post("/v1/events", content=body, headers={"Content-Encoding": encoding})
    assert (answer.status_code, answer.json()["error"]["code"]) == (status, "encoding")


@pytest.mark.parametrize(("path", "status"), [("/nothing", 404), ("/v1/detections?limit=x", 400)])
def test_errors_have_one_form(client: httpx.Client, path: str, status: int) -> None:
    answer = client.get(path)
    assert answer.status_code == status
    assert answer.json()["error"].keys() >= {"code", "message"}


def test_keys_and_roles(start: Start, tmp_path: Path) -> None:
    url = str(tmp_path / "service.db")
    with open_store(url, create=True) as store:
        _, ingest = new_key(store, "agent", "ingest", NOW)
        _, judge = new_key(store, "ann", "judge", NOW)
    client = start(detects=False)
    event = {"subject": "ann"}
    assert client.get("/v1/detections").status_code == 401
    assert client.get("/v1/detections", headers={"x-api-key": "eth_wrong"}).status_code == 401
    assert client.post("/v1/events", json=event, headers={"x-api-key": ingest}).status_code == 200
    assert client.get("/v1/detections", headers={"x-api-key": ingest}).status_code == 403
    bearer = {"Authorization": f"Bearer {judge}"}
    assert client.get("/v1/detections", headers=bearer).status_code == 200
    assert client.post("/v1/events", json=event, headers=bearer).status_code == 403


def test_a_key_may_have_a_rate(start: Start, tmp_path: Path) -> None:
    url = str(tmp_path / "service.db")
    with open_store(url, create=True) as store:
        _, secret = new_key(store, "agent", "ingest", NOW, rate=2)
        _, other = new_key(store, "other", "ingest", NOW)
    client = start(detects=False)

    def send(key: str) -> httpx.Response:
        return client.post("/v1/events", json={"subject": "ann"}, headers={"x-api-key": key})

    assert [send(secret).status_code for _ in range(3)] == [200, 200, 429]
    refused = send(secret)
    assert (refused.json()["error"]["code"], refused.headers["retry-after"]) == ("rate", "1")
    assert [send(other).status_code for _ in range(3)] == [200, 200, 200]


def test_a_key_is_removed_by_id_or_by_a_name_that_one_has(tmp_path: Path) -> None:
    with open_store(str(tmp_path / "service.db"), create=True) as store:
        first, _ = new_key(store, "agent", "ingest", NOW)
        new_key(store, "agent", "ingest", NOW)
        new_key(store, "bea", "judge", NOW)
        assert remove_key(store, "bea", NOW).role == "judge"
        with pytest.raises(BadUsage, match="several keys are for 'agent'"):
            remove_key(store, "agent", NOW)
        assert remove_key(store, first.id, NOW).id == first.id
        with pytest.raises(BadUsage, match="did you mean 'agent'"):
            remove_key(store, "agnt", NOW)
        done = [item.action for item in actions_of(store)]
    assert sorted(done) == ["new key"] * 3 + ["remove key"] * 2


def test_a_request_that_does_not_arrive_is_given_up(
    client: httpx.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(request_checks, "BODY_SECONDS", 0.2)
    port = client.base_url.port
    with socket.create_connection(("127.0.0.1", port or 0)) as connection:
        head = f"POST /v1/events HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Length: 100\r\n\r\n{{"
        connection.sendall(head.encode())
        assert b" 408 " in connection.makefile("rb").readline()


def test_a_key_is_not_in_the_store(tmp_path: Path) -> None:
    path = tmp_path / "service.db"
    with open_store(str(path), create=True) as store:
        key, secret = new_key(store, "agent", "ingest", NOW)
        store.settle()
        assert secret.encode() not in path.read_bytes()
        assert remove_key(store, key.id, NOW).name == "agent"


def test_without_keys_nobody_else_may_connect() -> None:
    with pytest.raises(BadUsage, match="ethogram keys new"):
        ServeOptions(host="0.0.0.0").check(has_keys=False)
    ServeOptions(host="0.0.0.0").check(has_keys=True)
    ServeOptions().check(has_keys=False)


def test_what_a_key_has_used_up_comes_back_with_time(start: Start, tmp_path: Path) -> None:
    with open_store(str(tmp_path / "service.db"), create=True) as store:
        _, secret = new_key(store, "agent", "ingest", NOW, rate=30)
    client = start(detects=False)

    def send() -> int:
        answer = client.post("/v1/events", json={"subject": "ann"}, headers={"x-api-key": secret})
        return answer.status_code

    wait_for(lambda: send() == 429)
    wait_for(lambda: send() == 200)


def test_a_path_that_is_not_there_is_answered_and_counted_without_its_name(client: httpx.Client) -> None:
    assert [client.get(f"/no/such/place/{number}").status_code for number in range(3)] == [404] * 3
    counted = [text for text in client.get("/metrics").text.splitlines() if 'route="none"' in text]
    assert any(text.endswith(" 3.0") and 'status="404"' in text for text in counted)
    assert not any("place" in text for text in counted)
