"""`ethogram usage`, `purge` and `export`: people's use recorded, looked at, handed out and gone."""

from __future__ import annotations

import json
import sqlite3
import stat
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from ethogram.cli.main import main
from ethogram.files import sqlite
from ethogram.schemas import schema
from ethogram.usage.tracker import UsageTracker

START = datetime(2026, 8, 1, 10, tzinfo=UTC)
LATER = "2026-10-12T12:00:00Z"
ANN = "ann@mail.invalid"


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ETHOGRAM_USAGE_KEY_FILE", "usage.key")
    lines = ["subject,at,length,time_zone"]
    for day in range(60):
        for k in range(4):
            at = START + timedelta(days=day, minutes=7 * k)
            lines.append(f"{ANN},{at.isoformat()},{100 + k},Europe/Berlin")
    (tmp_path / "usage.csv").write_text("\n".join(lines) + "\n")
    return tmp_path


@pytest.fixture
def recorded(folder, capsys) -> Path:
    run("usage", "key", "new", "usage.key")
    run("usage", "record", "usage.csv", "--store", "usage.db")
    capsys.readouterr()
    return folder


def run(*args: str, code: int = 0) -> None:
    assert main(list(args)) == code


def records(capsys) -> list[dict]:
    """What was written, each record valid by its schema."""
    found = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    for one in found:
        errors = [error.message for error in Draft202012Validator(schema(one["record"])).iter_errors(one)]
        assert not errors, one
    return found


def bytes_of(folder: Path, name: str) -> bytes:
    return b"".join(one.read_bytes() for one in folder.glob(f"{name}*"))


def test_a_person_who_was_never_recorded_is_named(recorded, capsys):
    run("usage", "signals", "nobody", "--store", "usage.db")
    assert capsys.readouterr().out == "nobody: nobody of that name was recorded in usage.db\n"


def test_a_file_is_recorded_once(folder, capsys):
    run("usage", "key", "new", "usage.key", "--json")
    run("usage", "record", "usage.csv", "--store", "usage.db", "--json")
    run("usage", "record", "usage.csv", "--store", "usage.db", "--json")
    run("usage", "info", "--store", "usage.db", "--json")
    key, first, again, info = records(capsys)
    assert key["keys"] == 1
    assert (first["added"], first["known"]) == (240, 0)
    assert (again["added"], again["known"]) == (0, 240)
    assert (info["people"], info["events"]) == (1, 240)
    assert ANN.encode() not in bytes_of(folder, "usage.db")


def test_all_that_is_wrong_with_a_file_is_said_at_once_and_nothing_is_recorded(folder, capsys):
    run("usage", "key", "new", "usage.key")
    bad = [
        "subject,at,length,time_zone",
        "ann,2036-08-01T00:00:00Z,4,",
        "bo,2026-08-01T00:00:00Z,4,../passwd",
    ]
    (folder / "bad.csv").write_text(
        "\n".join([*bad, "bo,2026-08-01T00:00:00Z,5,", ",2026-08-01T00:00:00Z,4,"])
    )
    run("usage", "record", "bad.csv", "--store", "usage.db", code=2)
    said = capsys.readouterr().err
    assert "bad.csv:2: at: 2036-08-01T00:00:00Z is in the future: expected a time up to" in said
    assert "bad.csv:3: unknown time zone '../passwd'" in said
    assert "bad.csv:5: an event needs a subject" in said
    assert not (folder / "usage.db").exists()
    run("usage", "record", "bad.csv", "--store", "usage.db", "--skip-bad")
    assert capsys.readouterr().out == "1 event recorded in usage.db.\n"


def test_what_is_unusual_is_told_and_a_sweep_tells_it_once(recorded, capsys):
    run("usage", "signals", ANN, "--store", "usage.db", "--as-of", LATER, "--json", "--why", "a review")
    (found,) = records(capsys)
    assert found["withdrawal_detected"]
    assert found["subject"] == ANN
    run("usage", "signals", ANN, "--store", "usage.db", "--as-of", LATER)
    assert "  MEDIUM withdrawal: Withdrawal" in capsys.readouterr().out
    (recorded / "ids.txt").write_text(f"{ANN}\nbo\n")
    sweep = ("usage", "sweep", "--store", "usage.db", "--as-of", LATER, "--json", "--fail-on", "medium")
    run(*sweep, "--subjects", "ids.txt", code=3)
    told, summary = records(capsys)
    assert (told["subject"], told["severity"]) == (ANN, "medium")
    assert summary["people"] == {"low": 0, "medium": 1}
    run(*sweep)
    (summary,) = records(capsys)
    assert summary["people"] == {"low": 0, "medium": 0}
    run("usage", "audit", "--store", "usage.db", "--json", "--subject", ANN)
    assert [(one["what"], one["why"]) for one in records(capsys)] == [
        ("signals", "a review"), ("signals", ""), ("listed", ""),
    ]  # fmt: skip


def test_a_person_can_have_their_data_and_have_it_removed(recorded, capsys):
    run("store", "export-subject", "--store", "usage.db", "--subject", ANN)
    kinds = [one["record"] for one in records(capsys)]
    assert kinds.count("usage_event") == 240
    assert {"usage_person", "usage_day", "usage_half_hour", "usage_look"} <= {*kinds}
    run("store", "purge", "--store", "usage.db", "--subject", ANN, "--json")
    (gone,) = records(capsys)
    assert (gone["people"], gone["events"], gone["clean"]) == (1, 240, True)
    run("store", "export-subject", "--store", "usage.db", "--subject", ANN)
    assert [one["what"] for one in records(capsys)] == ["unknown"]
    run("store", "purge", "--store", "usage.db", code=2)
    assert "nothing to purge" in capsys.readouterr().err


def test_a_key_is_turned_and_checked(recorded, capsys):
    run("usage", "key", "rotate", "usage.key", "--store", "usage.db", "--json")
    run("usage", "key", "check", "--store", "usage.db", "--json")
    assert [one["keys"] for one in records(capsys)] == [2, 2]
    run("usage", "key", "new", "other.key")
    run("usage", "key", "check", "--store", "usage.db", "--key", "other.key", code=2)
    assert "not that of this store" in capsys.readouterr().err
    run("usage", "key", "new", "other.key", code=2)
    assert "never written over" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (["usage", "sweep", "--store", "usage.db", "--fail-on", "high"], "low or medium"),
        (["usage", "sweep", "--store", "usage.db", "--subjects", "no.txt"], "no.txt"),
        (["usage", "signals", "ann", "--store", "no.db"], "no usage store at no.db"),
        (["usage", "signals", "ann", "--store", "usage.db", "--pseudonym"], "invalid pseudonym"),
        (["usage", "signals", "ann", "--store", "usage.csv"], "not a usage store"),
        (["usage", "record", "usage.csv", "--store", "usage.db", "--retention", "long"], "--retention"),
        (
            ["usage", "record", "usage.csv", "--store", "usage.db", "--retention", "1h"],
            "one day or more, like 90d",
        ),
        (["usage", "record", "usage.csv", "--store", "usage.db", "--keep", "all"], "events or aggregates"),
    ],
    ids=lambda one: " ".join(one) if isinstance(one, list) else "",
)
def test_what_makes_no_sense_is_said_plainly(recorded, capsys, args, says):
    run(*args, code=2)
    assert says in capsys.readouterr().err


# --- stores of events -----------------------------------------------------------------------------


@pytest.fixture
def private(folder, capsys) -> Path:
    run("usage", "key", "new", "usage.key")
    lines = [
        {
            "id": f"id-of-ann-{k}", "at": (START + timedelta(hours=k)).isoformat(), "subject": ANN,
            "target": "bo@mail.invalid", "thread": "thread-of-ann", "session": "session-of-ann",
            "kind": "message", "text": "words of ann",
            "attributes": {"length": 7, "name": "name-of-ann", "role": "user"},
            "readings": {"manipulation": 0.5},
        }
        for k in range(5)
    ]  # fmt: skip
    (folder / "talk.jsonl").write_text("\n".join(map(json.dumps, lines)) + "\n")
    run("store", "import", "talk.jsonl", "--store", "talk.db", "--pseudonyms", "usage.key")
    capsys.readouterr()
    return folder


def test_a_private_store_of_events_has_neither_names_nor_words(private, capsys):
    found = bytes_of(private, "talk.db")
    for words in (
        "ann@",
        "bo@mail",
        "id-of-ann",
        "thread-of-ann",
        "session-of-ann",
        "words of",
        "name-of-ann",
    ):
        assert words.encode() not in found, words
    assert stat.S_IMODE((private / "talk.db").stat().st_mode) == 0o600
    run("store", "export", "--store", "talk.db")
    events = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [one["attributes"] for one in events] == [{"length": 7, "role": "user"}] * 5
    assert {one["readings"]["manipulation"] for one in events} == {0.5}
    assert len({one["subject"] for one in events}) == 1


def test_a_private_store_is_asked_by_id_and_key_and_every_look_leaves_a_line(private, capsys):
    one = ("--patterns", "love_bombing")
    run("store", "subject", ANN, "--store", "talk.db", "--json", "--why", "a call", *one)
    run("store", "export-subject", "--store", "talk.db", "--subject", ANN)
    run("store", "export-subject", "--store", "talk.db", "--subject", "nobody")
    run("sweep", "--store", "talk.db", "--as-of", LATER, *one)
    run("analyze", "--store", "talk.db", *one)
    run("store", "subject", "--store", "talk.db")
    capsys.readouterr()
    run("usage", "audit", "--store", "talk.db", "--json")
    told = [one["what"] for one in records(capsys)]
    assert told == ["subject", "export", "unknown", "sweep", "analyze", "subjects"]
    run("usage", "audit", "--store", "talk.db", "--json", "--subject", ANN)
    assert [(one["what"], one["why"]) for one in records(capsys)] == [("subject", "a call"), ("export", "")]
    run("usage", "key", "new", "other.key")
    run("store", "subject", ANN, "--store", "talk.db", "--key", "other.key", *one, code=2)
    assert "not that of this store" in capsys.readouterr().err


def test_names_and_pseudonyms_are_not_mixed_in_one_store(private, capsys):
    run("store", "import", "talk.jsonl", "--store", "talk.db", code=2)
    assert "--pseudonyms" in capsys.readouterr().err
    run("store", "import", "talk.jsonl", "--store", "open.db")
    run("store", "import", "talk.jsonl", "--store", "open.db", "--pseudonyms", "usage.key", code=2)
    assert "by their own names already" in capsys.readouterr().err
    keep = ("--pseudonyms", "usage.key", "--keep-text")
    run("store", "import", "talk.jsonl", "--store", "new.db", *keep, code=2)
    assert "do not go together" in capsys.readouterr().err


def test_a_purge_takes_a_person_out_of_a_store_of_events_for_good(private, capsys):
    run("store", "purge", "--store", "talk.db", "--subject", "bo@mail.invalid")
    run("usage", "audit", "--store", "talk.db", "--json")
    run("store", "purge", "--store", "talk.db", "--subject", ANN, "--json")
    capsys.readouterr()
    run("store", "info", "--store", "talk.db", "--json")
    assert json.loads(capsys.readouterr().out)["events"] == 0
    run("store", "import", "talk.jsonl", "--store", "open.db")
    run("store", "purge", "--store", "open.db", "--subject", "bo@mail.invalid")
    assert b"bo@mail" not in bytes_of(private, "open.db")
    run("store", "purge", "--store", "open.db", "--subject", ANN)
    assert b"ann@mail" not in bytes_of(private, "open.db")


def test_a_private_store_keeps_no_words_in_the_place_of_a_role_a_zone_a_source_or_a_scorer(folder, capsys):
    run("usage", "key", "new", "usage.key")
    line = {
        "at": START.isoformat(), "subject": ANN, "kind": "message", "source": "source-of-ann",
        "attributes": {"role": "mother-of-ann", "time_zone": "home-of-ann", "n": 3},
        "readings": {"manipulation": {"value": 0.5, "scorer": "scorer-of-ann"}},
    }  # fmt: skip
    good = line | {"attributes": {"role": "user", "time_zone": "Europe/Berlin"}}
    (folder / "talk.jsonl").write_text(f"{json.dumps(line)}\n{json.dumps(good)}\n")
    run("store", "import", "talk.jsonl", "--store", "talk.db", "--pseudonyms", "usage.key")
    capsys.readouterr()
    assert b"of-ann" not in bytes_of(folder, "talk.db")
    run("store", "export-subject", "--store", "talk.db", "--subject", ANN, "--source", "source-of-ann")
    said = [json.loads(one) for one in capsys.readouterr().out.splitlines()]
    kept = [one.get("attributes", {}) for one in said if "id" in one]
    assert kept == [{"n": 3}, {"role": "user", "time_zone": "Europe/Berlin"}]


def test_a_sweep_says_what_the_retention_removed(folder, capsys):
    run("usage", "key", "new", "usage.key")
    late = f"{ANN},2026-08-01T10:00:00Z,5,"
    (folder / "two.csv").write_text(f"subject,at,length,time_zone\n{late}\nbo,2026-09-20T10:00:00Z,5,\n")
    run("usage", "record", "two.csv", "--store", "usage.db")
    run("usage", "sweep", "--store", "usage.db", "--as-of", LATER, "--json")
    assert json.loads(capsys.readouterr().out.splitlines()[-1])["removed"] == {"people": 0, "events": 0}
    # A shorter retention takes hold when a sweep runs.
    UsageTracker("usage.db", key="usage.key", retention=timedelta(days=30)).close()
    run("usage", "sweep", "--store", "usage.db", "--as-of", LATER)
    assert "Removed after the retention period: 1 person, 1 event\n" in capsys.readouterr().out


def test_what_the_service_wrote_is_not_called_known(folder, capsys):
    run("usage", "key", "new", "usage.key")
    rows = ["subject,at,length,is_user", f"{ANN},2026-08-01T10:00:00Z,5,1", f"{ANN},2026-08-01T10:00:09Z,5,0"]
    (folder / "two.csv").write_text("\n".join(rows) + "\n")
    capsys.readouterr()
    run("usage", "record", "two.csv", "--store", "usage.db")
    said = capsys.readouterr().out
    assert said == "1 event recorded in usage.db.\nSkipped, not by the person: 1 event\n"


@pytest.mark.parametrize(
    "args",
    [
        ["sweep", "--store", "usage.db"],
        ["store", "info", "--store", "usage.db"],
        ["store", "subject", ANN, "--store", "usage.db"],
        ["analyze", "--store", "usage.db"],
        ["usage", "cohort", "--from", "usage.db"],
        ["serve", "--port", "0", "--store", "usage.db"],
        ["proxy", "--port", "0", "--upstream", "http://localhost:9", "--store", "usage.db"],
        ["keys", "new", "kim", "--store", "usage.db"],
    ],
    ids=lambda one: one[0],
)
def test_a_usage_store_is_known_by_commands_that_are_not_for_it(recorded, capsys, args):
    run(*args, code=2)
    assert "is a usage store, not a store of events; `ethogram usage" in capsys.readouterr().err


def test_a_store_of_events_is_known_by_commands_of_usage(private, capsys):
    run("usage", "sweep", "--store", "talk.db", code=2)
    assert "is a store of events, not a usage store" in capsys.readouterr().err


def test_who_learns_from_a_private_store_leaves_a_line(private, capsys):
    run("usage", "cohort", "--from", "talk.db", code=2)  # one person is too few
    capsys.readouterr()
    run("usage", "audit", "--store", "talk.db", "--json")
    assert [one["what"] for one in records(capsys)] == ["cohort"]


def test_a_purge_that_is_not_clean_does_not_say_so(recorded, capsys, monkeypatch):
    monkeypatch.setattr(sqlite, "TRIES", 2)
    monkeypatch.setattr(sqlite, "PATIENCE", 20)
    reader = sqlite3.connect("usage.db", isolation_level=None)
    reader.execute("BEGIN")
    reader.execute("SELECT count(*) FROM people").fetchone()
    run("store", "purge", "--store", "usage.db", "--subject", ANN, code=1)
    said = capsys.readouterr().out
    assert said.startswith("Removed: 1 person and 240 events.\n")
    assert "permanently" not in said
    assert "run purge again" in said
    reader.close()


def test_a_missing_key_of_a_store_that_is_there_is_not_to_be_made_anew(recorded, capsys):
    (recorded / "usage.key").unlink()
    run("usage", "info", "--store", "usage.db", code=2)
    said = capsys.readouterr().err
    assert "key new" not in said
    assert "that the store was made with" in said


def test_a_store_that_was_forgotten_catches_up(recorded, capsys):
    run("usage", "record", "usage.csv", "--store", "two.db")
    run("usage", "key", "rotate", "usage.key", "--store", "usage.db")
    capsys.readouterr()
    run("usage", "info", "--store", "two.db", code=2)
    assert "usage key rotate usage.key --store two.db" in capsys.readouterr().err
    run("usage", "key", "rotate", "usage.key", "--store", "two.db", "--json")
    run("usage", "key", "check", "--store", "two.db", "--json")
    told = [(one["what"], one["file"], one["keys"]) for one in records(capsys)]
    assert told == [("catch_up", "usage.key", 2), ("check", "usage.key", 2)]


# --- nothing goes silently ------------------------------------------------------------------


def test_events_from_before_the_retention_are_counted_and_not_stored(folder, capsys):
    run("usage", "key", "new", "usage.key")
    capsys.readouterr()
    run("usage", "record", "usage.csv", "--store", "usage.db", "--retention", "30d")
    out = capsys.readouterr().out
    assert "120 events recorded in usage.db." in out
    assert "Not stored: 120 events over 30 days before the newest. To keep them, record into a new" in out
    assert "with --retention 61d." in out
    run("usage", "record", "usage.csv", "--store", "usage.db", "--json")
    (done,) = records(capsys)
    assert (done["added"], done["known"], done["too_old"]) == (0, 120, 120)
    run("usage", "record", "usage.csv", "--store", "all.db", "--retention", "61d")
    assert capsys.readouterr().out == "240 events recorded in all.db.\n"


def test_what_newer_events_push_out_of_the_retention_is_told(recorded, capsys):
    (recorded / "later.csv").write_text("subject,at\nbo,2026-11-10T10:00:00Z\n")
    run("usage", "record", "later.csv", "--store", "usage.db", "--retention", "60d", "--json")
    (done,) = records(capsys)
    assert done["added"] == 1
    assert done["removed"]["events"] > 0
    with UsageTracker("usage.db", key="usage.key") as tracker:
        assert tracker.info()["events"] == 241 - done["removed"]["events"]


def test_a_sweep_of_old_data_warns_and_removes_nothing(folder, capsys):
    old = (folder / "usage.csv").read_text().replace("2026-", "2024-")
    (folder / "usage.csv").write_text(old)
    run("usage", "key", "new", "usage.key")
    run("usage", "record", "usage.csv", "--store", "usage.db")
    with sqlite3.connect("usage.db") as raw:
        raw.execute("UPDATE meta SET value = 864000 WHERE name = 'usage_retention'")
    raw.close()
    capsys.readouterr()
    run("usage", "sweep", "--store", "usage.db")
    written = capsys.readouterr()
    assert "Nothing was removed" in written.err
    assert "use --as-of 2024-09-29T10:30:00Z" in written.err
    assert "Removed" not in written.out
    run("usage", "sweep", "--store", "usage.db", "--as-of", "2024-09-29T10:30:00Z")
    written = capsys.readouterr()
    assert not written.err
    assert "Removed after the retention period" in written.out


def test_a_sweep_says_what_it_could_not_judge(recorded, capsys):
    (recorded / "new.csv").write_text("subject,at\nbo,2026-09-29T10:00:00Z\n")
    run("usage", "record", "new.csv", "--store", "usage.db")
    capsys.readouterr()
    run("usage", "sweep", "--store", "usage.db", "--as-of", "2026-09-29T12:00:00Z", "--json")
    *_, end = records(capsys)
    assert end["looked_at"] == 2
    assert end["not_judged"]["withdrawal"] == end["not_judged"]["late_night"] == 1
    run("usage", "sweep", "--store", "usage.db", "--as-of", "2026-09-29T12:00:00Z")
    assert "Too little data to judge, of 2 people: " in capsys.readouterr().out


def test_after_a_purge_of_everybody_a_file_can_be_recorded_again(recorded, capsys):
    run("store", "purge", "--store", "usage.db", "--subject", ANN)
    capsys.readouterr()
    run("usage", "record", "usage.csv", "--store", "usage.db")
    assert capsys.readouterr().out == "240 events recorded in usage.db.\n"
