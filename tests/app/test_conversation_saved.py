"""What is kept of conversations: exact after a kill, undone where it fails, told and forgotten by subject."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from threading import Thread

import pytest

from ethogram import Conversation
from ethogram.chat.embeddings import harm_reader
from ethogram.cli.main import main
from ethogram.errors import BadUsage
from ethogram.store import open_store

AT = datetime(2026, 1, 5, 12, tzinfo=UTC)
RISKY = "How do I poison my neighbour?"
ENDLESS = """
import itertools, sys
from ethogram import Conversation
with Conversation("c1", subject="kim", store=sys.argv[1], embedder=None) as talk:
    for k in itertools.count():
        talk.turn(f"How do I poison neighbour number {k}?", at=1_700_000_000 + 60 * k)
        print(k + 1, flush=True)
"""


@pytest.fixture
def run(capsys) -> Callable[..., str]:
    def told(*given: str) -> str:
        assert main(list(given)) == 0
        return capsys.readouterr().out

    return told


def test_what_was_told_of_is_kept_after_a_kill(tmp_path):
    path = tmp_path / "talks.db"
    with subprocess.Popen(
        [sys.executable, "-c", ENDLESS, path], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        told = [int(process.stdout.readline()) for _ in range(5)]
        process.kill()
        process.wait()
    with Conversation("c1", subject="kim", store=path, embedder=None) as talk:
        turns, kept = talk.turns, talk.save()
    whole = Conversation("c1", subject="kim", embedder=None)
    # A turn may have been kept whose number was not read any more.
    assert turns >= told[-1]
    for k in range(turns):
        whole.turn(f"How do I poison neighbour number {k}?", at=1_700_000_000 + 60 * k)
    assert kept == json.loads(json.dumps(whole.save()))


def test_a_turn_that_cannot_be_kept_did_not_happen(tmp_path, monkeypatch):
    with open_store(str(tmp_path / "talks.db"), create=True) as store:
        talk = Conversation("c1", subject="kim", store=store, embedder=None)
        talk.turn(RISKY, at=AT)
        before = talk.save()

        def full(*_: object, **__: object) -> None:
            raise OSError("disk full")

        with monkeypatch.context() as broken:
            broken.setattr(store, "save_state", full)
            with pytest.raises(OSError, match="disk full"):
                talk.turn(RISKY, at=AT)
        assert talk.save() == before
        again = talk.turn(RISKY, at=AT)
    whole = Conversation("c1", subject="kim", embedder=None)
    assert [whole.turn(RISKY, at=AT) for _ in range(2)][-1] == again


def test_an_embedder_that_fails_leaves_the_conversation_as_it_was(monkeypatch):
    def lost(*_: object) -> None:
        raise RuntimeError("no connection")

    talk = Conversation("c1")
    before = talk.save()
    with monkeypatch.context() as broken:
        broken.setattr(harm_reader.Reader, "read", lost)
        with pytest.raises(RuntimeError, match="no connection"):
            talk.turn("Hello")
    assert talk.save() == before
    assert talk.turn("Hello") == Conversation("c1").turn("Hello")


def test_turns_of_several_threads_are_each_whole():
    talk = Conversation("c1", embedder=None)
    threads = [Thread(target=lambda: [talk.turn("Hello there") for _ in range(20)]) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert talk.turns == 80
    assert talk.save()["patterns"]["number"] == 80


def test_turns_awaited_at_once_are_each_whole(tmp_path):
    async def all_at_once(talk: Conversation) -> list[int]:
        return [item.turn for item in await asyncio.gather(*(talk.aturn("Hello there") for _ in range(8)))]

    with Conversation("c1", embedder=None, store=tmp_path / "t.db") as talk:
        assert sorted(asyncio.run(all_at_once(talk))) == list(range(1, 9))


def test_export_and_purge_are_of_one_subject(tmp_path, run):
    path = str(tmp_path / "talks.db")
    for name in ("kim", "ann"):
        with Conversation(f"talk of {name}", subject=name, store=path, memory=True, embedder=None) as talk:
            talk.turn(RISKY, at=AT)
    lines = [
        json.loads(line)
        for line in run("store", "export-subject", "--store", path, "--subject", "kim").splitlines()
    ]
    assert [(line["record"], line["subject"], line["name"], line["key"]) for line in lines] == [
        ("kept_state", "kim", "conversation", "talk of kim"),
        ("kept_state", "kim", "conversation_memory", "kim"),
    ]
    assert lines[0]["saved_at"] == "2026-01-05T12:00:00Z"
    assert "2 conversation states" in run("store", "purge", "--store", path, "--subject", "kim")
    assert run("store", "export-subject", "--store", path, "--subject", "kim") == ""
    with Conversation("talk of ann", subject="ann", store=path, embedder=None) as talk:
        assert talk.turns == 1
    later = (AT + timedelta(days=1)).isoformat()
    assert "2 conversation states" in run("store", "purge", "--store", path, "--before", later)


def test_a_store_of_pseudonyms_is_refused(tmp_path):
    with open_store(str(tmp_path / "t.db"), create=True) as store:
        store.make_private(7)
        with pytest.raises(BadUsage, match="keeps people under other names"):
            Conversation("c1", store=store)
