"""The `shape:` of a pattern file, parsed and checked."""

from __future__ import annotations

from collections.abc import Callable

from ..models.timestamps import SECOND, parse_duration
from . import ast
from .ast import Expr
from .expressions import Scope
from .fields import FieldReader
from .yaml_source import Fields, Items, Node, Scalar


def check_sequence(read: FieldReader, sequence: ast.Sequence, nodes: list[Node], shape: Fields) -> None:
    """Note why a sequence can never fire, or a part of it never matter."""
    steps, names = sequence.steps, set()
    if not steps:
        read.fault(nodes[0], "a sequence needs at least one step that is not optional")
        return
    places, size = sum(step.times for step in steps), _events(sequence.within)
    if size is not None and size < places:
        read.fault(
            shape.get("within") or shape, f"within {size} events can never hold {places} matched events"
        )
    first, last = (next(i for i, item in enumerate(sequence.items) if item is steps[k]) for k in (0, -1))
    for index, (item, node) in enumerate(zip(sequence.items, nodes, strict=True)):
        between = first < index < last
        if isinstance(item, ast.Never):
            if not between:
                read.fault(node, "never stands between two steps; put a step before and after it")
            if sequence.max_gap == 0:
                read.fault(node, "never cannot matter with max_gap: 0")
            continue
        if item.optional and not between:
            read.fault(node, "an optional step stands between two others; put a step before and after it")
        if item.name in names:
            read.fault(node, f"two steps are named {item.name!r}; choose another name")
        names.add(item.name)
        if isinstance(node, Fields):
            _check_within(read, item, node.get("within"), sequence)


def _check_within(read: FieldReader, step: ast.Step, node: Node | None, sequence: ast.Sequence) -> None:
    if node is None:
        return
    if sequence.steps[0] is step and step.times == 1:
        read.fault(node, "within on the first step has no event before it to count from")
    for unit in (_events, _us):
        step_limit, whole = unit(step.within), unit(sequence.within)
        if step_limit is not None and whole is not None and step_limit > whole:
            read.fault(node, "within of the step is longer than within of the sequence; it can never matter")


def _events(limits: ast.Limits) -> int | None:
    return next((limit.n for limit in limits if isinstance(limit, ast.Events)), None)


def _us(limits: ast.Limits) -> int | None:
    return next((limit.us for limit in limits if isinstance(limit, ast.Duration)), None)


KINDS = ("sequence", "threshold", "trend", "contrast", "silence", "all_of", "in_order", "any_of", "spread")
RESULTS = {
    "trend": {"rise": "number", "tau": "number"},
    "contrast": dict.fromkeys(("difference", "plain_difference", "t", "n_where", "n_against"), "number"),
    "silence": {"deadline": "text"},
}
COMBINATIONS = ("all_of", "in_order", "any_of")
SETTINGS = {
    "threshold": (("when",), ("clears", "and")),
    "trend": (
        ("of",),
        ("last", "rise", "fall", "tau", "at_least", "skip", "since", "where", "and", "clears"),
    ),
    "contrast": (
        ("of", "where", "against", "difference", "t"),
        ("at_least", "within_each", "last", "skip", "and", "clears"),
    ),
    "silence": (("longer_than",), ("after", "at_least")),
    "spread": (("from", "to", "within"), ("at_least", "multiplier")),
}
"""The settings of shapes that take them by name: those they need, and others."""
_STEP_KEYS = ("times", "at_least", "within", "optional")


def parse_shape(read: FieldReader, node: Node, scope: Scope) -> tuple[str, ast.Shape | None]:
    """The kind of shape, and the shape, or None after noting why not."""
    if not isinstance(node, Fields):
        read.fault(node, f"shape takes one of: {', '.join(KINDS)}")
        return "", None
    names = [name for name in node.names() if name in KINDS]
    if len(names) != 1:
        if names:
            read.fault(node, f"a pattern has one shape, not {' and '.join(names)}")
        else:
            read.known_keys(node, KINDS, "shape")
            if not node.entries:
                read.fault(node, f"shape is empty; it takes one of: {', '.join(KINDS)}")
        return "", None
    kind = names[0]
    body = node.get(kind)
    assert body is not None
    if kind == "sequence":
        return kind, _sequence(read, node, body, scope)
    if kind in COMBINATIONS:
        return kind, _combination(read, node, kind, body, scope)
    read.known_keys(node, (kind,), "shape")
    if not isinstance(body, Fields):
        read.fault(body, f"{kind} takes its settings by name")
        return kind, None
    required, others = SETTINGS[kind]
    read.known_keys(body, (*required, *others), kind)
    missing = [name for name in required if body.get(name) is None]
    for name in missing:
        read.fault(body, f"{kind} needs {name}:")
    if missing:
        return kind, None
    parser: Callable[[FieldReader, Fields, Scope], ast.Shape | None] = {
        "threshold": _threshold,
        "trend": _trend,
        "contrast": _contrast,
        "silence": _silence,
        "spread": _spread,
    }[kind]
    return kind, parser(read, body, scope)


def _sequence(read: FieldReader, node: Fields, body: Node, scope: Scope) -> ast.Sequence | None:
    read.known_keys(node, ("sequence", "max_gap", "within"), "shape")
    if not isinstance(body, Items) or not body.items:
        read.fault(body, "sequence takes a list of steps: - name: condition")
        return None
    items: list[ast.Step | ast.Never] = []
    nodes: list[Node] = []
    for item in body.items:
        earlier = tuple(step.name for step in items if isinstance(step, ast.Step) and not step.optional)
        result = _item(read, item, scope, earlier)
        if result is not None:
            items.append(result)
            nodes.append(item)
    within = read.limits(node.get("within"), "within") or (ast.Events(256),)
    gap = node.get("max_gap")
    max_gap = None if gap is None else read.count(gap, scope, "max_gap", 0, lowest=0)
    sequence = ast.Sequence(tuple(items), max_gap, within)
    if len(items) == len(body.items):
        check_sequence(read, sequence, nodes, node)
    return sequence if items else None


def _item(
    read: FieldReader, node: Node, scope: Scope, earlier: tuple[str, ...]
) -> ast.Step | ast.Never | None:
    if not isinstance(node, Fields) or not node.entries:
        read.fault(node, "a step is written `name: condition`")
        return None
    key, value = node.entries[0]
    if key.text == "never":
        read.known_keys(node, ("never",), "never")
        return ast.Never(read.condition(value, scope.at("in never", steps=()), "never"))
    names = [item.text for item, _ in node.entries if item.text not in _STEP_KEYS]
    if not names:
        read.fault(node, "a step is written `name: condition`")
        return None
    if len(names) > 1:
        read.known_keys(node, (names[0], *_STEP_KEYS), f"step {names[0]!r}")
    name_key = node.key(names[0])
    assert name_key is not None
    read_name(read, name_key, "step", scope)
    optional = _flag(read, node.get("optional"), "optional")
    if optional:
        for other in ("times", "at_least", "within"):
            if (extra := node.get(other)) is not None:
                read.fault(extra, f"an optional step takes no {other}")
    times = read.count(node.get("times"), scope, "times", 1, highest=256)
    at_least = read.count(node.get("at_least"), scope, "at_least", 1, highest=256)
    if node.get("times") is not None and (second := node.get("at_least")) is not None:
        read.fault(second, "a step has times or at_least, not both")
    place = scope.at(f"in step {names[0]!r}", steps=() if optional else earlier)
    return ast.Step(
        names[0],
        read.condition(node.get(names[0]), place, f"step {names[0]!r}"),
        times=max(times, at_least),
        collects=node.get("at_least") is not None,
        within=read.limits(node.get("within"), "within"),
        optional=optional,
    )


def read_name(read: FieldReader, key: Scalar, what: str, scope: Scope) -> None:
    """Note where a name is not a plain word or already means something else."""
    name = key.text
    if not name.isidentifier() or not name.isascii() or len(name) > 60:
        read.fault(key, f"{what} {name[:60]!r} must be a plain word: letters, digits and _")
    taken = {
        "a signal": scope.vocabulary.signals,
        "an indicator": scope.vocabulary.indicators,
        "a parameter": scope.parameters if what != "parameter" else {},
        "a define": scope.defines if what != "define" else {},
        "a for_each name": scope.bindings,
        "an attribute": scope.vocabulary.attributes if what in ("parameter", "define") else {},
    }
    if name in ("gap", "age", "and", "or", "not", "in", "count", "never"):
        read.fault(key, f"{what} {name!r} is a word of the language; choose another")
        return
    for kind, names in taken.items():
        if name in names:
            read.fault(key, f"{what} {name!r} has the name of {kind}; choose another")
            return


def _flag(read: FieldReader, node: Node | None, what: str) -> bool:
    if node is None:
        return False
    if isinstance(node, Scalar) and isinstance(node.value, bool):
        return node.value
    read.fault(node, f"{what} takes true or false")
    return False


def _clears(read: FieldReader, body: Fields, scope: Scope) -> tuple[Expr | None, bool]:
    node = body.get("clears")
    if node is None:
        return None, False
    if isinstance(node, Scalar) and node.text == "never":
        return None, True
    return read.condition(node, scope.at("in clears"), "clears"), False


def _threshold(read: FieldReader, body: Fields, scope: Scope) -> ast.Threshold:
    when = read.condition(body.get("when"), scope.at("in when"), "when")
    further = _further(read, body, scope)
    clears, stays = _clears(read, body, scope)
    if further is not None:
        when = ast.And((when, further))
    return ast.Threshold(when, clears, stays)


def _further(read: FieldReader, body: Fields, scope: Scope) -> Expr | None:
    node = body.get("and")
    return None if node is None else read.condition(node, scope.at("in and"), "and")


def _window(read: FieldReader, body: Fields, scope: Scope, at_least: int) -> ast.Window:
    last = _last(read, body.get("last"), scope)
    sizes = [limit.n for limit in last if isinstance(limit, ast.Events)]
    if sizes and at_least > min(sizes):
        node = body.get("at_least") or body
        read.fault(node, f"at_least {at_least} can never be met by last {min(sizes)}")
    inside = scope.inside_measure("here")
    since, where = body.get("since"), body.get("where")
    skip = read.limits(body.get("skip"), "skip", bare=True)
    return ast.Window(
        skip=skip[0] if skip else None,
        last=last,
        since=None if since is None else read.condition(since, inside.at("inside since"), "since"),
        where=None if where is None else read.condition(where, inside.at("inside where"), "where"),
        at_least=at_least,
    )


def _last(read: FieldReader, node: Node | None, scope: Scope) -> ast.Limits:
    if isinstance(node, Scalar) and node.text in scope.parameters:
        return (ast.Events(read.count(node, scope, "last", 1)),)
    limits = read.limits(node, "last", bare=True)
    if node is not None and any(isinstance(limit, ast.Events) and limit.n > 512 for limit in limits):
        read.fault(node, "last takes at most 512 events")
    return limits


def _trend(read: FieldReader, body: Fields, scope: Scope) -> ast.Trend | None:
    rise, fall = body.get("rise"), body.get("fall")
    if (rise is None) == (fall is None):
        read.fault(body, "trend needs rise: or fall:, one of the two")
        return None
    clears, stays = _clears(read, body, scope)
    inside = scope.inside_measure("in trend")
    node = rise if rise is not None else fall
    amount = read.number(node, scope, "rise or fall")
    if amount < 0 and node is not None:
        read.fault(node, "rise and fall are positive numbers; use the other one for the other direction")
    return ast.Trend(
        of=read.expression(body.get("of"), inside, "number", "of")[0],
        amount=amount,
        tau=read.number(body.get("tau"), scope, "tau"),
        window=_window(read, body, scope, read.count(body.get("at_least"), scope, "at_least", 2, 2)),
        falling=fall is not None,
        further=_further(read, body, scope),
        clears=clears,
        stays=stays,
    )


def _contrast(read: FieldReader, body: Fields, scope: Scope) -> ast.Contrast:
    inside = scope.inside_measure("in contrast")
    each = body.get("within_each")
    clears, stays = _clears(read, body, scope)
    window = ast.Window(
        last=_last(read, body.get("last"), scope),
        skip=next(iter(read.limits(body.get("skip"), "skip", bare=True)), None),
    )
    return ast.Contrast(
        of=read.expression(body.get("of"), inside, "number", "of")[0],
        where=read.condition(body.get("where"), inside, "where"),
        against=read.condition(body.get("against"), inside, "against"),
        difference=read.number(body.get("difference"), scope, "difference"),
        t=read.number(body.get("t"), scope, "t"),
        window=window,
        at_least=max(2, read.count(body.get("at_least"), scope, "at_least", 2)),
        within_each=None if each is None else read.expression(each, inside, "any", "within_each")[0],
        further=_further(read, body, scope),
        clears=clears,
        stays=stays,
    )


def _silence(read: FieldReader, body: Fields, scope: Scope) -> ast.Silence:
    longer = body.get("longer_than")
    if isinstance(longer, Scalar) and isinstance(longer.value, str):
        longer = _duration_as_seconds(longer)
    after = body.get("after")
    return ast.Silence(
        longer_than=read.expression(longer, scope.at("in longer_than"), "number", "longer_than")[0],
        after=None if after is None else read.condition(after, scope.at("in after"), "after"),
        at_least=read.count(body.get("at_least"), scope, "at_least", 1),
    )


def _duration_as_seconds(node: Scalar) -> Scalar:
    """`longer_than: 48h` is a number of seconds."""
    try:
        seconds = parse_duration(node.text) / SECOND
    except ValueError:
        return node
    return Scalar(repr(seconds), node.line, node.column, None, repr(seconds))


def _combination(
    read: FieldReader, node: Fields, kind: str, body: Node, scope: Scope
) -> ast.Combination | None:
    read.known_keys(node, (kind, "within", "overlapping", "multiplier"), "shape")
    parts = read.texts(body, kind)
    lowest = 1 if kind == "any_of" else 2
    if len(parts) < lowest or not isinstance(body, Items):
        read.fault(body, f"{kind} takes a list of at least {lowest} pattern names")
        return None
    if len(set(parts)) != len(parts):
        read.fault(body, f"{kind} names a pattern twice")
    overlapping = _flag(read, node.get("overlapping"), "overlapping")
    if overlapping and kind != "all_of":
        read.fault(node, "overlapping goes with all_of")
    limit = node.get("within")
    unlimited = isinstance(limit, Scalar) and limit.text == "none"
    within = None if unlimited else read.duration(limit, "within")
    if limit is None and kind != "any_of" and not overlapping:
        read.fault(node, f"{kind} needs within: such as 1h, or none")
    if kind == "any_of" and (value := node.get("within")) is not None:
        read.fault(value, "any_of takes no within")
    return ast.Combination(kind, parts, within, overlapping, _multiplier(read, node, scope))


def _multiplier(read: FieldReader, node: Fields, scope: Scope) -> float:
    multiplier = read.number(node.get("multiplier"), scope, "multiplier", 1.0)
    if multiplier <= 0:
        read.fault(node.get("multiplier") or node, "multiplier is above 0")
        return 1.0
    return multiplier


def _spread(read: FieldReader, body: Fields, scope: Scope) -> ast.Spread:
    return ast.Spread(
        first=read.text(body.get("from"), "from"),
        then=read.text(body.get("to"), "to"),
        within=read.duration(body.get("within"), "within") or 1,
        at_least=read.count(body.get("at_least"), scope, "at_least", 1),
        multiplier=_multiplier(read, body, scope),
    )
