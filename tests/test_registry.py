"""Plug-ins are found by walking a folder and by entry points, and clashes are refused."""

import sys
from pathlib import Path

import pytest

from ethogram import registry
from ethogram.errors import BadUsage
from ethogram.models import Event
from ethogram.registry import Registry
from ethogram.signals import measure_all

KINDS = [registry.signals, registry.adapters, registry.stores, registry.evaluators, registry.exporters]


def distribution(folder: Path, name: str, entry_points: str, **modules: str) -> None:
    """A package as pip would have installed it: its modules, and what it says it adds."""
    info = folder / f"{name}-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(entry_points)
    for module, source in modules.items():
        (folder / f"{module}.py").write_text(source)


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that Python finds packages in, for this test only."""
    before = set(sys.modules)
    monkeypatch.syspath_prepend(tmp_path)
    yield tmp_path
    for name in set(sys.modules) - before:
        if getattr(sys.modules[name], "__file__", None) and str(tmp_path) in sys.modules[name].__file__:
            del sys.modules[name]


def a_folder(site: Path, name: str, **modules: str) -> str:
    (site / name).mkdir()
    (site / name / "__init__.py").touch()
    for module, source in modules.items():
        (site / name / f"{module}.py").write_text(source)
    return name


def test_every_file_of_the_folder_is_found_without_a_list(site: Path, monkeypatch: pytest.MonkeyPatch):
    decorated = "from ethogram.registry import stores\n@stores.register('{0}')\nclass {0}: pass\n"
    zoo = a_folder(site, "zoo", cat=decorated.format("Cat"), dog=decorated.format("Dog"))
    monkeypatch.setattr(registry, "stores", Registry("store", zoo))
    assert registry.stores.names() == ["Cat", "Dog"]
    assert registry.stores.get("Cat").__module__ == "zoo.cat"


def test_nothing_is_imported_before_somebody_asks(site: Path):
    Registry("animal", a_folder(site, "zoo", cat="raise RuntimeError('too early')"))
    assert "zoo" not in sys.modules


def test_a_folder_that_does_not_exist_yet_holds_nothing():
    assert Registry("animal", "ethogram.no_such_folder").names() == []


def test_a_broken_file_in_the_folder_is_not_mistaken_for_no_folder(site: Path):
    broken = Registry("animal", a_folder(site, "zoo", cat="import no_such_package"))
    with pytest.raises(ModuleNotFoundError, match="no_such_package"):
        broken.names()


def test_a_plug_in_of_another_package_is_found(site: Path):
    distribution(site, "pets", "[ethogram.animals]\ndog = pets:Dog\n", pets="class Dog: pass")
    animals: Registry = Registry("animal", "ethogram.no_such_folder")
    assert animals.names() == ["dog"]
    assert animals.get("dog").__name__ == "Dog"


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("import no_such_module_at_all", "ModuleNotFoundError: No module named 'no_such_module_at_all'"),
        ("class Cat: pass", "AttributeError"),
        ("1 / 0", "ZeroDivisionError"),
    ],
)
def test_a_plug_in_that_cannot_be_loaded_is_told_with_its_package(site: Path, source: str, said: str):
    distribution(site, "pets", "[ethogram.animals]\ndog = pets_zoo:Dog\n", pets_zoo=source)
    animals: Registry = Registry("animal", "ethogram.no_such_folder")
    with pytest.raises(BadUsage, match=rf"the plug-in 'dog' of the package 'pets' .*{said}"):
        animals.names()


def test_entry_points_of_another_kind_are_left_alone(site: Path):
    distribution(site, "pets", "[ethogram.plants]\nrose = pets:Rose\n", pets="raise RuntimeError")
    assert Registry("animal", "ethogram.no_such_folder").names() == []


def test_a_signal_of_another_package_is_a_signal_like_any_other(site: Path, monkeypatch: pytest.MonkeyPatch):
    source = '''
from ethogram.signals import signal

@signal("shouting", range=(0, 1))
def shouting(event):
    """1.0 where the text is in capitals, else 0.0."""
    return None if event.text is None else float(event.text.isupper())
'''
    distribution(site, "loud", "[ethogram.signals]\nshouting = loud:shouting\n", loud=source)
    registry.signals.find()
    monkeypatch.setattr(registry.signals, "_items", dict(registry.signals._items))
    monkeypatch.setattr(registry.signals, "_discovered", False)
    assert registry.signals.get("shouting").description == "1.0 where the text is in capitals, else 0.0."
    [loud] = measure_all([Event.sample(text="HELP")], ["shouting"])
    assert loud.readings == {"shouting": 1.0}


def test_two_plug_ins_with_one_name_are_refused_and_both_are_named(
    site: Path, monkeypatch: pytest.MonkeyPatch
):
    registering = "from ethogram.registry import stores\n@stores.register('cave')\nclass Cave: pass"
    distribution(site, "one", "[ethogram.stores]\ncave = one:Cave\n", one=registering)
    distribution(site, "two", "[ethogram.stores]\ncave = two:Cave\n", two=registering)
    monkeypatch.setattr(registry, "stores", Registry("store", "ethogram.no_such_folder"))
    with pytest.raises(BadUsage, match=r"two stores are named 'cave': (one|two):Cave and (one|two):Cave"):
        registry.stores.names()


def test_two_undecorated_entry_points_with_one_name_are_refused_too(site: Path):
    distribution(site, "one", "[ethogram.animals]\ndog = one:Dog\n", one="class Dog: pass")
    distribution(site, "two", "[ethogram.animals]\ndog = two:Dog\n", two="class Dog: pass")
    with pytest.raises(BadUsage, match="two animals are named 'dog'"):
        Registry("animal", "ethogram.no_such_folder").names()


def test_the_same_thing_may_be_registered_twice():
    animals: Registry = Registry("animal", "ethogram.no_such_folder")
    animals.add("cat", Registry)
    animals.add("cat", Registry)
    assert animals.names() == ["cat"]


def test_an_unknown_name_without_a_near_one_is_answered_with_all_where_they_are_few():
    with pytest.raises(BadUsage, match=r"unknown evaluator 'xyz': expected .*\blocal\b"):
        registry.evaluators.get("xyz")
    with pytest.raises(BadUsage, match=r"unknown signal 'xyz'$"):
        registry.signals.get("xyz")


def test_an_unknown_name_is_answered_with_the_nearest():
    with pytest.raises(BadUsage, match="unknown signal 'late_nigth'; did you mean 'late_night'"):
        registry.signals.get("late_nigth")


def test_items_come_sorted_by_name():
    animals: Registry = Registry("animal", "ethogram.no_such_folder")
    animals.add("dog", 1)
    animals.add("ape", "x")
    assert [name for name, _ in animals.items()] == ["ape", "dog"]
    assert "ape" in animals
    assert "cow" not in animals


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.kind)
def test_every_registry_can_be_asked_whether_its_folder_exists_or_not(kind: Registry):
    assert kind.names() == sorted(kind.names())
