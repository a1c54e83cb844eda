"""What a sequence can never do: faults that parse well and would stay silent for ever."""

from __future__ import annotations

from .fields import FieldReader
from .tree import Duration, Events, Limits, Never, Sequence, Step
from .yaml import Fields, Node


def check_sequence(read: FieldReader, sequence: Sequence, nodes: list[Node], shape: Fields) -> None:
    """Note every way in which the sequence can never fire, or a part of it never matter."""
    _check_neighbours(read, sequence, nodes)
    _check_names(read, sequence, nodes)
    within_node = shape.get("within") or shape
    places = sum(step.times for step in sequence.steps)
    size = _events(sequence.within)
    if size is not None and size < places:
        read.fault(within_node, f"within {size} events can never hold {places} matched events")
    for item, node in zip(sequence.items, nodes, strict=True):
        if isinstance(item, Never) and sequence.gaps == 0:
            read.fault(node, "never cannot matter where gaps are not allowed")
        if isinstance(item, Step) and isinstance(node, Fields):
            _check_soon(read, item, node.get("soon"), sequence)


def _check_soon(read: FieldReader, step: Step, node: Node | None, sequence: Sequence) -> None:
    if node is None:
        return
    if not sequence.steps or (sequence.steps[0] is step and step.times == 1):
        read.fault(node, "soon on the first step has no event before it to count from")
    for unit in (_events, _us):
        soon, within = unit(step.soon), unit(sequence.within)
        if soon is not None and within is not None and soon > within:
            read.fault(node, "soon is longer than within; it can never matter")


def _check_neighbours(read: FieldReader, sequence: Sequence, nodes: list[Node]) -> None:
    if not sequence.steps:
        read.fault(nodes[0], "a sequence needs at least one step that is not optional")
        return
    first, last = sequence.steps[0], sequence.steps[-1]
    started = ended = False
    for item, node in zip(sequence.items, nodes, strict=True):
        started = started or item is first
        between = started and not ended
        ended = ended or item is last
        if isinstance(item, Never) and (not between or ended):
            read.fault(node, "never stands between two steps; put a step before and after it")
        if isinstance(item, Step) and item.optional and (not between or ended):
            read.fault(node, "an optional step stands between two others; put a step before and after it")


def _check_names(read: FieldReader, sequence: Sequence, nodes: list[Node]) -> None:
    seen: set[str] = set()
    for item, node in zip(sequence.items, nodes, strict=True):
        if isinstance(item, Step):
            if item.name in seen:
                read.fault(node, f"two steps are named {item.name!r}; choose another name")
            seen.add(item.name)


def _events(limits: Limits) -> int | None:
    return next((limit.n for limit in limits if isinstance(limit, Events)), None)


def _us(limits: Limits) -> int | None:
    return next((limit.us for limit in limits if isinstance(limit, Duration)), None)
