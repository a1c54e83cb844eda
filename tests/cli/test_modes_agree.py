"""A network's messages analysed whole, watched one by one, and swept in a store: the same is found."""

from __future__ import annotations

import io
import json
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import pytest

from ethogram import Watch
from ethogram.cli.main import main
from ethogram.ingest import read_events
from ethogram.patterns.library import load_patterns

PATTERNS = ("copied_text", "repeated_pressure")
SPAM = "Join our wonderful group of friends today and bring everybody you know with you"


def messages() -> list[dict[str, Any]]:
    """Seven subjects copy one text; one presses again and again; one only once."""
    said: list[tuple[str, str, str | None]] = []
    for k in range(12):
        said.append((f"bot{k % 7}", f"{SPAM} {k}", None))
        said.append(("kim", ("Act now!", "You owe me.", "I see.", "You will regret it.")[k % 4], "m0"))
        said.append(("bo", "Act now!" if k == 3 else f"Thanks, I will read point {k} tomorrow.", "m0"))
    return [
        {
            "id": f"m{k}", "author": who, "content": text, "parent": parent,
            "created_at": f"2026-03-01T{10 + k // 60}:{k % 60:02}:00Z",
        }
        for k, (who, text, parent) in enumerate(said)
    ]  # fmt: skip


def ran(*args: str) -> str:
    out = io.StringIO()
    with redirect_stdout(out):
        assert main(args) == 0
    return out.getvalue()


def watched(forum: Path) -> list[tuple[Any, ...]]:
    """What a watch has told of each detection last."""
    watch = Watch(load_patterns(list(PATTERNS)))
    told = [one for event in read_events([str(forum)]).events for one in watch.observe(event)]
    last = {one.id: one for one in (*told, *watch.flush(), *watch.open())}
    return detections("".join(json.dumps(one.to_dict()) + "\n" for one in last.values()))


def detections(told: str) -> list[tuple[Any, ...]]:
    records = [json.loads(line) for line in told.splitlines()]
    found = [one for one in records if one.get("record") == "detection"]
    return sorted(
        (one["id"], one["pattern"], one["subject"], one["severity"], one["confidence"], one["count"],
         [evidence["event"] for evidence in one["evidence"]])
        for one in found
    )  # fmt: skip


@pytest.fixture(scope="module")
def forum(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("forum") / "forum.jsonl"
    path.write_text("".join(json.dumps(one) + "\n" for one in messages()))
    return path


def chosen() -> list[str]:
    return [word for name in PATTERNS for word in ("--patterns", name)]


def analysed(forum: Path) -> list[tuple[Any, ...]]:
    return detections(ran("analyze", str(forum), "--json", *chosen()))


def test_all_ways_find_the_same(forum: Path, tmp_path: Path):
    expected = watched(forum)
    assert {(one[1], one[2]) for one in expected} == {
        ("repeated_pressure", "kim"),
        *(("copied_text", f"bot{k}") for k in range(7)),
    }
    copies = [one for one in expected if one[1] == "copied_text"]
    whole = analysed(forum)
    assert [one for one in whole if one not in expected] == [one for one in whole if one[1] == "copied_text"]
    (swarm,) = (one for one in whole if one[1] == "copied_text")  # as a whole they are one swarm
    assert swarm[0] in {one[0] for one in copies}
    assert sorted(swarm[-1]) == sorted({event for one in copies for event in one[-1]})
    store = str(tmp_path / "events.db")
    ran("store", "import", str(forum), "--store", store, "--keep-text")
    swept = ran("sweep", "--store", store, "--json", *chosen(),
                "--as-of", "2026-03-01T10:35:00Z")  # fmt: skip
    assert detections(swept) == whole
    kept = ran("store", "detections", "--store", store, "--json")
    assert detections(kept) == expected  # the store has each member's own


def test_a_store_without_texts_is_told(forum: Path, tmp_path: Path):
    store = str(tmp_path / "bare.db")
    ran("store", "import", str(forum), "--store", store)
    swept = ran("sweep", "--store", store, "--json", *chosen(),
                "--as-of", "2026-03-01T10:35:00Z")  # fmt: skip
    assert json.loads(swept.splitlines()[-1])["without_text"] == ["copied_text", "repeated_pressure"]
