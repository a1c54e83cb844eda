"""What `new` writes needs no change to lint and prove."""

from __future__ import annotations

from pathlib import Path
from uuid import UUID

import pytest

from ethogram.app.pattern_tests import run_examples
from ethogram.errors import BadUsage
from ethogram.language.shape_parser import COMBINATIONS, KINDS
from ethogram.patterns import library as load
from ethogram.patterns.catalogue import load_vocabulary
from ethogram.patterns.library import select
from ethogram.patterns.lint import lint
from ethogram.patterns.scaffold import write_new


@pytest.fixture(autouse=True)
def shipped(tmp_path, monkeypatch) -> Path:
    """A library without patterns."""
    monkeypatch.setattr(load, "SHIPPED", tmp_path / "shipped")
    load.SHIPPED.mkdir()
    return load.SHIPPED


@pytest.mark.parametrize("shape", KINDS)
def test_a_template_lints_and_proves_as_it_is(tmp_path, shape):
    write_new("too_pushy", shape, tmp_path / "mine")
    library = select([tmp_path / "mine"])
    assert lint(library, load_vocabulary()) == []
    results = run_examples(library)
    assert [result.fault for result in results if not result.ok] == []
    assert {result.pattern for result in results} == set(library.chosen)


@pytest.mark.parametrize("shape", KINDS)
def test_a_template_would_do_for_the_library(shipped, shape):
    write_new("too_pushy", shape, shipped)
    assert lint(select(), load_vocabulary()) == []


@pytest.mark.parametrize("shape", KINDS)
def test_a_template_has_the_shape_asked_for_and_says_what_to_change(tmp_path, shape):
    path, *parts = write_new("too_pushy", shape, tmp_path / "mine")
    file = select([tmp_path / "mine"]).files["too_pushy"]
    assert shape in file.data["shape"]
    assert path.read_text("utf-8").count("#") > 10
    assert [part.stem for part in parts] == (
        ["too_pushy_first", "too_pushy_second"] if shape in (*COMBINATIONS, "spread") else []
    )


def test_every_file_gets_an_id_of_its_own(tmp_path):
    write_new("one", "all_of", tmp_path)
    write_new("two", "threshold", tmp_path)
    ids = [UUID(file.words["id"]) for file in select([tmp_path])]
    assert len(set(ids)) == 4


def test_a_file_that_is_there_is_left_alone_and_so_is_the_folder(tmp_path):
    part = tmp_path / "pair_second.yml"
    part.write_text("mine", "utf-8")
    with pytest.raises(BadUsage, match=r"pair_second\.yml: already exists"):
        write_new("pair", "all_of", tmp_path)
    assert part.read_text("utf-8") == "mine"
    assert not (tmp_path / "pair.yaml").exists()


def test_the_name_of_a_pattern_of_the_library_is_taken(tmp_path, shipped):
    write_new("known", "threshold", shipped / "run")
    with pytest.raises(BadUsage, match="the library has a pattern 'known' already"):
        write_new("known", "threshold", tmp_path / "mine")


@pytest.mark.parametrize("name", ["", "two words", "../up", "1st", "null", "True", "a" * 81, "a\n", "é"])
def test_a_name_that_no_pattern_can_have_is_refused(tmp_path, name):
    with pytest.raises(BadUsage, match="expected letters, digits and _"):
        write_new(name, "threshold", tmp_path / "mine")
    assert not (tmp_path / "mine").exists()


@pytest.mark.parametrize("name", ["NAME", "ID", "TITLE_of", "x_first", "Ab9_"])
def test_a_name_may_be_any_plain_word(tmp_path, name):
    write_new(name, "in_order", tmp_path)
    assert all(result.ok for result in run_examples(select([tmp_path])))


def test_an_unknown_shape_is_answered_with_the_nearest(tmp_path):
    with pytest.raises(BadUsage, match="unknown shape 'sequense'; did you mean 'sequence'"):
        write_new("x", "sequense", tmp_path)
