"""Wrote the stores in this folder, with a wheel of commit a128a680 in an environment of its own.

    PYTHONPATH=tests python tests/goldens/previous/write.py write    the stores, and what they answer
    PYTHONPATH=tests python tests/goldens/previous/write.py ask      what they answer

It is kept to show what is in them, and needs PostgreSQL and Neo4j as the tests start them.
"""

from __future__ import annotations

import json
import lzma
import os
import random
import secrets
import shutil
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import neo4j_server
import servers
import store_dumps
from ethogram.cli import options
from golden_text import alone, run_command
from goldens.previous import asking, stories
from goldens.previous.stories import FIRST_SWEEP, PEOPLE_AS_OF, SECOND_SWEEP

NOW = datetime(2026, 6, 3, 10, tzinfo=UTC)
HERE = Path(__file__).parent


def run(line: str, *codes: int) -> str:
    """Run a command that must end with one of these codes (0); what it printed."""
    code, output, errors = run_command(line)
    assert code in (codes or (0,)), f"{line}: exit {code}: {errors}"
    return output


def records(line: str) -> list[dict[str, Any]]:
    return [json.loads(row) for row in run(line).splitlines()]


def make_repeatable() -> None:
    """The clock of commands stands still, and random ids and keys are the same in every kind of store."""
    streams: defaultdict[tuple[str, int], random.Random] = defaultdict(lambda: random.Random(7))

    def draw(what: str, size: int) -> bytes:
        return streams[what, size].randbytes(size)

    options.now = lambda: NOW
    secrets.token_hex = lambda n=32: draw("hex", n).hex()
    secrets.token_urlsafe = lambda n=32: draw("text", n).hex()
    secrets.token_bytes = lambda n=32: draw("bytes", n)
    secrets.randbits = streams["bits", 0].getrandbits


@contextmanager
def new_folder() -> Iterator[Path]:
    make_repeatable()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name).resolve()
        stories.write_files(folder)
        with alone(folder):
            yield folder


# --- stores of events -----------------------------------------------------------------------


def fill_events(url: str, folder: Path) -> str:
    """Everything a store of events may hold; returns the secret of an API key."""
    store = f"--store {url}"
    run("config trust . --yes --json")
    if "://" in url and not url.startswith(("sqlite", "postgresql")):
        run(f"graph init {store} --json")
    # Changes: new ones, and some that close with what comes later.
    run(f"store import histories/conversation.jsonl {store} --keep-text --json")
    run(f"sweep {store} {FIRST_SWEEP} --json")
    for name in ("histories/network.jsonl", "histories/risk.jsonl", "world.jsonl"):
        run(f"store import {name} {store} --keep-text --json")
    add_scores(url)
    found = records(f"sweep {store} {SECOND_SWEEP} --patterns love_bombing --patterns too_hot --json")
    # Verdicts: old ones, which are then counted and removed, and those that a parameter is learned from.
    run(f"verdict {stories.ANN} confirmed --why Pressed. --by kim --at 2026-03-24T10:00:00Z {store} --json")
    run(f"verdict {stories.ANN} confirmed --by lee --blind --at 2026-03-24T11:00:00Z {store} --json")
    settle(url)
    missed = "--missed love_bombing --subject visitor --from q001 --to q003 --by kim"
    run(f"verdict {missed} --at 2026-06-03T08:00:00Z {store} --json")
    hot = [row for row in found if row.get("pattern") == "too_hot"]
    (folder / "judged.csv").write_text(stories.verdict_rows(hot))
    run(f"verdict --file judged.csv {store} --json")
    run(f"verdict {hot[0]['id']} false_alarm --by lee --blind --at 2026-06-03T09:30:00Z {store} --json")
    run(f"patterns learn too_hot {store} --json")
    run(f"patterns learn too_hot --accept --by kim {store} --json")
    run(f"sweep {store} {SECOND_SWEEP} --patterns love_bombing --patterns too_hot --json")
    # Notes, a conversation, an import that stops.
    (key,) = records(f"keys new dashboard --role admin --rate 600 {store} --json")
    decide(url, hot[1]["id"])
    run(f"chat talk.txt {store} --json")
    interrupt(url)
    return str(key["key"])


def add_scores(url: str) -> None:
    """Readings by two scorers, beside those that came with the events."""
    from ethogram.models import Reading
    from ethogram.store import open_store

    with open_store(url) as store:
        for n in range(3):
            for scorer, value in (("judge@1", 0.2 * n), ("other@2", 0.9)):
                store.add_readings(("input", f"both-{n}"), [Reading("manipulation", value, scorer)])


def settle(url: str) -> None:
    """Count and remove the old verdicts."""
    from ethogram.store import open_store

    with open_store(url) as store:
        assert store.settle_verdicts(datetime(2026, 5, 1, tzinfo=UTC)) == 1


def decide(url: str, detection: str) -> None:
    """What people noted in the inbox."""
    from ethogram.service.inbox import decide as note
    from ethogram.service.inbox import look
    from ethogram.store import open_store

    with open_store(url) as store:
        found = {item.id: item for item in store.detections()}
        note(store, found[detection], "kim", NOW, muted="escalates", assigned="lee", note="Known since May.")
        look(store, "dashboard", NOW - timedelta(days=30))


def interrupt(url: str) -> None:
    """Stop an import after ten events; they are staged."""
    from ethogram.app import importing
    from ethogram.config import load_settings
    from ethogram.store import open_store

    def stop(done: int, total: int) -> None:
        raise KeyboardInterrupt

    settings = load_settings().settings
    how = importing.Options(settings.source, keep_text=True, batch=10)
    with open_store(url) as store:
        with suppress(KeyboardInterrupt):
            importing.import_events(
                store, ["late.jsonl"], at=NOW, options=how, settings=settings, progress=stop
            )
        assert [item.staged for item in store.imports()] == [10]


def fill_private(url: str) -> None:
    """Pseudonyms, detections of them, and who looked at whom."""
    run("config trust . --yes --json")
    run(f"store import people.jsonl --store {url} --pseudonyms usage.key --json")
    run(f"sweep --store {url} --as-of {PEOPLE_AS_OF} --json")
    run(f"store subject fay --store {url} --key usage.key --who lee --why asked --json")


# --- people ---------------------------------------------------------------------------------


def fill_people(folder: Path) -> None:
    """Three stores of use: by commands, with a rotated key; aggregates alone; sessions."""
    from ethogram import BehavioralTracker, UsageTracker

    run("config trust . --yes --json")
    first = (folder / "usage.key").read_text()
    at, clock = datetime(2026, 2, 1, 9, tzinfo=UTC), NOW.timestamp
    with UsageTracker(
        "aggregates.db",
        key="usage.key",
        keep="aggregates",
        retention=timedelta(days=60),
        who="lee",
        clock=clock,
    ) as tracker:
        for n in range(60):
            day = at + timedelta(hours=17 * n)
            tracker.record("fay", day, 40 + n, emotional=n % 7 == 0, session=f"session {n // 3}", id=f"e{n}")
            tracker.record("gil", day + timedelta(minutes=20), 60, time_zone="Europe/Berlin")
        tracker.sweep(day + timedelta(hours=1))
        tracker.signals("fay", day, why="asked")
    with UsageTracker("sessions.db", key="usage.key", clock=clock, time_zone="UTC") as usage:
        sessions = BehavioralTracker(usage)
        for n in range(40):
            sessions.record("fay", (at + timedelta(hours=9 * n)).timestamp(), 100, emotional_content=n == 39)
        sessions.get_risk_signals("fay", at + timedelta(hours=9 * 40))
    store = "--store usage.db --key usage.key"
    run(f"usage record people.jsonl {store} --json")
    run(f"usage sweep {store} --as-of 2026-03-02T00:00:00Z --who lee --json")
    run(f"usage signals fay {store} --as-of {PEOPLE_AS_OF} --who lee --why asked --json")
    run(f"store purge {store} --subject hal --who lee --json")
    run("usage key rotate usage.key --store usage.db --who lee --json")
    (folder / "rotated.key").write_text((folder / "usage.key").read_text())
    (folder / "usage.key").write_text(first)


# --- writing --------------------------------------------------------------------------------


def save(name: str, content: bytes) -> None:
    """Write a file of this folder, compressed."""
    packed = lzma.compress(content, preset=9 | lzma.PRESET_EXTREME)
    (asking.DATA / f"{name}.xz").write_bytes(packed)
    print(f"{name}: {len(content):,} bytes, {len(packed):,} packed")


def save_database(path: Path, name: str) -> None:
    """Save an SQLite file as one file, without what is free in it."""
    import sqlite3

    with sqlite3.connect(path) as raw:
        raw.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        raw.execute("VACUUM")
        raw.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    raw.close()
    save(name, path.read_bytes())


def write() -> None:
    shutil.rmtree(asking.DATA, ignore_errors=True)
    asking.DATA.mkdir()
    with new_folder() as folder:
        secret = fill_events("events.db", folder)
        save_database(folder / "events.db", "events.sqlite")
        learned = (folder / "ethogram.learned.yaml").read_bytes()
        (asking.DATA / "ethogram.learned.yaml").write_bytes(learned)
        (asking.DATA / "api_key.txt").write_text(secret)
    with new_folder() as folder:
        fill_private("private.db")
        save_database(folder / "private.db", "private.sqlite")
    with new_folder() as folder:
        fill_people(folder)
        for name in ("usage", "aggregates", "sessions"):
            save_database(folder / f"{name}.db", f"{name}.sqlite")
        shutil.copy(folder / "rotated.key", asking.DATA)
    programs = servers.binaries()
    assert programs is not None
    with servers.postgres_schema() as url:
        with new_folder() as folder:
            fill_events(url, folder)
        save("events.postgresql", store_dumps.dump_postgres(url, programs).encode())
    with servers.postgres_schema() as url:
        with new_folder():
            fill_private(url)
        save("private.postgresql", store_dumps.dump_postgres(url, programs).encode())
    with neo4j_server.empty_neo4j() as url, neo4j_server.driver_of(url) as driver:
        for name in ("events", "private"):
            neo4j_server.clear(url)
            with new_folder() as folder:
                fill_events(url, folder) if name == "events" else fill_private(url)
            save(f"{name}.neo4j", store_dumps.dump_neo4j(driver).encode())


def main() -> None:
    with tempfile.TemporaryDirectory() as own:
        for name in ("XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME"):
            os.environ[name] = f"{own}/{name.lower()}"
        servers.begin()
        neo4j_server.begin()
        try:
            if sys.argv[1] == "write":
                write()
            asking.write_answers()
        finally:
            neo4j_server.end()
            servers.end()


if __name__ == "__main__":
    main()
