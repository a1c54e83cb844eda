"""After a purge, what others say of the one who is gone is counted, and replaced where that is asked for."""

from __future__ import annotations

import json
import sqlite3
from datetime import timedelta

import pytest
from jsonschema import Draft202012Validator

from ethogram.cli.main import main
from ethogram.files.sqlite import columns
from ethogram.models import Event, Evidence, Verdict
from ethogram.schemas import schema
from ethogram.store import open_store
from ethogram.store.kinds import KINDS
from ethogram.store.purge import PLACES
from ethogram.store.records import SweptDetection
from ethogram.store.schema import SCHEMA
from risk_makers import detection
from stores_support import NOON

ID = "zoë-q"
"""With a letter that JSON writes as an escape."""
COUNTED = {"events": 4, "sources": 1, "detections": 1, "verdicts": 2, "states": 1, "notes": 1}


def event(name: str, subject: str, **fields) -> Event:
    return Event.sample(id=name, at=NOON + timedelta(minutes=len(name)), subject=subject, **fields)


def fill(path) -> None:
    """One of the one who goes, and of others: four that mention it, one that mentions others alone."""
    with open_store(str(path), create=True) as store:
        store.add(
            [
                event("own", ID, text="I am here"),
                event("e1", "bo", target=ID, text="hello"),
                event("e22", "bo", thread=f"chat/{ID}", text=f"Is {ID} there? {ID}!"),
                event("e333", "cy", attributes={"to": [ID, {"cc": f"{ID}, bo"}]}, readings={"topic": ID}),
                event(f"re:{ID}:1", "cy", text="an id of an event"),
                event("e55555", f"{ID}-2", text=f"{ID}-2 and x{ID} are others", target=f"{ID}-2"),
                event("e666666", "bo", source=f"mail of {ID}"),
            ],
            keep_text=True,
        )
        found = detection(
            "d1", source="input", subject="bo", evidence=(Evidence("step", f"re:{ID}:1", NOON, {}),)
        )
        other = detection("d2", source="input", subject="cy", explanation=f"cy wrote to {ID}-2.")
        store.save_sweep(
            "s", "v", NOON, detections=[("new", SweptDetection(item)) for item in (found, other)]
        )
        store.add_verdicts([Verdict("confirmed", ID, NOON, "loop", "v1", detection=found.id, why="seen")])
        store.add_verdicts(
            [Verdict("confirmed", "kim", NOON, "loop", "v1", detection=found.id, why=f"ask {ID}")]
        )
        store.put_note("triage", found.id, {"note": f"{ID} told us"}, NOON)
        store.save_state("talk", "t1", json.dumps({"with": ID}).encode(), NOON, subject="bo")


def bytes_of(path) -> bytes:
    return b"".join(item.read_bytes() for item in path.parent.glob(f"{path.name}*"))


def has(path) -> bool:
    """Whether the id, as itself or as JSON writes it, is a word of any column."""
    with sqlite3.connect(path) as raw:
        texts = [
            str(value.decode() if isinstance(value, bytes) and name == "state" else value)
            for table, names in columns(SCHEMA).items()
            for row in raw.execute(f"SELECT {', '.join(names)} FROM {table}")
            for name, value in zip(names, row, strict=True)
        ]
    raw.close()
    words = "\n".join(texts).replace("zo\\u00eb", "zoë").replace(f"x{ID}", "").replace(f"{ID}-2", "")
    return ID in words


@pytest.fixture
def filled(tmp_path):
    path = tmp_path / "store.db"
    fill(path)
    return path


def test_mentions_that_stay_are_counted_by_kind_of_row(filled):
    with open_store(str(filled)) as store:
        done = store.purge(subject=ID)
    # The target of e1 is gone in any case.
    assert dict(done.mentions) == {**COUNTED, "events": COUNTED["events"] - 1}
    assert (done.events, done.placeholder) == (1, None)
    assert has(filled)


def test_redacting_replaces_the_id_everywhere_and_leaves_other_names_alone(filled):
    with open_store(str(filled)) as store:
        done = store.purge(subject=ID, redact=True)
        assert dict(done.mentions) == COUNTED
        assert done.placeholder == "[purged]"
        events = {event.id: event for event in store.events()}
        assert set(events) == {"e1", "e22", "e333", "re:[purged]:1", "e55555", "e666666"}
        assert events["e1"].target == "[purged]"
        assert (events["e22"].thread, events["e22"].text) == ("chat/[purged]", "Is [purged] there? [purged]!")
        assert events["e333"].attributes == {"to": ["[purged]", {"cc": "[purged], bo"}]}
        assert events["e333"].readings == {"topic": "[purged]"}
        other = events["e55555"]
        assert (other.subject, other.target) == (f"{ID}-2", f"{ID}-2")
        assert other.text == f"{ID}-2 and x{ID} are others"
        assert events["e666666"].source == "mail of [purged]"
        kept = {detection.subject: detection for detection in store.detections()}
        assert kept["bo"].evidence[0].event == "re:[purged]:1"
        assert kept["cy"].explanation == f"cy wrote to {ID}-2."
        assert [(verdict.by, verdict.why) for verdict in store.verdicts()] == [
            ("[purged]", "seen"),
            ("kim", "ask [purged]"),
        ]
        assert store.load_state("talk", "t1") == b'{"with":"[purged]"}'
        assert dict(store.purge(subject=ID).mentions) == {}
    assert not has(filled)
    # Of the file itself, not of its tables: what was overwritten is in no page of it.
    assert f"chat/{ID}".encode() not in bytes_of(filled)


def test_two_who_are_redacted_do_not_become_one(tmp_path):
    with open_store(str(tmp_path / "s.db"), create=True) as store:
        store.add([event("re:ann", "bo", thread="x/ann"), event("re:eve!", "bo", thread="x/eve")])
        assert store.purge(subject="ann", redact=True).placeholder == "[purged]"
        assert store.purge(subject="eve", redact=True).placeholder == "[purged-2]"
        assert {event.thread for event in store.events()} == {"x/[purged]", "x/[purged-2]"}
        assert {event.id for event in store.events()} == {"re:[purged]", "re:[purged-2]!"}


def test_a_purge_in_one_source_leaves_who_has_that_name_in_another(tmp_path):
    with open_store(str(tmp_path / "s.db"), create=True) as store:
        for source in ("mail", "chat"):
            text = event("e2", "bo", source=source, target="ann", thread="ann")
            store.add([event("own", "ann", source=source), text])
        done = store.purge(subject=("mail", "ann"), redact=True)
        assert dict(done.mentions) == {"events": 1}
        found = {
            (event.source, event.id): (event.subject, event.target, event.thread) for event in store.events()
        }
    assert found == {
        ("mail", "e2"): ("bo", "[purged]", "[purged]"),
        ("chat", "own"): ("ann", None, None),
        ("chat", "e2"): ("bo", "ann", "ann"),
    }


def test_every_column_of_words_is_looked_at_or_known_to_name_nobody():
    looked = {(place.kind, column) for place in PLACES for column in place.columns}
    gone = {"staged", "imports", "files"}  # emptied by every purge
    nobody = {
        ("meta", "name"), ("sources", "kinds"), ("subjects", "name"), ("readings", "signal"),
        ("readings", "scorer"), ("detections", "id"), ("detections", "pattern"), ("detections", "version"),
        ("detections", "state"), ("detections", "status"), ("detections", "severity"),
        ("changes", "detection"), ("changes", "change"), ("changes", "state"), ("changes", "severity"),
        ("changes", "version"), ("verdicts", "verdict"), ("verdicts", "pattern"), ("verdicts", "version"),
        ("verdicts", "detection"), ("settled", "detection"), ("settled", "pattern"), ("settled", "verdict"),
        ("verdict_counts", "pattern"), ("verdict_counts", "version"), ("verdict_counts", "month"),
        ("verdict_counts", "verdict"), ("tries", "pattern"), ("tries", "version"), ("tries", "data"),
        ("sweeps", "selection"), ("sweeps", "versions"), ("swept", "selection"), ("swept", "versions"),
        ("locks", "name"), ("locks", "token"), ("locks", "started"), ("locks", "host"), ("looks", "what"),
        ("notes", "kind"), ("notes", "key"),
        # Names of others, which stay, and of sources, which change with the source.
        ("subjects", "source"), ("events", "source"), ("events", "subject"), ("swept", "source"),
        ("swept", "subject"),
        # Pseudonyms of people, whose rows go with them.
        ("people", "name"), ("uses", "person"), ("uses", "session"), ("uses", "id"), ("reported", "person"),
    }  # fmt: skip
    words = {
        (kind.name, column)
        for kind in KINDS.values()
        for column, of in kind.columns.items()
        if of is str and kind.name not in gone
    }
    assert words - looked == nobody


def test_the_command_says_what_is_left_and_how_to_replace_it(filled, capsys):
    assert main(["store", "purge", "--store", str(filled), "--subject", ID]) == 0
    out = capsys.readouterr().out
    assert out.splitlines()[1] == (
        "Others still mention the id, in 3 events, 1 source, 1 detection, 2 verdicts, "
        "1 conversation state and 1 note; --redact replaces it."
    )
    assert main(["store", "purge", "--store", str(filled), "--subject", ID, "--redact", "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    Draft202012Validator(schema("purge")).validate(record)
    assert (record["events"], record["placeholder"]) == (0, "[purged]")
    assert record["mentions"] == {**COUNTED, "events": 3}
    assert not has(filled)


@pytest.mark.parametrize(
    "more", [["--before", "2026-01-01T00:00:00Z"], ["--subject", "a", "--before", "2026-01-01"]]
)
def test_redacting_is_for_a_subject_that_goes_as_a_whole(filled, more, capsys):
    assert main(["store", "purge", "--store", str(filled), "--redact", *more]) == 2
    assert "--redact needs --subject" in capsys.readouterr().err
