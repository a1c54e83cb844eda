"""What every registry promises, whatever kind of plug-in it holds and whether it holds one yet."""

import inspect
from pathlib import Path

import pytest

from ethogram.errors import BadUsage
from ethogram.registry import Registry
from test_registry import KINDS, distribution, site  # noqa: F401 (a fixture)

PLUG_IN = '''
class Plug:
    """A plug-in of another package."""
    name = "zz_plug_in"
'''


@pytest.fixture(params=KINDS, ids=lambda kind: kind.kind)
def kind(request: pytest.FixtureRequest) -> Registry:
    return request.param


def test_names_are_sorted_and_unique(kind: Registry):
    names = kind.names()
    assert names == sorted(set(names))
    assert [name for name, _ in kind.items()] == names


def test_a_name_that_is_not_there_is_refused(kind: Registry):
    assert "no_such_thing" not in kind
    with pytest.raises(BadUsage, match=f"unknown {kind.kind} 'no_such_thing'"):
        kind.get("no_such_thing")


def test_an_item_has_a_name_is_found_by_it_and_says_what_it_is(kind: Registry):
    for name, item in kind.items():
        assert name
        assert name in kind, name
        assert kind.get(name) is item, name
        assert getattr(item, "name", name) == name
        said = getattr(item, "description", None) or inspect.getdoc(item)
        assert said, name
        assert said.strip(), name


def test_a_plug_in_of_another_package_is_found_by_its_entry_point(
    kind: Registry,
    site: Path,  # noqa: F811 (the fixture)
    monkeypatch: pytest.MonkeyPatch,
):
    before = kind.names()
    module = f"plug_{kind.kind}"
    points = f"[ethogram.{kind.kind}s]\nzz_plug_in = {module}:Plug\n"
    distribution(site, module, points, **{module: PLUG_IN})
    monkeypatch.setattr(kind, "_items", dict(kind._items))
    monkeypatch.setattr(kind, "_discovered", False)
    assert kind.names() == [*before, "zz_plug_in"]
    assert kind.get("zz_plug_in").__module__ == module
