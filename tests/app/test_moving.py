"""Stores copied and exported."""

from __future__ import annotations

import csv
import json

import pytest

from ethogram.cli.main import main
from ethogram.store import open_store
from small import warm_messages, write_events


@pytest.fixture
def origin(tmp_path, new_url) -> str:
    url = new_url("sqlite")
    lines = [*warm_messages("ann"), *warm_messages('b"o, \n2')]
    path = write_events(tmp_path / "events.jsonl", lines)
    assert main(["store", "import", str(path), "--store", url]) == 0
    assert main(["sweep", "--store", url, "--as-of", "2026-02-01T00:00:00Z"]) == 0
    return url


def exported(url: str, capsys: pytest.CaptureFixture[str]) -> str:
    capsys.readouterr()
    assert main(["store", "export", "--store", url]) == 0
    return capsys.readouterr().out


@pytest.mark.parametrize("kind", ["sqlite", "postgresql", "neo4j"])
def test_a_store_is_copied_there_and_back(origin, new_url, capsys, kind):
    there, back = new_url(kind), new_url("sqlite")
    assert main(["store", "copy", origin, there]) == 0
    assert "8 events, 2 detections, 0 verdicts." in capsys.readouterr().out
    assert main(["store", "copy", there, back, "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert (record["record"], record["rows"]["events"]) == ("copy", 8)
    with open_store(origin) as first, open_store(back) as last:
        assert list(first.dump()) == list(last.dump())
    assert main(["sweep", "--store", there, "--as-of", "2026-02-01T00:00:00Z"]) == 0
    assert "0 changes" in capsys.readouterr().out
    assert main(["store", "copy", origin, there]) == 2
    assert "has events already: copy into a new store" in capsys.readouterr().err


def test_parquet_has_the_events_and_can_be_imported(origin, tmp_path, new_url, capsys):
    pytest.importorskip("pyarrow")
    path, again = tmp_path / "events.parquet", new_url("sqlite")
    assert main(["store", "export", "--store", origin, "--format", "parquet", "--output", str(path)]) == 0
    assert main(["store", "import", str(path), "--store", again]) == 0
    assert exported(again, capsys) == exported(origin, capsys)


def test_neo4j_gets_nodes_and_relationships_whose_ends_exist(origin, tmp_path, capsys):
    folder = tmp_path / "graph"
    assert main(["store", "export", "--store", origin, "--format", "neo4j-csv", "--output", str(folder)]) == 0
    assert "neo4j-admin database import full --multiline-fields=true --nodes=" in capsys.readouterr().out
    tables = {}
    for path in folder.glob("*.csv"):
        with path.open(encoding="utf-8", newline="") as file:
            tables[path.stem] = list(csv.DictReader(file))
    sizes = {name: len(rows) for name, rows in tables.items()}
    assert sizes == {"subjects": 2, "messages": 8, "patterns": 1, "sent": 8, "precedes": 6, "exhibits": 2}
    keys = {
        "Subject": {row["key:ID(Subject)"] for row in tables["subjects"]},
        "Message": {row["key:ID(Message)"] for row in tables["messages"]},
        "Pattern": {row["name:ID(Pattern)"] for row in tables["patterns"]},
    }
    for name in ("sent", "precedes", "exhibits"):
        for row in tables[name]:
            for column, value in row.items():
                if "_ID(" in column:
                    assert value in keys[column.partition("(")[2].rstrip(")")]
    assert {row["id"] for row in tables["subjects"]} == {"ann", 'b"o, \n2'}
    assert tables["messages"][0]["trait_compassion:double"] == "0.9"


def test_a_format_and_its_output_go_together(origin, tmp_path, capsys):
    for args in (["--format", "xml"], ["--format", "parquet"]):
        assert main(["store", "export", "--store", origin, *args]) == 2
    assert "expected jsonl, parquet, neo4j-csv" in capsys.readouterr().err
    assert main(["store", "export", "--store", origin]) == 0
    lines = capsys.readouterr().out
    assert main(["store", "export", "--store", origin, "--output", str(tmp_path / "x")]) == 0
    assert (tmp_path / "x").read_text() == lines != ""
