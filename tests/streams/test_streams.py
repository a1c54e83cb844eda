"""Streams of Redis, NATS and Kafka: every event once in the store, whatever is killed or delivered again.

Redis and NATS are real servers; Kafka is the client's own mock, which speaks the protocol over a socket.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import secrets
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

if os.environ.get("CI") != "true":
    for package in ("redis", "nats", "confluent_kafka"):
        pytest.importorskip(package)

import confluent_kafka
import nats
import redis

from ethogram.app.analyze import analyze_gathered, load_library
from ethogram.app.live import stream_consumer
from ethogram.app.live.stream_consumer import Consumer, EventWriter, Refused, Sweeps
from ethogram.cli.main import main
from ethogram.config import Settings
from ethogram.errors import BadUsage
from ethogram.ingest import read_events
from ethogram.models.detection import STANDING
from ethogram.models.limits import Limits
from ethogram.patterns.library import Library
from ethogram.store import Store, open_store
from ethogram.streams import Address, BrokerError, Message, open_stream
from servers import broker_server
from settings_files import trusted_settings
from small import HOT, WARM, message, warm_messages, write_events, write_patterns
from waiting import started, wait_until

PATIENCE = 180.0
"""Seconds after which a test gives up."""
PARTITIONS = 2


class RedisBroker:
    def __init__(self, host: str) -> None:
        self.host, self.client = host, redis.Redis.from_url(f"redis://{host}")

    def send(self, name: str, sent: list[tuple[int, bytes]]) -> None:
        for partition, body in sent:
            self.client.xadd(f"{name}.{partition}", {"event": body})

    def url(self, name: str, partitions: str = "0,1", group: str = "one") -> str:
        return f"redis://{self.host}/{name}?partitions={partitions}&group={group}"

    def close(self) -> None:
        self.client.close()


class NatsBroker:
    def __init__(self, host: str) -> None:
        self.host = host

    def send(self, name: str, sent: list[tuple[int, bytes]]) -> None:
        async def publish() -> None:
            client = await nats.connect(f"nats://{self.host}")
            stream = client.jetstream()
            await stream.add_stream(name=name, subjects=[f"{name}.*"])
            for partition, body in sent:
                await stream.publish(f"{name}.{partition}", body)
            await client.close()

        asyncio.run(publish())

    def url(self, name: str, partitions: str = "0,1", group: str = "one") -> str:
        return f"nats://{self.host}/{name}?partitions={partitions}&group={group}&ack_wait=1"

    def close(self) -> None:
        pass


class KafkaBroker:
    def __init__(self) -> None:
        config = {"bootstrap.servers": "mock", "test.mock.num.brokers": 1, "log_level": 0}
        self.producer = confluent_kafka.Producer(config)
        (broker,) = self.producer.list_topics(timeout=PATIENCE).brokers.values()
        self.host = f"{broker.host}:{broker.port}"

    def send(self, name: str, sent: list[tuple[int, bytes]]) -> None:
        for partition, body in sent:
            self.producer.produce(name, body, partition=partition)
        assert self.producer.flush(PATIENCE) == 0

    def url(self, name: str, partitions: str = "0,1", group: str = "one") -> str:
        return f"kafka://{self.host}/{name}?partitions={partitions}&group={group}"

    def close(self) -> None:
        pass


@pytest.fixture(scope="module")
def redis_broker() -> Iterator[RedisBroker]:
    args = ("--port", "PORT", "--bind", "127.0.0.1", "--save", "")
    with broker_server("redis-server", *args) as host, closing(RedisBroker(host)) as broker:
        yield broker


@pytest.fixture(scope="module", params=["redis", "nats", "kafka"])
def broker(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    if request.param == "redis":
        yield request.getfixturevalue("redis_broker")
    elif request.param == "nats":
        folder = str(tmp_path_factory.mktemp("nats"))
        with broker_server("nats-server", "-a", "127.0.0.1", "-p", "PORT", "-js", "-sd", folder) as host:
            yield NatsBroker(host)
    else:
        yield KafkaBroker()


@pytest.fixture
def name() -> str:
    return f"events{secrets.token_hex(4)}"


@pytest.fixture
def library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, no_shipped_patterns: None) -> Library:
    """Two patterns, in a folder that is the working directory too."""
    monkeypatch.chdir(tmp_path)
    return load_library([write_patterns(tmp_path / "patterns", WARM, HOT)], Settings())


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with open_store(str(tmp_path / "s.db"), create=True) as opened:
        yield opened


def random_events(seed: int = 1, count: int = 240) -> list[dict[str, Any]]:
    rng, start = random.Random(seed), datetime(2026, 2, 1, tzinfo=UTC)
    events = [event for number in range(4) for event in warm_messages(f"ann{number}")]
    for k in range(count):
        event = message(f"e{k}", 1, f"s{rng.randrange(8)}", risk=round(rng.random(), 2))
        events.append({**event, "at": (start + timedelta(minutes=k)).isoformat()})
    return events


def partitioned(events: list[dict[str, Any]]) -> list[tuple[int, bytes]]:
    """Each event with the partition of its subject."""
    return [(sum(event["subject"].encode()) % PARTITIONS, json.dumps(event).encode()) for event in events]


def consumer(url: str, store: Store) -> tuple[Consumer, Callable[[], None]]:
    stream = open_stream(url)
    return Consumer(stream, writer(store)), stream.close


def writer(store: Store) -> EventWriter:
    return EventWriter(store, Settings(), keep_text=False, rejected="rejected.jsonl")


def take(url: str, store: Store, count: int, *, repeats: int = 0) -> tuple[int, int, list[Refused]]:
    """Take messages until so many were new or refused, and so many came again; the numbers of each."""
    added, repeated, refused = 0, 0, list[Refused]()
    it, close = consumer(url, store)
    until = time.monotonic() + PATIENCE
    try:
        while added + len(refused) < count or repeated < repeats:
            assert time.monotonic() < until, (
                f"{added} new, {repeated} repeated and {len(refused)} refused of {count}"
            )
            taken = it.take(it.gather(0.2), datetime.now(UTC))
            added, repeated = added + taken.added, repeated + taken.repeated
            refused += taken.refused
    finally:
        close()
    return added, repeated, refused


def swept(store: Store, library: Library) -> list[str]:
    """Sweep; the ids of what is reported as new."""
    new: list[str] = []

    def report(done: Any) -> None:
        new.extend(change.detection.id for change in done.changes if change.change == "new")

    assert Sweeps(store, library, Settings()).run(lambda: datetime.now(UTC), report)
    return new


def standing(store: Store) -> list[dict[str, Any]]:
    found = store.detections(states=STANDING)
    return sorted((item.to_dict() for item in found), key=lambda item: item["id"])


def analyzed(events: list[dict[str, Any]], library: Library) -> list[dict[str, Any]]:
    analysis = analyze_gathered(
        read_events(write_events(Path("all.jsonl"), events)), library, settings=Settings()
    )
    assert {item.pattern for item in analysis} == {"warm_then_cold", "hot_for_long"}
    return sorted((item.to_dict() for item in analysis), key=lambda item: item["id"])


def test_two_consumers_of_two_partitions_find_what_analyze_finds(broker, name, store, library):
    events = random_events()
    sent = partitioned(events)
    broker.send(name, sent)
    first = sum(partition == 0 for partition, _ in sent)
    assert take(broker.url(name, "0"), store, first) == (first, 0, [])
    early = swept(store, library)
    assert take(broker.url(name, "1"), store, len(sent) - first) == (len(sent) - first, 0, [])
    new = early + swept(store, library)
    expected = analyzed(events, library)
    assert standing(store) == expected
    assert sorted(new) == [item["id"] for item in expected]
    assert swept(store, library) == []


KILLED = """\
import os, signal, sys
from ethogram.app.live import stream_consumer
from ethogram.cli.main import main

point, at = sys.argv[1], int(sys.argv[2])
stream_consumer.ENOUGH = stream_consumer.MOST = 40
owner = stream_consumer.Consumer if point == "take" else stream_consumer.EventWriter
before = getattr(owner, point)
calls = 0

def kill(self, *args):
    global calls
    calls += bool(args[0]) or point == "_set_aside"
    if calls == at:
        os.kill(os.getpid(), signal.SIGKILL)
    return before(self, *args)

setattr(owner, point, kill)
sys.exit(main(sys.argv[3:]))
"""


def check_killed(point: str, broker: Any, name: str, library: Library) -> int:
    """Kill a consumer at its second batch and start another; how many events came again."""
    events = random_events(2)
    broker.send(name, partitioned(events))
    args = ["watch", broker.url(name), "--store", "s.db", "--patterns", "patterns", "--json"]
    command = [sys.executable, "-c", KILLED, point, "2", *args, "--every", "0.1s"]
    done = subprocess.run(command, stdout=subprocess.PIPE, timeout=PATIENCE, check=False)
    assert done.returncode == -signal.SIGKILL
    with open_store("s.db") as store:
        stored = store.info().events
        assert 0 < stored < len(events)
        left = len(events) - stored
        added, repeated, _ = take(broker.url(name), store, left, repeats=point == "_set_aside")
        assert added == left
        new = [json.loads(line)["id"] for line in done.stdout.splitlines()] + swept(store, library)
        expected = analyzed(events, library)
        assert standing(store) == expected
        assert sorted(new) == [item["id"] for item in expected]
    return repeated


def test_a_consumer_killed_between_the_commits_loses_and_doubles_nothing(broker, name, library):
    assert check_killed("_set_aside", broker, name, library) > 0


def test_a_consumer_killed_before_the_commit_loses_nothing(redis_broker, name, library):
    assert check_killed("take", redis_broker, name, library) == 0


def test_what_is_delivered_twice_changes_nothing(broker, name, store, library):
    events = random_events(3)
    broker.send(name, partitioned(events + events[:50]))
    assert take(broker.url(name), store, len(events), repeats=50) == (len(events), 50, [])
    swept(store, library)
    before = standing(store)
    every = len(events) + 50
    assert take(broker.url(name, group="two"), store, 0, repeats=every) == (0, every, [])
    assert swept(store, library) == []
    assert standing(store) == before == analyzed(events, library)


def test_bad_messages_are_set_aside_and_block_nothing(broker, name, store, library):
    good = warm_messages()
    bad = [b"{", b"\xff\xfe", b"[1]", b'{"readings": {}}', json.dumps({**good[0], "kind": "other"}).encode()]
    broker.send(name, [*partitioned(good), *((0, body) for body in bad)])
    added, repeated, refused = take(broker.url(name), store, len(good) + len(bad))
    assert (added, repeated, len(refused)) == (len(good), 0, len(bad))
    words = ["not JSON", "not UTF-8", "an event is an object", "subject", "has other content"]
    assert all(any(word in item.why for item in refused) for word in words)
    lines = [json.loads(line) for line in Path("rejected.jsonl").read_text().splitlines()]
    assert sorted(line["position"] for line in lines) == sorted(item.position for item in refused)
    assert all(line["position"].startswith(name) for line in lines)
    assert {line.get("body") for line in lines} >= {"{", "[1]"}
    assert Path("rejected.jsonl").stat().st_mode & 0o077 == 0
    assert len(swept(store, library)) == 1


def test_a_source_without_times_takes_none_with_times(store, library):
    write_events(Path("old.jsonl"), [{"subject": "ann", "source": "old", "readings": {"risk": 0.1}}])
    assert main(["store", "import", "old.jsonl", "--store", "s.db"]) == 0
    events = [{**event, "source": source} for source in ("old", "new") for event in warm_messages()[:1]]
    messages = [Message(f"here/{n}", json.dumps(event).encode(), None, n) for n, event in enumerate(events)]
    lines = [stream_consumer.line_of(item, Limits()) for item in messages]
    taken = writer(store).write(lines, datetime.now(UTC))
    assert (taken.added, [item.position for item in taken.refused]) == (1, ["here/0"])
    assert "the source 'old' has no times in the store" in taken.refused[0].why


def test_a_message_that_is_too_long_is_not_read():
    limits = Limits(line=20)
    long, short = (Message("here/1", b'{"subject": "%s"}' % (b"a" * size), None, 1) for size in (9, 4))
    assert "limits: {line: ...}" in str(stream_consumer.line_of(long, limits).line)
    assert stream_consumer.line_of(short, limits).line == stream_consumer.NO_TIME


def test_an_event_without_id_and_time_is_known_by_its_place(broker, name, store, library):
    body = json.dumps({"subject": "ann", "readings": {"risk": 0.5}}).encode()
    broker.send(name, [(0, body)] * 3)
    assert take(broker.url(name), store, 3) == (3, 0, [])
    assert take(broker.url(name, group="two"), store, 0, repeats=3) == (0, 3, [])
    assert all(abs(datetime.now(UTC) - event.at) < timedelta(hours=1) for event in store.events())


def test_a_batch_has_256_messages_or_more_where_they_wait(broker, name, store, library):
    broker.send(name, partitioned(random_events(count=600)))
    it, close = consumer(broker.url(name), store)
    try:
        assert len(it.gather(PATIENCE)) >= stream_consumer.ENOUGH == 256
    finally:
        close()


def test_kafka_assigns_partitions_to_a_group(name, store, library):
    broker = KafkaBroker()
    events = random_events(4)
    broker.send(name, partitioned(events))
    assert take(f"kafka://{broker.host}/{name}", store, len(events)) == (len(events), 0, [])


def test_redis_is_asked_again_for_an_answer_that_was_lost(redis_broker, name, store, library, monkeypatch):
    redis_broker.send(name, partitioned(warm_messages()))
    stream = open_stream(redis_broker.url(name))
    ask = stream._client.xreadgroup
    lost: list[Any] = []

    def lose(*args: Any, **options: Any) -> Any:
        answer = ask(*args, **options)
        if answer and not lost:
            lost.append(answer)
            raise redis.ConnectionError("gone")
        return answer

    monkeypatch.setattr(stream._client, "xreadgroup", lose)
    it = Consumer(stream, writer(store))
    with closing(stream):
        assert it.take(it.gather(0.2), datetime.now(UTC)).added == len(warm_messages())
    assert lost


# --- the command ----------------------------------------------------------------------------


def watch(url: str, *more: str) -> list[str]:
    return ["watch", url, "--store", "s.db", "--patterns", "patterns", "--every", "0.1s", *more]


def test_the_command_reports_once_and_names_what_it_set_aside(redis_broker, name, library, capsys):
    redis_broker.send(name, [*partitioned(warm_messages()), (1, b"{")])
    url = redis_broker.url(name)
    assert main(watch(url, "--once", "--fail-on", "high")) == 3
    said = capsys.readouterr()
    assert said.out.startswith("HIGH      Love bombing  ann → bo  2026-01-01 12:00")
    (line,) = said.err.splitlines()
    assert line.startswith(f"{name}.1/")
    assert line.endswith("(column 2): set aside in rejected.jsonl")
    assert main(watch(url, "--until-idle", "0.2s", "--fail-on", "high")) == 0
    assert capsys.readouterr().out == ""


def test_ctrl_c_ends_it_with_0_and_loses_nothing(redis_broker, name, library):
    events = warm_messages()
    redis_broker.send(name, partitioned(events[:3]))
    command = [sys.executable, "-m", "ethogram", *watch(redis_broker.url(name), "--json")]
    with started(command, stdout=subprocess.PIPE, text=True) as process:
        redis_broker.send(name, partitioned(events[3:]))
        assert process.stdout is not None
        assert json.loads(process.stdout.readline())["subject"] == "ann"
        process.send_signal(signal.SIGINT)
        assert process.wait(PATIENCE) == 0
    with open_store("s.db") as store:
        assert store.info().events == len(events)
        assert swept(store, library) == []


def test_two_consumers_at_once_report_each_detection_once(redis_broker, name, library):
    events = random_events(5)
    redis_broker.send(name, partitioned(events))
    expected = [item["id"] for item in analyzed(events, library)]
    open_store("s.db", create=True).close()
    command = [sys.executable, "-m", "ethogram"]
    outputs = [Path("0.out"), Path("1.out")]
    consumers = []
    for partition, output in enumerate(outputs):
        args = watch(redis_broker.url(name, str(partition)), "--json")
        with output.open("w") as out:
            consumers.append(subprocess.Popen([*command, *args], stdout=out))
    try:
        with open_store("s.db") as store:
            wait_until(
                lambda: [item["id"] for item in standing(store)] == expected and not store.unreported(),
                f"both consumers to find and report {expected}",
                PATIENCE,
            )
    finally:
        for process in consumers:
            process.send_signal(signal.SIGINT)
        assert [process.wait(PATIENCE) for process in consumers] == [0, 0]
    records = [json.loads(line) for output in outputs for line in output.read_text().splitlines()]
    assert sorted(item["id"] for item in records if item["change"] == "new") == expected


def test_a_stream_is_watched_alone_and_into_a_store(library, capsys):
    for args in (["watch", "redis://h/n"], ["watch", "redis://h/n", "a.jsonl", "--store", "s.db"]):
        assert main(args) == 2
        assert "a stream is watched alone, with --store" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("scheme", "module", "package"),
    [
        ("redis", "redis", "redis"),
        ("nats", "nats", "nats-py"),
        ("kafka", "confluent_kafka", "confluent-kafka"),
    ],
)
def test_without_the_extra_it_says_what_installs_it(scheme, module, package, library, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, module, None)
    assert main(watch(f"{scheme}://localhost/events")) == 2
    said = capsys.readouterr().err
    assert f"needs the package '{package}': pip install -e '.[streams]' in the clone" in said


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("redis://localhost", "with the name of a stream"),
        ("redis:///events", "expected redis://HOST/NAME"),
        ("redis://me:secret@localhost/", "expected redis://HOST/NAME"),
        ("kafka://a,,b/events", "expected kafka://HOST/NAME"),
        ("nats://h/events?partitions=x", "invalid partitions 'x'"),
        ("nats://h/events?partitions=0-99999", "expected numbers from 0"),
        ("nats://h/events?group=a%20b", "invalid group 'a b'"),
        ("nats://h/a.b", "has no '.' in its name"),
        ("nats://h/events?ack_wait=soon", "invalid ack_wait"),
        ("redis://me:secret@h/events?grop=a", "did you mean 'group'?"),
        ("redis://h/events?db=x", "a number for db"),
        ("redis://a,b/events", "expected one HOST"),
        ("redis://h:x/events", "expected HOST:PORT"),
        ("kafka://h:99999999/events", "expected HOST:PORT"),
        ("kafka://h/events?partition=0", "did you mean 'partitions'?"),
    ],
)
def test_bad_addresses(url, words):
    with pytest.raises((BadUsage, BrokerError)) as raised:
        open_stream(url)
    assert words in str(raised.value)
    assert "secret" not in str(raised.value)


def test_a_password_may_be_in_the_environment(monkeypatch):
    monkeypatch.setenv("REDISCLI_AUTH", "from outside")
    assert Address.of("redis://me@h/events").password == "from outside"
    assert Address.of("redis://me:mine@h/events").password == "mine"


def test_what_a_broker_refuses_is_one_line_without_the_password(broker, name):
    broker.send(name, [(0, b"{}")])
    url = broker.url(name, partitions="77").replace("://", "://me:secret@")
    if url.startswith("nats"):
        url = url.replace(name, "nothing")
    with pytest.raises(BrokerError) as raised:
        open_stream(url)
    assert "\n" not in str(raised.value)
    assert "secret" not in str(raised.value)


def test_no_settings_file_names_a_broker(library, tmp_path, capsys):
    for key in ("stream", "streams", "watch"):
        trusted_settings(tmp_path, f"{key}: redis://example.org/events\n")
        assert main(["watch", "a.jsonl", "--once"]) == 2
        assert f"unknown setting '{key}'" in capsys.readouterr().err
