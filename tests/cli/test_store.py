"""`ethogram store` and `--store`: events kept between runs, said plainly, and gone when asked."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import pytest

from ethogram.cli.main import main
from settings_files import trusted_settings
from small import BOTH, GONE, HOT, WARM, turns, warm_messages, write_events, write_patterns


@pytest.fixture
def folder(tmp_path, monkeypatch, no_shipped_patterns) -> Path:
    monkeypatch.chdir(tmp_path)
    write_patterns(tmp_path / "patterns", WARM, HOT, GONE, BOTH)
    write_events(tmp_path / "a.jsonl", warm_messages()[:2])
    write_events(tmp_path / "b.jsonl", warm_messages()[2:])
    trusted_settings(tmp_path, "patterns: [patterns]\n")
    return tmp_path


def run(*args: str, code: int = 0) -> None:
    assert main(list(args)) == code


def records(text: str) -> list[dict]:
    return [json.loads(line) for line in text.splitlines()]


def test_an_import_says_what_is_new_and_what_was_known(folder, capsys):
    run("store", "import", "a.jsonl", "--store", "s.db")
    assert capsys.readouterr().out == "2 events added to s.db.\n"
    run("store", "import", "a.jsonl", "b.jsonl", "--store", "sqlite:///s.db")
    assert capsys.readouterr().out == "2 events added to sqlite:///s.db.\nAlready known: 2 events\n"
    run("store", "import", "a.jsonl", "--store", "s.db", "--json")
    assert records(capsys.readouterr().out) == [
        {
            "record": "import",
            "store": "s.db",
            "added": 0,
            "repeated": 2,
            "files": 1,
            "files_known": 1,
            "resumed_after": 0,
            "bad": 0,
            "skipped": {},
            "not_events": [],
            "strays": {},
        }
    ]


def test_an_import_names_files_that_are_not_events_and_columns_that_look_misspelt(folder, capsys):
    (folder / "in").mkdir()
    (folder / "in" / "notes.md").write_text("nothing")
    (folder / "in" / "a.csv").write_text("subject,compasion\nann,0.5\nbo,0.6\n")
    run("store", "import", "in", "--store", "s.db")
    said = capsys.readouterr().out
    assert "Skipped: 1 file that is not events: in/notes.md" in said
    assert "the column 'compasion' (2 cells); did you mean 'compassion'" in said


def test_a_bad_line_is_exit_2_and_the_store_is_as_before(folder, capsys):
    (folder / "bad.jsonl").write_text(json.dumps(warm_messages()[0]) + "\n{\n")
    run("store", "import", "bad.jsonl", "--store", "s.db", code=2)
    assert "bad.jsonl:2" in capsys.readouterr().err
    run("store", "info", "--store", "s.db", "--json")
    assert records(capsys.readouterr().out)[0]["events"] == 0
    run("store", "import", "bad.jsonl", "--store", "s.db", "--skip-bad")
    said = capsys.readouterr()
    assert said.out == "1 event added to s.db.\nSkipped: 1 invalid line\n"
    assert "bad.jsonl:2" in said.err


def test_analyze_with_a_store_sees_what_came_before(folder, capsys):
    run("analyze", "a.jsonl", "--store", "s.db", "--json")
    assert records(capsys.readouterr().out)[-1]["detections"] == 0
    run("analyze", "b.jsonl", "--store", "s.db", "--json")
    stored = records(capsys.readouterr().out)
    run("analyze", "a.jsonl", "b.jsonl", "--json")
    assert stored == records(capsys.readouterr().out)
    assert stored[-1]["detections"] == 1
    run("analyze", "--store", "s.db", "--as-of", "2026-01-02T12:00:00Z", "--json")
    assert records(capsys.readouterr().out)[-1]["events"] == 2


def test_analyze_without_paths_and_store_is_told(folder, capsys):
    run("analyze", code=2)
    assert "name files or folders of events, or a --store" in capsys.readouterr().err


def test_what_is_exported_can_be_imported_elsewhere(folder, capsys):
    run("store", "import", ".", "--store", "s.db", "--source", "forum", "--keep-text")
    capsys.readouterr()
    run("store", "export", "--store", "s.db")
    lines = capsys.readouterr().out
    assert [one["id"] for one in records(lines)] == ["ann-1", "ann-2", "ann-3", "ann-4"]
    assert {one["source"] for one in records(lines)} == {"forum"}
    (folder / "out.jsonl").write_text(lines)
    run("store", "import", "out.jsonl", "--store", "t.db")
    capsys.readouterr()
    run("store", "export", "--store", "t.db")
    assert capsys.readouterr().out == lines
    run("store", "export", "--store", "t.db", "--subject", "nobody")
    assert capsys.readouterr().out == ""


def test_an_export_goes_into_a_new_file(folder, capsys):
    run("store", "import", "a.jsonl", "--store", "s.db")
    run("store", "export", "--store", "s.db")
    lines = capsys.readouterr().out.splitlines(keepends=True)[-2:]
    run("store", "export", "--store", "s.db", "--output", "all.jsonl")
    assert "written to all.jsonl" in capsys.readouterr().out
    assert Path("all.jsonl").read_text().splitlines(keepends=True)[-2:] == lines
    run("store", "export", "--store", "s.db", "--output", "all.jsonl", code=2)
    assert "already exists" in capsys.readouterr().err


def test_info_counts_what_is_there(folder, capsys):
    run("store", "import", "a.jsonl", "--store", "s.db")
    capsys.readouterr()
    run("store", "info", "--store", "s.db")
    said = capsys.readouterr().out
    assert "  2 events\n  1 subject\n" in said
    assert "  from 2026-01-01 12:00 to 2026-01-02 12:00 UTC\n  source input\n" in said


def test_purge_says_what_is_gone_and_needs_to_know_what(folder, capsys):
    write_events(folder / "c.jsonl", turns("cy", [0.1, 0.2], [1, 9]))
    run("store", "import", ".", "--store", "s.db")
    capsys.readouterr()
    run("store", "purge", "--store", "s.db", code=2)
    assert "expected --subject NAME, --before TIME or both" in capsys.readouterr().err
    run("store", "purge", "--store", "s.db", "--before", "yesterday", code=2)
    assert "--before: 'yesterday' is not a time" in capsys.readouterr().err
    run("store", "purge", "--store", "s.db", "--subject", "ann")
    assert capsys.readouterr().out == "Removed permanently: 4 events and 0 detections.\n"
    run("store", "purge", "--store", "s.db", "--before", "2026-01-05T00:00:00Z", "--json")
    assert records(capsys.readouterr().out) == [
        {
            "record": "purge",
            "events": 1,
            "detections": 0,
            "clean": True,
            "states": 0,
            "mentions": {},
            "placeholder": None,
        }
    ]


@pytest.mark.parametrize("command", ["info", "export"])
def test_no_store_there_is_exit_2_with_how_to_make_one(folder, capsys, command):
    run("store", command, "--store", "none.db", code=2)
    said = "ethogram: there is no store at none.db; `ethogram store import FILE --store none.db` makes one\n"
    assert capsys.readouterr().err == said
    assert not (folder / "none.db").exists()


def test_a_newer_schema_is_exit_2(folder, capsys):
    run("store", "import", "a.jsonl", "--store", "s.db")
    with sqlite3.connect("s.db") as file:
        file.execute("PRAGMA user_version = 99")
    file.close()
    run("store", "import", "b.jsonl", "--store", "s.db", code=2)
    assert "s.db has schema 99, and this ethogram knows up to" in capsys.readouterr().err


def test_a_store_that_cannot_be_used_is_told_in_one_line(folder, capsys):
    (folder / "s.db").mkdir()
    run("store", "info", "--store", "s.db", code=2)
    run("store", "import", "a.jsonl", "--store", "no/such/folder/s.db", code=2)
    said = capsys.readouterr().err
    assert "Traceback" not in said
    assert "there is no folder no/such/folder" in said


def test_an_analysis_through_a_store_needs_the_texts_of_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    step = {"tool": "bash", "command": "x", "result": "Error: no such target", "exit_code": 2}
    line = json.dumps({"subject": "a", "thread": "r", "kind": "action", "attributes": step})
    Path("run.jsonl").write_text(f"{line}\n" * 3, encoding="utf-8")
    # Without the texts no pattern could be judged, so --fail-on has no answer.
    for options, code in ((["--keep-text"], 3), ([], 2)):
        asked = ("--store", f"{code}.db", "--patterns", "loop", "--fail-on", "low")
        run("analyze", "run.jsonl", *asked, *options, code=code)
    run("analyze", "run.jsonl", "--keep-text", code=2)


def test_a_folder_is_refused_as_a_store(folder, capsys):
    for args in (["store", "info"], ["store", "import", "a.jsonl"], ["sweep"]):
        run(*args, "--store", "patterns", code=2)
        expected = "patterns is a folder, not a store of events: expected the name of a file or a URL"
        assert capsys.readouterr().err == f"ethogram: {expected}\n"


@pytest.mark.parametrize(
    ("args", "code", "answer"),
    [
        (["--subject", "nobody"], 2, "ethogram: no subject 'nobody' in the store\n"),
        (["--subject", "anne"], 2, "ethogram: no subject 'anne' in the store; did you mean 'ann'?\n"),
        (["--target", "boo"], 2, "ethogram: no target 'boo' in the store; did you mean 'bo'?\n"),
        (["--target", "ann"], 0, "No event has the target ann.\n"),
        (["--subject", "cy"], 0, "No event of cy has a target.\n"),
        (["--target", "bo"], 0, "ann → bo: 2 events\n"),
    ],
)
def test_who_says_which_name_is_unknown(folder, capsys, args, code, answer):
    write_events(folder / "cy.jsonl", [{"id": "c", "subject": "cy", "at": "2026-01-01T12:00:00Z"}])
    run("store", "import", "a.jsonl", "cy.jsonl", "--store", "s.db")
    capsys.readouterr()
    run("store", "who", *args, "--store", "s.db", code=code)
    printed = capsys.readouterr()
    assert (printed.err if code else printed.out) == answer
