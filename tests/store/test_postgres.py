"""What is PostgreSQL's own: addresses, versions, many writers, and faults of a server."""

from __future__ import annotations

import json
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from ethogram.app import stored_events
from ethogram.app.importing import Options, import_events
from ethogram.app.sweep import sweep
from ethogram.cli.main import main
from ethogram.errors import BadUsage, EthogramError
from ethogram.models import Event
from ethogram.patterns.library import load_patterns
from ethogram.store import Store, open_store, postgres
from ethogram.store.postgres import SCHEMA, explain, lock_key, parse, shown_url
from servers import Postgres, free_port, own_server, postgres_schema, small_disk
from small import warm_messages, write_events
from stores_support import LATER, NOON

psycopg = pytest.importorskip("psycopg")


@pytest.fixture
def url() -> Iterator[str]:
    with postgres_schema() as address:
        yield address


@pytest.fixture
def store(url: str) -> Iterator[Store]:
    with open_store(url, create=True) as opened:
        yield opened


def connect(url: str, **how):
    return psycopg.connect(url.partition("?")[0], **how)


def schema_in(url: str) -> str:
    return url.partition("schema=")[2]


# --- addresses and versions -----------------------------------------------------------------


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://ann:s3cret@localhost:5433/db",
        "postgresql+psycopg://ann:s3cret@localhost:5433/db?sslmode=require",
    ],
)
def test_the_address_is_shown_without_the_password(url):
    assert shown_url(*parse(url)) == "postgresql://ann@localhost:5433/db"


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("postgresql://ann:s3cret@localhost", "names no database"),
        ("postgresql://ann:s3cret@localhost:x/db", "expected postgresql://USER@HOST:PORT/DATABASE"),
        ("postgresql://localhost/db?password=s3cret", "unknown option 'password'"),
        ("postgresql://ann:s3cret@localhost/db?schema=A%22b", "invalid schema"),
        ("postgresql://ann:s3cret@localhost/db?schema=pg_temp", "invalid schema"),
    ],
)
def test_a_bad_address_is_refused_without_the_password(url, why, capsys):
    with pytest.raises(BadUsage, match=why) as raised:
        open_store(url)
    assert "s3cret" not in str(raised.value)
    for command in (
        ["store", "info"],
        ["store", "purge", "--subject", "x"],
        ["store", "export-subject", "--subject", "x"],
    ):
        for more in ([], ["--json"] if command[1] != "export-subject" else []):
            assert main([*command, "--store", url, *more]) == 2
    shown = capsys.readouterr()
    assert "s3cret" not in shown.out + shown.err


def test_without_create_a_missing_store_says_how_to_make_one(url):
    with pytest.raises(BadUsage, match=r"there is no store at .*; `ethogram store import FILE --store URL`"):
        open_store(url)


def test_a_newer_schema_is_refused_and_left_as_it_is(url, store):
    store.add([Event.sample(id="a")])
    store.close()
    with connect(url) as raw:
        raw.execute(f"UPDATE {schema_in(url)}.meta SET value = 99 WHERE name = 'schema'")
    with pytest.raises(BadUsage, match=r"has schema 99, and this ethogram knows up to .*Upgrade ethogram"):
        open_store(url, create=True)
    with connect(url) as raw:
        assert raw.execute(f"SELECT value FROM {schema_in(url)}.meta WHERE name = 'schema'").fetchone() == (
            99,
        )


def test_an_older_schema_is_upgraded_with_its_events(url, store, monkeypatch):
    store.add([Event.sample(id="a")])
    store.close()
    step = "CREATE TABLE moods (key INTEGER PRIMARY KEY, name TEXT) STRICT;\n"
    step += "ALTER TABLE looks ADD COLUMN mood TEXT;\n"
    monkeypatch.setattr(postgres, "SCHEMA", SCHEMA._replace(steps=(*SCHEMA.steps, step)))
    for _ in range(2):
        with open_store(url) as opened:
            assert opened.info().schema == SCHEMA.version + 1
            assert [event.id for event in opened.events()] == ["a"]
    with connect(url) as raw:
        raw.execute(f"INSERT INTO {schema_in(url)}.moods (name) VALUES ('calm')")


def test_an_upgrade_that_fails_changes_nothing(url, store, monkeypatch):
    store.close()
    step = "CREATE TABLE moods (name TEXT) STRICT;\nALTER TABLE nothing ADD COLUMN mood TEXT;\n"
    monkeypatch.setattr(postgres, "SCHEMA", SCHEMA._replace(steps=(*SCHEMA.steps, step)))
    with pytest.raises(EthogramError, match="nothing"):
        open_store(url)
    monkeypatch.undo()
    with open_store(url) as opened:
        assert opened.info().schema == SCHEMA.version


def test_a_schema_of_another_program_is_refused(url):
    with connect(url) as raw:
        raw.execute(f"CREATE SCHEMA {schema_in(url)}")
        raw.execute(f"CREATE TABLE {schema_in(url)}.events (id text)")
    with pytest.raises(BadUsage, match=r"has tables of another program; name another with \?schema=NAME"):
        open_store(url, create=True)


# --- names ----------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
@pytest.mark.parametrize("name", ["O'Brien", '"; DROP TABLE events; --', "%s %(x)s :name", "a\\b", "{}$$"])
def test_names_with_sql_in_them_are_names(new_store, kind, name):
    with new_store(kind) as store:
        event = Event.sample(
            id=name, subject=name, target=name, thread=name, source=name, text=name, readings={"topic": name}
        )
        store.add([event], keep_text=True)
        assert list(store.events([(name, name)])) == [event] == list(store.columns([(name, name)]))
        assert [row.who for row in store.subjects(name, name)] == [(name, name)]
        assert [row.target for row in store.links(name, name)] == [name]
        store.save_state("conversation", name, b"{}", NOON, subject=name)
        assert store.purge(subject=name, redact=True).events == 1
        assert list(store.events()) == []


# --- many writers ---------------------------------------------------------------------------

WRITER = """
import sys
from datetime import UTC, datetime
from ethogram.app.importing import Options, import_events
from ethogram.store import open_store
with open_store(sys.argv[1], create=True) as store:
    import_events(store, sys.argv[2:], at=datetime(2026, 6, 1, tzinfo=UTC), options=Options(batch=7))
"""


def test_eight_writers_of_interleaved_histories_are_as_good_as_one(tmp_path, new_url):
    everybody = [warm_messages(f"s{number}") for number in range(60)]
    lines = [line for step in zip(*everybody, strict=True) for line in step]
    whole = write_events(tmp_path / "whole.jsonl", lines)
    # Each writer has every eighth event of everybody, and some of the others', which are repeats.
    parts = [
        write_events(tmp_path / f"{number}.jsonl", lines[number::8] + lines[: 8 * number])
        for number in range(8)
    ]
    url, alone = new_url("postgresql"), new_url("sqlite")
    writers = [
        subprocess.Popen([sys.executable, "-c", WRITER, url, str(part)], stderr=subprocess.PIPE, text=True)
        for part in parts
    ]
    errors = [writer.communicate(timeout=120)[1] for writer in writers]
    assert [writer.returncode for writer in writers] == [0] * 8, errors
    subprocess.run([sys.executable, "-c", WRITER, alone, str(whole)], check=True)
    with open_store(url) as many, open_store(alone) as one:
        assert sorted(event.id for event in many.events()) == sorted(event.id for event in one.events())
        assert [row.events for row in many.subjects()] == [4] * 60
        assert swept(many) == swept(one)
        assert len(many.detections(patterns=["love_bombing"])) == 60


def swept(store: Store) -> list[dict]:
    from ethogram.app.sweep import sweep
    from ethogram.patterns.library import load_patterns

    sweep(store, load_patterns(), as_of=LATER, clock=lambda: LATER)
    return [detection.to_dict() for detection in store.detections()]


def test_a_lock_ends_with_its_connection_and_not_before(url, store):
    held = store.lock("sweep", NOON)
    with open_store(url) as other:
        # However long ago: the holder is there.
        with pytest.raises(BadUsage, match="another sweep is at work since"):
            other.lock("sweep", NOON + timedelta(days=9))
        # That of this store: other tests hold locks on the same server.
        own = lock_key(schema_in(url), "sweep") % 2**64
        query = f"""SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory'
          AND classid = {own >> 32} AND objid = {own % 2**32}"""
        with connect(url) as raw:
            key = raw.execute(query + " AND granted").fetchall()
            assert key
        taken = other.lock("sweep", NOON)
        with pytest.raises(BadUsage, match="took over"):
            store.save_sweep("s", "v", NOON, lock=held)
        other.unlock(taken)


# --- faults ---------------------------------------------------------------------------------


@pytest.fixture
def server() -> Iterator[Postgres]:
    with (
        tempfile.TemporaryDirectory(prefix="ethogram-pg-") as folder,
        own_server(Path(folder) / "own") as own,
    ):
        yield own


def test_processes_that_share_a_sweep_log_in_with_the_password(server, monkeypatch):
    monkeypatch.setattr(stored_events, "MOST_SUBJECTS", 1)
    with open_store(server.url, create=True) as store:
        store.add([Event.sample(id=who, subject=who) for who in ("ann", "bo")])
        now = Event.sample().at
        assert (
            sweep(store, load_patterns(["love_bombing"]), as_of=now, clock=lambda: now, jobs=2).subjects == 2
        )


def stop_within(store: Store, server: Postgres) -> None:
    """A write during which the server stops."""
    with store.writing() as connection:
        connection.execute("DELETE FROM events")
        server.stop()
        connection.execute("DELETE FROM subjects")


def test_a_server_that_goes_away_in_a_write_loses_and_doubles_nothing(server):
    first = [Event.sample(id=f"a{number}", seq=number) for number in range(50)]
    more = [Event.sample(id=f"b{number}", seq=number) for number in range(50)]
    with open_store(server.url, create=True) as store:
        store.add(first)

        with pytest.raises(EthogramError, match=r"run this again") as raised:
            stop_within(store, server)
        assert parse(server.url)[0].password not in str(raised.value)
        with pytest.raises(EthogramError, match="run this again"):
            store.add(more)
        server.start()
        assert store.add(more).added == 50
        assert store.add([*first, *more])[:2] == (0, 100)
        assert [row.events for row in store.subjects()] == [100]


def test_an_import_goes_on_after_the_server_was_away(server, tmp_path, monkeypatch):
    lines = [line for number in range(10) for line in warm_messages(f"s{number}")]
    path = write_events(tmp_path / "events.jsonl", lines)
    with open_store(server.url, create=True) as store:
        stage, batches = store.stage, []

        def stage_and_stop(*args, **how):
            batches.append(args)
            if len(batches) == 3:
                server.stop()
            return stage(*args, **how)

        monkeypatch.setattr(store, "stage", stage_and_stop)
        options = Options(batch=10)
        with pytest.raises(EthogramError, match="run this again"):
            import_events(store, [path], at=LATER, options=options)
        server.start()
        done = import_events(store, [path], at=LATER, options=options)
        assert (done.added, done.resumed_after) == (40, 20)
        assert [row.events for row in store.subjects()] == [4] * 10


def test_an_import_goes_on_after_the_disk_of_the_server_was_full(server, tmp_path):
    rng = random.Random(1)
    everybody = [line for number in range(200) for line in warm_messages(f"s{number}")]
    lines = [{**line, "text": rng.randbytes(5_000).hex()} for line in everybody]
    path = write_events(tmp_path / "events.jsonl", lines)
    options = Options(batch=100, keep_text=True)
    with small_disk(server.folder / "small", megabytes=16) as disk:
        shutil.chown(disk, "postgres")
        with connect(server.url, autocommit=True) as raw:
            raw.execute(f"CREATE TABLESPACE small LOCATION '{disk}'")
            raw.execute("CREATE DATABASE small TABLESPACE small")
        with open_store(server.url.replace("/postgres", "/small"), create=True) as store:
            store.add([Event.sample(id="before", source="x")])
            with pytest.raises(EthogramError, match="the disk of the server is full: nothing was changed"):
                import_events(store, [path], at=LATER, options=options)
            assert [event.id for event in store.events()] == ["before"]
            subprocess.run(["mount", "-o", "remount,size=200m", disk], check=True)
            done = import_events(store, [path], at=LATER, options=options)
            assert done.added == len(lines)
            assert done.resumed_after > 0
            assert store.info().events == len(lines) + 1
        server.stop()


def test_a_full_disk_of_the_server_says_that_nothing_was_changed():
    text = explain(psycopg.errors.DiskFull("could not extend file: No space left on device"))
    assert text.startswith("could not extend file: No space left on device; the disk of the server is full")


def test_a_wrong_password_says_what_to_check_and_is_not_shown(url, store, capsys):
    address = parse(url)[0]
    wrong = url.replace(str(address.password), "wr0ng-one")
    with pytest.raises(EthogramError, match=r"check the user and the password") as raised:
        open_store(wrong)
    assert "wr0ng-one" not in str(raised.value)
    for more in ([], ["--json"]):
        assert main(["store", "info", "--store", wrong, *more]) == 2
    shown = capsys.readouterr()
    assert "check the user" in shown.out + shown.err
    assert "wr0ng-one" not in shown.out + shown.err


def test_a_database_that_is_not_there_and_a_server_that_does_not_answer_say_what_to_do(url):
    address = parse(url)[0]
    for wrong, advice in (
        (
            address._replace(database="nowhere"),
            r'database "nowhere" does not exist; create the database first',
        ),
        (address._replace(port=free_port()), r"Connection refused; start the server, or check host and port"),
    ):
        with pytest.raises(EthogramError, match=advice):
            open_store(wrong.to_url({}))


def test_no_command_prints_the_password(url, tmp_path, capsys):
    password = str(parse(url)[0].password)
    events = write_events(tmp_path / "events.jsonl", [{"id": "a", "subject": "ann", "at": NOON.isoformat()}])
    for args in (
        ["store", "import", str(events)],
        ["store", "import", str(events), "--json"],
        ["store", "info"],
        ["store", "info", "--json"],
        ["sweep", "--json", "--as-of", "2026-02-01T00:00:00Z"],
        ["store", "subject", "ann", "--json"],
        ["analyze"],
        ["store", "purge", "--subject", "ann"],
    ):
        assert main([*args, "--store", url]) == 0, capsys.readouterr()
    shown = capsys.readouterr()
    assert "postgresql://" in shown.out
    assert password not in shown.out + shown.err


def test_a_user_who_may_only_read_reads(url, store):
    store.add([Event.sample(id="a", subject="ann")])
    name, reader = schema_in(url), f"r{schema_in(url)}"
    with connect(url, autocommit=True) as raw:
        raw.execute(f"CREATE ROLE {reader} LOGIN PASSWORD 'x'")
        raw.execute(f"GRANT USAGE ON SCHEMA {name} TO {reader}")
        raw.execute(f"GRANT SELECT ON ALL TABLES IN SCHEMA {name} TO {reader}")
    address = parse(url)[0]._replace(user=reader, password="x")
    try:
        with open_store(address.to_url({"schema": name})) as opened:
            assert [event.id for event in opened.events()] == ["a"]
            assert opened.info().events == 1
            with pytest.raises(EthogramError, match=r"permission denied .*; this user lacks the right"):
                opened.add([Event.sample(id="b")])
            assert len(opened.columns()) == 1
    finally:
        with connect(url, autocommit=True) as raw:
            raw.execute(f"DROP OWNED BY {reader}")
            raw.execute(f"DROP ROLE {reader}")


def test_a_full_disk_changes_nothing(new_url):
    with open_store(new_url("sqlite"), create=True) as store:
        store.add([Event.sample(id="a")])
        with store.writing() as connection:
            pages = connection.execute("PRAGMA page_count").fetchone()[0]
            connection.execute(f"PRAGMA max_page_count = {pages + 4}")
        many = [Event.sample(id=f"b{number}", text="x" * 500, seq=number) for number in range(200)]
        with pytest.raises(EthogramError, match="disk is full; nothing was changed"):
            store.add(many, keep_text=True)
        assert [event.id for event in store.events()] == ["a"]


MEMORY = """
import sys, resource, itertools
from datetime import UTC, datetime
from ethogram.app.importing import Options, import_events
from ethogram.store import open_store
with open_store(sys.argv[1], create=True) as store:
    done = import_events(store, sys.argv[2:], at=datetime(2026, 6, 1, tzinfo=UTC), options=Options())
    print(done.added, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024)
"""


@pytest.mark.long
@pytest.mark.parametrize("kind", ["sqlite", "postgresql", "neo4j"])
def test_a_hundred_thousand_events_are_imported_in_flat_memory(tmp_path, new_url, kind):
    peaks, url = [], new_url(kind)
    for count in (20_000, 100_000):
        path = tmp_path / f"{count}.jsonl"
        with path.open("w") as file:
            for number in range(count):
                at, name = (NOON + timedelta(seconds=number)).isoformat(), f"{count}-{number}"
                line = {"id": name, "at": at, "subject": f"s{number % 99}", "readings": {"risk": 0.5}}
                file.write(json.dumps(line) + "\n")
        run = subprocess.run(
            [sys.executable, "-c", MEMORY, url, str(path)],
            capture_output=True,
            text=True,
            check=True,
        )
        added, peak = map(int, run.stdout.split())
        assert added == count
        peaks.append(peak)
    assert peaks[1] < peaks[0] + 40, peaks
