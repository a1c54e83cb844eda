"""docs/quality.md shows every record that the benchmarks have a schema of, and every field of it."""

from __future__ import annotations

import json
import re

from benchmark_schemas import SCHEMAS, check
from markdown_blocks import ROOT, blocks

PAGE = ROOT / "docs" / "quality.md"


def test_the_page_shows_a_valid_example_of_every_record() -> None:
    shown = [json.loads(block.text) for block in blocks("json") if block.page == PAGE]
    for record in shown:
        check(record)
    assert {record["record"] for record in shown} == SCHEMAS.keys()


def test_the_page_names_every_field() -> None:
    text = PAGE.read_text(encoding="utf-8")
    missing = [
        f"{name}.{field}"
        for name, schema in SCHEMAS.items()
        for field in schema["properties"]
        if not re.search(rf'"{field}":', text)
    ]
    assert not missing
