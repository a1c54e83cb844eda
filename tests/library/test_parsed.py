"""Parsed pattern files: the same library, only sooner."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ethogram.library import load, parsed
from ethogram.library.load import load_patterns


@pytest.fixture
def reads(tmp_path, monkeypatch):
    """The files that are read anew, with a cache of the test's own."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    parsed._kept.cache_clear()
    found: list[str] = []
    real = load.read_pattern_file

    def noted(path, *rest):
        found.append(Path(path).stem)
        return real(path, *rest)

    monkeypatch.setattr(load, "read_pattern_file", noted)
    yield found
    parsed._kept.cache_clear()


def kept(tmp_path: Path) -> Path:
    (one,) = (tmp_path / "cache" / "ethogram").glob("patterns-*.pickle")
    return one


def test_what_was_read_once_is_not_read_again_and_is_the_same(reads):
    first = load_patterns(["loop", "love_bombing"])
    assert sorted(reads) == ["loop", "love_bombing"]
    again = load_patterns(["loop", "love_bombing", "scope_creep"])
    assert sorted(reads) == ["loop", "love_bombing", "scope_creep"]
    assert {name: again.files[name] for name in first.files} == dict(first.files)
    assert [one for one in again.programs if one.name in first.files] == list(first.programs)


def test_other_parameters_names_and_files_are_read(reads, tmp_path):
    load_patterns(["loop"])
    own = tmp_path / "loop.yaml"
    own.write_text(
        Path(load_patterns(["loop"]).files["loop"].path).read_text(encoding="utf-8"), encoding="utf-8"
    )
    del reads[:]
    load_patterns(["loop"], parameters={"loop": {"in_a_row": 4}})
    assert load_patterns([own]).files["loop"].path == str(own)
    load_patterns(["loop"], vocabulary=load.load_vocabulary({"mine": "number"}))
    assert reads == ["loop"] * 3


@pytest.mark.parametrize("harm", ["cut", "strange", "others may write it"])
def test_what_cannot_be_trusted_is_not_used(reads, tmp_path, harm):
    load_patterns(["loop"])
    file = kept(tmp_path)
    if harm == "cut":
        file.write_bytes(file.read_bytes()[:200])
    elif harm == "strange":
        file.write_bytes(b"\x80\x04]\x94.")
    else:
        file.chmod(0o666)
    parsed._kept.cache_clear()
    load_patterns(["loop"])
    assert reads == ["loop", "loop"]


def test_a_folder_that_cannot_be_written_costs_only_time(reads, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("", encoding="utf-8")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    parsed._kept.cache_clear()
    assert len(load_patterns(["loop"])) == 1


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="this system has no owners of files")
def test_nobody_else_can_read_it(reads, tmp_path):
    load_patterns(["loop"])
    assert kept(tmp_path).stat().st_mode & 0o077 == 0
