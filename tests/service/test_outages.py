"""The receiver or the store is away for a while: nothing is lost, and nothing needs a restart."""

from __future__ import annotations

import json
import logging
import re
import sqlite3
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import httpx
import pytest

from ethogram.app.doctor import doctor
from ethogram.app.sweep import sweep
from ethogram.config import Settings
from ethogram.errors import BadUsage, StoreFailed
from ethogram.models import Detection, Evidence
from ethogram.patterns.library import load_patterns
from ethogram.service.health import Outage, StoreProbe
from ethogram.service.metrics import Metrics
from ethogram.service.options import ServeOptions
from ethogram.service.outbox import GIVEN_UP, SET_ASIDE, Outbox, Retries
from ethogram.store import Store, open_store
from ethogram.store.sqlite import SQLiteStore
from servers import free_port, own_server
from service.conftest import Start, running
from service.test_events import post
from service.test_outputs import bomb
from waiting import wait_until

NOON = datetime(2026, 1, 5, 12, tzinfo=UTC)
QUICK = Retries(first=0.01, longest=0.05)


class Receiver:
    """A server for webhooks that can refuse subjects, answer anything, wait, and go away."""

    def __init__(self) -> None:
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}/hook"
        self.taken: list[str] = []
        self.tries = 0
        self.status = 200
        self.refused: set[str] = set()
        self.before_answer: Callable[[], object] = lambda: None
        self._server: ThreadingHTTPServer | None = None

    def listen(self) -> None:
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                subject = body["detection"]["subject"]
                status = 400 if subject in receiver.refused else receiver.status
                receiver.tries += 1
                receiver.before_answer()
                if status == 200:
                    receiver.taken.append(subject)
                self.send_response(status)
                self.end_headers()

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", self.port), Handler)
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self) -> None:
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()
            self._server = None


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with closing(Receiver()) as made:
        yield made


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with SQLiteStore(str(tmp_path / "outbox.db"), create=True, busy=50) as made:
        yield made


def detect(store: Store, *subjects: str) -> None:
    """Save a new detection of each subject, as a sweep does."""
    for subject in subjects:
        made = Detection(
            id=f"of-{subject}", pattern="loop", version="v1", state="opened", subject=subject, target="bo",
            thread=None, severity="low", confidence=0.5, opened_at=NOON, detected_at=NOON, closed_at=None,
            first_event="a", last_event="b", count=2, evidence=(Evidence("step", "a", NOON, {}),),
            details={}, confirms=(), scorer="given", explanation="In circles.", recommendation="Stop.",
            history={"subject": subject}, fired_event="b", fired_confidence=0.4,
        )  # fmt: skip
        store.save_found([("new", made)], NOON)


class Deliveries:
    """Starts outboxes on a store, with a clock that tests set."""

    def __init__(self, store: Store) -> None:
        self.store, self.now, self.metrics = store, NOON, Metrics("ethogram", [])
        self.outbox: Outbox | None = None

    def begin(self, *urls: str) -> Outbox:
        """Start delivery; what is detected from now on is delivered."""
        self.close()
        self.metrics = Metrics("ethogram", [])
        options = ServeOptions(webhooks=urls)
        self.outbox = Outbox(self.store, options, self.metrics, retries=QUICK, clock=lambda: self.now)
        wait_until(lambda: len(self.store.notes("webhook")) >= len(urls), "the place where delivery begins")
        return self.outbox

    def detect(self, *subjects: str) -> None:
        detect(self.store, *subjects)
        assert self.outbox is not None
        self.outbox.wake()

    def value(self, name: str, number: int = 1, **labels: str) -> float:
        value = self.metrics.registry.get_sample_value(
            f"ethogram_{name}", {"receiver": f"webhook {number}", **labels}
        )
        assert value is not None
        return value

    def close(self) -> None:
        if self.outbox is not None:
            self.outbox.close()


@pytest.fixture
def deliveries(store: Store) -> Iterator[Deliveries]:
    with closing(Deliveries(store)) as made:
        yield made


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """A real lock of an SQLite file by somebody who writes."""
    with closing(sqlite3.connect(path, isolation_level=None)) as raw:
        raw.execute("BEGIN IMMEDIATE")
        yield


def logged(caplog: pytest.LogCaptureFixture, words: str) -> list[str]:
    return [record.getMessage() for record in caplog.records if words in record.getMessage()]


# --- the receiver ---------------------------------------------------------------------------


@pytest.mark.parametrize("status", [0, 404, 429, 500])
def test_what_a_receiver_that_is_away_misses_comes_in_order_when_it_is_back(
    deliveries: Deliveries, receiver: Receiver, caplog: pytest.LogCaptureFixture, status: int
) -> None:
    receiver.status = status
    if status:  # 0: nobody listens
        receiver.listen()
    deliveries.begin(receiver.url)
    deliveries.detect("r1", "r2", "r3")
    wait_until(
        lambda: deliveries.value("deliveries_total", outcome="failed") >= 20, "twenty tries of a delivery"
    )
    assert deliveries.value("undelivered_changes") == 3
    deliveries.now += timedelta(hours=23)  # an outage of nearly a day
    assert deliveries.value("oldest_undelivered_seconds") == 23 * 3600
    receiver.status = 200
    if not status:
        receiver.listen()
    wait_until(lambda: len(receiver.taken) == 3, "three deliveries")
    deliveries.detect("r4")
    wait_until(lambda: len(receiver.taken) == 4, "a fourth delivery")
    assert receiver.taken == ["r1", "r2", "r3", "r4"]
    wait_until(lambda: deliveries.value("deliveries_total", outcome="delivered") == 4, "four to be counted")
    wait_until(lambda: deliveries.value("undelivered_changes") == 0, "the gauge to be 0")
    wait_until(lambda: deliveries.value("oldest_undelivered_seconds") == 0, "nothing to wait any more")
    assert len(logged(caplog, "delivery to webhook 1 failed")) == 1  # once for the outage, not for each try
    assert len(logged(caplog, "delivery to webhook 1 works again")) == 1
    assert "127.0.0.1" not in caplog.text
    assert deliveries.store.notes(SET_ASIDE) == {}


def test_a_change_that_a_receiver_does_not_take_holds_up_no_other_and_comes_later(
    deliveries: Deliveries, receiver: Receiver
) -> None:
    receiver.refused = {"bad", "worse"}
    receiver.listen()
    deliveries.begin(receiver.url)
    deliveries.detect("r1", "bad", "worse", "r2", "r3")
    wait_until(lambda: len(receiver.taken) == 3, "the three that it takes")
    assert sorted(receiver.taken) == ["r1", "r2", "r3"]
    wait_until(lambda: len(deliveries.store.notes(SET_ASIDE)) == 2, "two that are set aside")
    deliveries.begin(receiver.url)  # they outlive a restart
    wait_until(lambda: deliveries.value("undelivered_changes") == 2, "the gauge to be 2")
    receiver.refused = set()
    wait_until(lambda: len(receiver.taken) == 5, "those that were set aside")
    assert sorted(receiver.taken[3:]) == ["bad", "worse"]
    wait_until(lambda: deliveries.store.notes(SET_ASIDE) == {}, "the notes of them to go")


@pytest.mark.parametrize("others", [[], ["good"]], ids=["alone", "set aside"])
def test_a_change_is_given_up_after_a_day_and_not_in_silence(
    deliveries: Deliveries, receiver: Receiver, caplog: pytest.LogCaptureFixture, others: list[str]
) -> None:
    receiver.refused = {"bad"}
    receiver.listen()
    deliveries.begin(receiver.url)
    deliveries.detect("bad", *others)
    wait_until(lambda: receiver.tries >= 10 and receiver.taken == others, "ten tries")
    deliveries.now += timedelta(hours=23, minutes=59)
    tries = receiver.tries
    wait_until(lambda: receiver.tries > tries, "a try after nearly a day")
    assert deliveries.store.notes(GIVEN_UP) == {}
    deliveries.now += timedelta(minutes=2)
    [record] = wait_until(lambda: deliveries.store.notes(GIVEN_UP), "a note that it is given up").values()
    assert record["detection"] == "of-bad"
    wait_until(lambda: deliveries.value("undelivered_changes") == 0, "the gauge to be 0")
    assert deliveries.value("deliveries_total", outcome="given_up") == 1
    [message] = logged(caplog, "is given up")
    assert "of-bad" in message
    deliveries.detect("r1")
    wait_until(lambda: receiver.taken == [*others, "r1"], "the next delivery")


def test_what_an_earlier_version_set_aside_is_delivered_too(
    deliveries: Deliveries, receiver: Receiver
) -> None:
    receiver.listen()
    deliveries.begin(receiver.url)
    [key] = deliveries.store.notes("webhook")
    deliveries.close()
    detect(deliveries.store, "r1", "r2")
    first, second = deliveries.store.changes()
    record = {"detection": first.detection.id, "change": "new", "why": "x", "at": "2026-01-05T11:59:00Z"}
    deliveries.store.put_note(SET_ASIDE, f"{key} {first.key}", record, NOON)
    deliveries.store.put_note("webhook", key, {"last": second.key}, NOON)
    deliveries.begin(receiver.url)
    wait_until(lambda: receiver.taken == ["r1"], "what was set aside")


def test_a_receiver_that_does_not_answer_holds_up_no_other(
    deliveries: Deliveries, receiver: Receiver
) -> None:
    go_on = threading.Event()
    with closing(Receiver()) as slow:
        slow.before_answer = go_on.wait
        slow.listen()
        receiver.listen()
        deliveries.begin(slow.url, receiver.url)
        deliveries.detect("r1", "r2", "r3")
        wait_until(lambda: receiver.taken == ["r1", "r2", "r3"], "the deliveries to the other")
        assert slow.taken == []
        go_on.set()
        wait_until(lambda: {"r1", "r2", "r3"} <= set(slow.taken), "the deliveries to the slow one")


def test_delivery_goes_on_after_the_store_was_locked(
    deliveries: Deliveries, receiver: Receiver, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    is_locked, go_on = threading.Event(), threading.Event()
    receiver.before_answer = lambda: (is_locked.set(), go_on.wait())
    receiver.listen()
    outbox = deliveries.begin(receiver.url)
    deliveries.detect("r1")
    is_locked.wait()
    failures = deliveries.metrics.failures.labels("delivery")
    with locked(tmp_path / "outbox.db"):
        go_on.set()
        wait_until(lambda: failures._value.get() >= 3, "three failed writes")
    deliveries.detect("r2", "r3")
    wait_until(lambda: len(receiver.taken) >= 3, "the deliveries after it")
    assert receiver.taken == ["r1", "r2", "r3"]  # none twice: what was delivered is known until a restart
    assert outbox.is_alive
    assert len(logged(caplog, "the store, for the delivery to webhook 1, failed")) == 1


# --- the store ------------------------------------------------------------------------------


def test_a_probe_says_that_the_store_cannot_be_written_until_it_can(store: Store, tmp_path: Path) -> None:
    outage = Outage("the store", logging.ERROR)
    probe = StoreProbe(store, outage, fresh=0.0, wait=60.0)
    assert probe.fault() == ""
    with locked(tmp_path / "outbox.db"):
        assert probe.fault() == "the store cannot be written"
        assert outage.is_on
    assert probe.fault() == ""
    assert not outage.is_on


def test_a_probe_does_not_wait_for_a_write_that_waits(tmp_path: Path) -> None:
    path, now = tmp_path / "slow.db", 500.0
    with SQLiteStore(str(path), create=True) as store:
        probe = StoreProbe(store, Outage("the store"), fresh=0.0, wait=0.01, clock=lambda: now)
        with locked(path):
            assert probe.fault() == ""  # others may be writing
            now = 511.0
            assert probe.fault() == "the store has taken no write for 11 seconds"
        wait_until(lambda: probe.fault() == "", "the write to be done")


def test_a_probe_that_waits_believes_a_request_that_failed(tmp_path: Path) -> None:
    path, now = tmp_path / "slow.db", 0.0
    with SQLiteStore(str(path), create=True) as store:
        outage = Outage("the store")
        probe = StoreProbe(store, outage, fresh=0.0, wait=0.01, clock=lambda: now)
        with locked(path):
            outage.failed(StoreFailed("a request that waited longer"))
            assert probe.fault() == "the store failed and has taken no write since"
        wait_until(lambda: probe.fault() == "", "the write to be done")
        assert not outage.is_on


def test_a_lock_that_could_not_be_given_back_is_free(store: Store, tmp_path: Path) -> None:
    held = store.lock("sweep", NOON)
    with locked(tmp_path / "outbox.db"):
        store.unlock(held)  # what was done under it has not failed
    store.unlock(store.lock("sweep", NOON))
    taken = store.lock("sweep", NOON)
    with pytest.raises(BadUsage, match="at work"):
        store.lock("sweep", NOON)
    store.unlock(taken)


def test_sweeps_that_fail_are_no_readiness_and_doctor_says_why(start: Start, tmp_path: Path) -> None:
    path = str(tmp_path / "service.db")
    ahead = datetime.now(UTC) + timedelta(hours=20)
    with open_store(path, create=True) as store:
        sweep(store, load_patterns(["loop"]), as_of=ahead, clock=lambda: ahead)
    client = start()
    answer = wait_until(lambda: failing(client), "a sweep that fails")
    message = answer.json()["error"]["message"]
    assert message == "the last look for something new failed: the log says why"
    assert answer.headers["Retry-After"] == "1"
    [check] = [item for item in doctor(Settings(), url=str(client.base_url)) if item.check == "service"]
    assert check.state == "wrong"
    assert message in check.message
    assert client.get("/healthz").status_code == 200


def failing(client: httpx.Client) -> httpx.Response | None:
    answer = client.get("/readyz")
    return answer if answer.status_code == 503 and "look" in answer.text else None


NEEDS_NO_STORE = {"/healthz", "/metrics", "/v1/patterns", "/v1/patterns/{name}"}
PAGES = ("/", "/subjects", "/runs", "/chats", "/people", "/learning", "/detections/x", "/subjects/a/b")


def test_a_database_that_stops_is_503_everywhere_and_costs_no_alert(receiver: Receiver) -> None:
    go_on = threading.Event()
    receiver.before_answer = go_on.wait
    receiver.listen()
    with ExitStack() as stack:
        stack.callback(go_on.set)
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="ethogram-pg-"))
        server = stack.enter_context(own_server(Path(folder) / "own"))
        address = re.split(r"[/:@]+", server.url)[1:]  # user, password, host, port, database
        service, client = stack.enter_context(running(store=server.url, webhooks=(receiver.url,)))
        wait_until(lambda: client.get("/readyz").status_code == 200, "a service that is ready")
        post(client, *bomb("before"))
        wait_until(lambda: receiver.tries, "a first delivery")

        server.stop()
        go_on.set()  # the delivery is done, and cannot be noted
        answer = post(client, *bomb("meanwhile"))
        assert (answer.status_code, answer.headers["Retry-After"]) == (503, "5")
        service.sweeper.wake()
        wait_until(lambda: "look for something new failed" in client.get("/readyz").text, "a failed sweep")
        wait_until(lambda: "cannot be written" in client.get("/readyz").text, "the store to be missed")
        paths = client.get("/openapi.json").json()["paths"]
        routes = [path for path in paths if "get" in paths[path] and not path.endswith(("stream", "readyz"))]
        answers = {path: client.get(re.sub(r"{\w+}", "x", path)) for path in routes}
        answers |= {path: client.get(path, headers={"accept": "text/html"}) for path in PAGES}
        for path, body in {
            "/v1/chat/turns": {"conversation": "c1", "text": "Hello!"},
            "/v1/detections/x/verdict": {"verdict": "confirmed"},
            "/v1/purge": {"subject": "ann"},
        }.items():
            answers[path] = client.post(path, json=body)
        assert {path for path in answers if answers[path].status_code != 503} == NEEDS_NO_STORE
        for path, answer in answers.items():
            assert not [word for word in address if re.search(rf"\b{re.escape(word)}\b", answer.text)], path
            assert path in NEEDS_NO_STORE or answer.headers["Retry-After"] == "5"
        assert answers["/v1/detections"].json()["error"]["code"] == "store_failed"
        assert "Not available now" in answers["/"].text
        assert answers["/metrics"].status_code == 200

        server.start()
        wait_until(lambda: client.get("/readyz").status_code == 200, "the service to be ready again")
        assert post(client, *bomb("after")).status_code == 200
        wait_until(lambda: set(receiver.taken) >= {"before", "after"}, "the alerts of before and after")
        wait_until(lambda: not service.store.unreported(), "the detections to be published")
