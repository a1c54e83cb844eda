"""The page on benchmarks shows what the peers are asked, word for word."""

from __future__ import annotations

import inspect

from benchmarks.speed import peers
from markdown_blocks import ROOT


def test_the_page_shows_what_the_peers_are_asked():
    page = (ROOT / "docs" / "bench.md").read_text(encoding="utf-8")
    assert peers._DUCKDB.strip() in page
    for peer in (peers.polars_over, peers.python_loop):
        assert inspect.getsource(peer).rstrip() in page
