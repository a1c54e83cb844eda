"""Globs of paths mean what they say, and none takes long, wherever it came from."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ethogram.signals.agent.path_scope import matches
from waiting import ending


def meaning(glob: str) -> re.Pattern[str]:
    """The glob as a regular expression, which says the same and may take for ever."""
    bare = re.sub(r"\*{3,}", "**", glob).removeprefix("./").rstrip("/")
    start = "" if "/" in bare else "(?:.*/)?"
    parts = re.split(r"(\*\*/|/\*\*$|\*\*|\*|\?)", bare)
    signs = {"**/": "(?:.*/)?", "/**": "(?:/.*)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    return re.compile(
        start + "".join(signs.get(part, re.escape(part)) for part in parts) + r"(?:/.*)?\Z", re.S
    )


GLOBS = st.text("ab/*?.", max_size=9).filter(lambda glob: not glob.startswith("."))
PATHS = st.text("ab/.\n", max_size=9).filter(lambda path: "/." not in path and not path.startswith("."))


@given(GLOBS, PATHS)
def test_a_glob_means_what_its_regular_expression_does(glob: str, path: str) -> None:
    assert matches(path, (glob,)) == (meaning(glob).match(path) is not None)


@pytest.mark.parametrize("glob", ["**a" * 60 + "c", "*a" * 90 + "c", "**/" * 60 + "c", "?*" * 100 + "c"])
def test_no_glob_blows_up(glob: str) -> None:
    with ending(f"matching {glob!r}"):
        assert not matches("a" * 150 + "b/x" * 3, (glob, f"x{glob}"))
