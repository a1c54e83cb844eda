"""Pages written by docs/generate.py say what the files they are made from say now."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

DOCS = Path(__file__).resolve().parents[1] / "docs"


@pytest.fixture(scope="module")
def generate() -> ModuleType:
    spec = importlib.util.spec_from_file_location("generate", DOCS / "generate.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_of_the_library_is_current(generate):
    written = (DOCS / "library.md").read_text(encoding="utf-8")
    assert written == generate.page(), "run: python docs/generate.py"


def test_the_page_of_records_is_current(generate):
    written = (DOCS / "record_fields.md").read_text(encoding="utf-8")
    assert written == generate.records_page(), "run: python docs/generate.py"


def test_the_page_of_settings_is_current(generate):
    written = (DOCS / "settings.md").read_text(encoding="utf-8")
    assert written == generate.settings_page(), "run: python docs/generate.py"


def test_the_page_for_language_models_is_current(generate):
    written = (DOCS / "llms.txt").read_text(encoding="utf-8")
    assert written == generate.llms_page(), "run: python docs/generate.py"


def test_every_shipped_pattern_has_a_section(generate):
    written = generate.page()
    names = [path.stem for path in generate.SHIPPED.rglob("*.yaml")]
    assert [name for name in names if f"\n### {name}\n" not in written] == []


def test_every_folder_of_patterns_has_a_title(generate):
    assert {path.parent.name for path in generate.SHIPPED.rglob("*.yaml")} == set(generate.FAMILIES)
