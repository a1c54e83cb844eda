"""Records made by `slotted.dataclass` are those that `dataclasses` makes."""

from __future__ import annotations

import copy
import dataclasses
import pickle

import pytest

from ethogram.models import slotted


def point(by, **options):
    class Point:
        x: float
        y: float = 2.0
        tags: list[str] = by.field(default_factory=list)
        note: str = by.field(default="", repr=False, compare=False)

    return by.dataclass(frozen=True, **options)(Point)


def both(**options):
    return pytest.mark.parametrize("point", [point(dataclasses, **options), point(slotted, **options)])


@both(slots=True)
def test_records_have_defaults_equality_and_positions(point):
    item, other = point(1.0), point(x=1.0, y=2.0, note="seen")
    assert item == other
    assert item != point(2.0)
    assert item != "x"
    assert item.tags == []
    assert item.tags is not other.tags
    match item:
        case point(x, y):
            assert (x, y) == (1.0, 2.0)


@both(slots=True)
@pytest.mark.parametrize(("args", "given"), [((), {}), ((1.0, 2.0, [], "", 5), {}), ((1.0,), {"z": 3})])
def test_wrong_arguments_are_refused(point, args, given):
    with pytest.raises(TypeError):
        point(*args, **given)


@both(slots=True)
def test_a_record_cannot_be_changed_and_has_no_room_for_more(point):
    item = point(1.0)
    with pytest.raises(dataclasses.FrozenInstanceError):
        item.x = 2.0
    with pytest.raises(dataclasses.FrozenInstanceError):
        del item.x
    assert not hasattr(item, "__dict__")


@both(slots=True)
def test_a_record_says_what_it_is(point):
    assert repr(point(1.0, note="n")).endswith("Point(x=1.0, y=2.0, tags=[])")


@both(slots=True)
def test_a_hash_goes_by_what_is_compared(point):
    assert hash(point(1.0, tags=("a",), note="b")) == hash(point(1.0, tags=("a",), note="c"))


@both()
def test_without_slots_there_is_room(point):
    assert point(1.0).__dict__ == {"x": 1.0, "y": 2.0, "tags": [], "note": ""}


@both(slots=True)
def test_the_functions_of_dataclasses_take_it(point):
    item = point(1.0)
    assert dataclasses.is_dataclass(item)
    assert dataclasses.asdict(item) == {"x": 1.0, "y": 2.0, "tags": [], "note": ""}
    assert dataclasses.replace(item, y=3.0) == point(1.0, 3.0)
    shown = [(field.name, field.type, field.compare) for field in dataclasses.fields(point)]
    assert shown == [
        ("x", "float", True),
        ("y", "float", True),
        ("tags", "list[str]", True),
        ("note", "str", False),
    ]


def test_replace_gives_a_new_record():
    made = point(slotted, slots=True)
    assert slotted.replace(made(1.0), y=5.0) == made(1.0, 5.0)


@slotted.dataclass(frozen=True, slots=True)
class Base:
    a: int
    b: int = 1


@slotted.dataclass(frozen=True, slots=True, order=True)
class Derived(Base):
    c: int = 2

    def __post_init__(self):
        if self.c < 0:
            raise ValueError("c is negative")


def test_fields_are_inherited_and_checks_are_run():
    assert Derived(1) == Derived(a=1, b=1, c=2)
    assert Derived.__slots__ == ("c",)
    with pytest.raises(ValueError, match="negative"):
        Derived(1, c=-1)


def test_records_can_be_ordered_where_that_is_asked_for():
    assert sorted([Derived(2), Derived(1, 5), Derived(1)]) == [Derived(1), Derived(1, 5), Derived(2)]
    with pytest.raises(TypeError):
        assert Base(1) < Base(2)


@pytest.mark.parametrize("one", [Base(1), Derived(1, 2, 3)])
def test_copies_and_pickles_are_equal(one):
    assert copy.deepcopy(one) == one
    assert pickle.loads(pickle.dumps(one)) == one


def test_what_is_not_frozen_can_be_changed_and_has_no_hash():
    @slotted.dataclass(slots=True)
    class Counter:
        n: int = 0

    counter = Counter()
    counter.n += 1
    assert counter == Counter(1)
    with pytest.raises(TypeError):
        hash(counter)


@pytest.mark.parametrize("by", [dataclasses, slotted])
def test_fields_by_keyword_may_have_defaults_in_any_order(by):
    class Point:
        x: float = 1.0
        y: float

    made = by.dataclass(frozen=True, slots=True, kw_only=True)(Point)
    assert (made(y=2.0).x, made(y=2.0, x=3.0).x) == (1.0, 3.0)
    assert [field.name for field in dataclasses.fields(made)] == ["x", "y"]
    assert dataclasses.replace(made(y=2.0), x=5.0) == made(x=5.0, y=2.0)
    with pytest.raises(TypeError):
        made(1.0, 2.0)
