"""The documentation builds as a site: every page has its place, every link leads somewhere."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from markdown_blocks import ROOT, links_of, prose_of

SETTINGS = ROOT / "zensical.toml"
LOADED = re.compile(r"<(?:script|img|iframe|link)\b[^>]*\b(?:src|href)=\"?(https?://[^\" >]+)")

JOINED = re.compile(r"^(?![ |#-]|\d+\. ).+\n((?:- |\d+\. ).*)$", re.MULTILINE)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    shutil.copytree(ROOT / "docs", folder / "docs", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(SETTINGS, folder)
    done = subprocess.run(
        [sys.executable, "-m", "zensical", "build", "--strict"],
        cwd=folder,
        capture_output=True,
        encoding="utf-8",
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return folder / "build" / "site"


def pages_of(navigation: Any) -> list[str]:
    if isinstance(navigation, str):
        return [navigation]
    parts = navigation.values() if isinstance(navigation, dict) else navigation
    return [page for part in parts for page in pages_of(part)]


def test_every_page_stands_once_in_the_navigation():
    listed = pages_of(tomllib.loads(SETTINGS.read_text(encoding="utf-8"))["project"]["nav"])
    assert sorted(listed) == sorted(path.name for path in (ROOT / "docs").glob("*.md"))


def test_pages_link_to_pages_of_the_site_only():
    leaving = [
        f"{page.name}: {link}"
        for page in (ROOT / "docs").glob("*.md")
        for link in links_of(page)
        if link.startswith("../")
    ]
    assert leaving == []


def test_every_page_is_built_and_no_fence_is_left_over(site):
    for page in (ROOT / "docs").glob("*.md"):
        built = site / ("index.html" if page.stem == "index" else f"{page.stem}/index.html")
        assert "```" not in built.read_text(encoding="utf-8"), f"a fence of {page.name} is not understood"


def test_lists_stand_apart_from_the_text_above_them():
    """The site reads a list only after an empty line."""
    joined = [
        f"{page.name}: {line}"
        for page in (ROOT / "docs").glob("*.md")
        for line in JOINED.findall(prose_of(page))
    ]
    assert joined == []


def test_the_site_loads_nothing_from_elsewhere(site):
    loaded = {
        address
        for page in site.rglob("*.html")
        for address in LOADED.findall(page.read_text(encoding="utf-8"))
    }
    assert loaded == set()


def test_language_models_find_their_page_at_the_root(site):
    assert (site / "llms.txt").read_text(encoding="utf-8").startswith("# ethogram")
