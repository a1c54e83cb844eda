"""Signal: a named measure of one event, and the decorator that registers it."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

from .. import registry
from ..errors import BadUsage, EthogramError, did_you_mean
from ..models import Event, Value, stable_hash
from ..models.event import rounded
from ..models.slotted import dataclass, field
from .options import Options

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Iterator
    from typing import Protocol

    class EventFields(Protocol):
        """The fields of all events of an input, in order."""

        def values(self, *names: str) -> Iterator[Any]: ...
        def counts(self, *names: str) -> Counter[Any]: ...

# A plain function measures one event; a class also carries a small state from event to event::
#
#     @signal("question", range=(0, 1))
#     def question(event: Event) -> float | None:
#         "1.0 where the text asks something."
#
#     @signal("reply_gap", range=(0, math.inf))
#     class ReplyGap:
#         "Seconds since another subject last wrote in this thread."
#         scope = "thread"
#         start = None
#         max_state_bytes = 200
#         def measure(self, event: Event, state: State) -> tuple[float | None, State]: ...
#
# Either may take an argument named `options`, to read settings. With `summarize`, a signal of tool calls also
# takes `call`: the step with what was stored of its call, see agent/step.py; None for other events.

State = Any
"""Plain JSON data in tuples and dicts, never changed in place: a step returns the next one."""

Step = Callable[..., tuple[Any, State]]
"""Takes an event, the state, the options and with `summarize` a call; gives the value or None, and the next
state."""

AtOnce = Callable[["EventFields", Set[str], Mapping[str, Sequence[Any]]], Mapping[str, Sequence[Any]]]
"""Takes the fields of all events in order, the names of signals, and the values of those they need; gives the
values by name: what the steps would give at each event, one after the other."""

Range = tuple[float, float] | tuple[str, ...] | None
"""The lowest and highest number, both included; or the categories; or None for any category."""

STEPS = ("action", "result")
"""Kinds of events that are a tool call or its result."""
COSTS = ("free", "cheap", "model")
SCOPES = ("subject", "thread", "run", "text", "target")
"""Whose state a signal carries on: the subject's, the thread's, that of the subject in one thread, that of a
text, or that of the target."""
MAX_TEXTS = 100_000
"""Texts remembered by signals about copies, and targets; the one not seen for longest is forgotten."""
_NAME = re.compile(r"[a-z][a-z0-9_]{0,63}")

T = TypeVar("T", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class Unmeasured:
    """An absent value with a reason to report."""

    reason: str


@dataclass(frozen=True)
class Signal:
    """A registered signal. `step` takes (event, state, options) and returns (value or None, state).

    `scope` is None for a signal without state. `needs` names signals whose readings it looks at; they
    are measured first where they are ours, and taken as given where a scorer supplies them. `kinds` are the
    kinds of events it has anything to say about; None: any.
    """

    name: str
    description: str
    range: Range
    cost: str
    version: int
    step: Step = field(repr=False, compare=False)
    needs: tuple[str, ...] = ()
    scope: str | None = None
    start: State = None
    max_state_bytes: int = 0
    kinds: frozenset[str] | None = None
    reads: tuple[str, ...] = ()
    """Fields of an event of which it needs one: a message (or plain event) without them has no reading
    and leaves the state unchanged. Empty: it needs none."""
    starts: tuple[str, ...] = ()
    """Readings of which a history must have one before the first value; until then the state is None. Empty:
    it needs none."""
    beside: tuple[str, ...] = ()
    """Readings of which an event must have one to have a value. Empty: it needs none."""
    keeps: str = ""
    """The name of its state: its own, or one shared by several signals, which then share their version."""
    turns: bool = False
    """Whether it measures turns of a conversation alone: events of a thread with a known speaker."""
    together: Step | None = field(default=None, repr=False, compare=False)
    """Measures all signals that share a state at once; returns their values by name."""
    at_once: AtOnce | None = field(default=None, repr=False, compare=False)
    """Measures it, and those that have the same function, at all events of an input."""
    kinds_by: Callable[[Options], frozenset[str]] | None = field(default=None, repr=False, compare=False)
    """Selects among `kinds` by the settings."""
    summarize: Callable[[Any, Options], Any] | None = field(default=None, repr=False, compare=False)
    """Returns what is stored of a tool call until its result, small and plain."""
    summary: str = ""
    """The name of `summarize`: signals with the same one share what it returns."""

    @property
    def kind(self) -> str:
        """'number' or 'category', as pattern files know it."""
        return "category" if self.limits is None else "number"

    def is_about(self, kind: str, options: Options) -> bool:
        """Whether it has anything to say about events of a kind."""
        if self.kinds is not None and kind not in self.kinds:
            return False
        return self.kinds_by is None or kind in self.kinds_by(options)

    def value(self, event: Event, options: Options) -> Any:
        """What it measures at an event by itself, without a state; an error names signal and event."""
        try:
            return self.step(event, None, options)[0]
        except Exception as error:
            raise signal_error(self.name, event, error) from error

    @cached_property
    def limits(self) -> tuple[float, float] | None:
        """The lowest and highest value of a number."""
        return bounds(self.range)

    @cached_property
    def scorer(self) -> str:
        """Who its readings are by: name and version."""
        return f"{self.name}@{self.version}"


class Part:
    """One of several readings that `together` measures at once, to derive a signal's class from."""

    scope: str | None = None
    start: State = None
    max_state_bytes = 0
    name = ""
    together: Any

    def measure(self, event: Event, state: State, options: Options) -> tuple[Any, State]:
        """The reading, and the new state."""
        values, state = self.together(event, state, options)
        return values.get(self.name), state


def signal(
    name: str,
    *,
    range: Range,  # noqa: A002  the word for it, and range() is of no use here
    cost: str = "free",
    version: int = 1,
    needs: tuple[str, ...] = (),
    kinds: tuple[str, ...] | None = None,
    reads: tuple[str, ...] = (),
    beside: tuple[str, ...] = (),
    summarize: Callable[..., Any] | None = None,
    at_once: AtOnce | None = None,
) -> Callable[[T], T]:
    """The decorator: registers a function or class as a signal and gives it back unchanged."""

    def decorate(made: T) -> T:
        more = {"needs": needs, "reads": reads, "beside": beside, "at_once": at_once}
        built = make(made, name, range, cost, version, kinds, summarize, **more)
        registry.signals.add(name, built)
        return made

    return decorate


def make(
    made: Callable[..., Any],
    name: str,
    allowed: Range,
    cost: str = "free",
    version: int = 1,
    kinds: tuple[str, ...] | None = None,
    summarize: Callable[..., Any] | None = None,
    **more: Any,
) -> Signal:
    """The signal that a function or class describes, not registered; a mistake in it is BadUsage."""
    description = (made.__doc__ or "").strip().partition("\n")[0].strip()
    _check(name, description, allowed, cost, version)
    state = dict(_state_of(name, made)) if isinstance(made, type) else {}
    if summarize is not None:
        state = {"scope": "run", "max_state_bytes": len("null"), "keeps": name} | state
        state["summary"], state["summarize"] = summarize.__name__, _with_options(summarize)
    state["kinds"] = None if kinds is None else frozenset(kinds)
    built = Signal(name, description, allowed, cost, version, _step_of(made), **more, **state)
    # As functools.wraps does, so that a clash of two names can say where each was written.
    vars(built).update(__module__=made.__module__, __qualname__=made.__qualname__)
    return built


def register_parts(base: type[Part], readings: Iterable[tuple[str, Range, str]], **about: Any) -> None:
    """Register readings that are measured at once: name, range and meaning of each; see `signal` for more."""
    for name, allowed, meaning in readings:
        body = {"__doc__": meaning, "__module__": base.__module__, "name": name}
        signal(name, range=allowed, **about)(type(f"{base.__name__}_{name}", (base,), body))


def lookup(name: str) -> Signal:
    """The registered signal of that name; BadUsage where there is none."""
    result = registry.signals.get(name)
    if not isinstance(result, Signal):
        raise BadUsage(f"plug-in {name!r} is not a signal: expected the decorator @signal({name!r}, ...)")
    return result


def bounds(allowed: Range) -> tuple[float, float] | None:
    """The lowest and highest number of a range, or None where it is of categories.

    >>> bounds((0, 1)), bounds(("what", "how")), bounds(None)
    ((0, 1), None, None)
    """
    if allowed is None or len(allowed) != 2:
        return None
    low, high = allowed
    return None if isinstance(low, str) or isinstance(high, str) else (low, high)


def checked(item: Signal, value: object, event: Event) -> Value:
    """The value as a reading, rounded; or an error that names the signal, the value and its range."""
    limits = item.limits
    if limits is None:
        if isinstance(value, str) and (item.range is None or value in item.range):
            return value
    elif isinstance(value, (int, float)) and limits[0] <= value <= limits[1] and math.isfinite(value):
        number: float = float(value) if value == 0 or value == 1 else rounded(float(value))
        return number
    raise EthogramError(
        f"signal {item.name!r} measured {value!r:.80} at event {event.id!r:.80}; "
        f"its range is {describe_range(item.range)}"
    )


def describe_range(allowed: Range) -> str:
    """A range in words.

    >>> describe_range((0, 1)), describe_range((0, math.inf)), describe_range(("what", "how"))
    ('0 to 1', '0 or more', 'what, how')
    """
    limits = bounds(allowed)
    if limits is None:
        return "any category" if allowed is None else ", ".join(str(item) for item in allowed)
    return f"{limits[0]:g} or more" if limits[1] == math.inf else f"{limits[0]:g} to {limits[1]:g}"


def _check(name: str, description: str, allowed: Range, cost: str, version: int) -> None:
    if not _NAME.fullmatch(name):
        raise BadUsage(f"invalid signal name {name!r:.80}: expected one such as late_night")
    if name.startswith(registry.IN_CODE):
        raise BadUsage(
            f"signal {name!r}: names that begin with {registry.IN_CODE} are those of patterns in code"
        )
    if not description:
        raise BadUsage(f"signal {name!r} has no docstring: expected what it measures")
    if cost not in COSTS:
        raise BadUsage(
            f"signal {name!r} has cost {cost!r}: expected {', '.join(COSTS)}{did_you_mean(cost, COSTS)}"
        )
    if not isinstance(version, int) or version < 1:
        raise BadUsage(f"signal {name!r} has version {version!r}: expected a whole number from 1")
    if not _is_range(allowed):
        raise BadUsage(f"signal {name!r} has range {allowed!r}: expected (low, high), categories or None")


def _is_range(allowed: Range) -> bool:
    limits = bounds(allowed)
    if limits is not None:
        return limits[0] <= limits[1]
    return allowed is None or (bool(allowed) and all(isinstance(item, str) for item in allowed))


def _state_of(name: str, made: Any) -> Mapping[str, Any]:
    missing = [name for name in ("scope", "start", "max_state_bytes", "measure") if not hasattr(made, name)]
    if missing:
        raise BadUsage(f"signal {name!r} is a class without {', '.join(missing)}")
    if made.scope not in SCOPES and not (made.scope is None and hasattr(made, "together")):
        raise BadUsage(f"signal {name!r} has scope {made.scope!r}: expected {' or '.join(SCOPES)}")
    return {
        "scope": made.scope,
        "start": made.start,
        "max_state_bytes": made.max_state_bytes,
        "keeps": getattr(made, "keeps", name),
        "together": getattr(made, "together", None),
        "kinds_by": getattr(made, "kinds_by", None),
        "starts": getattr(made, "starts", ()),
        "turns": getattr(made, "turns", False),
    }


def _step_of(made: Callable[..., Any]) -> Step:
    """The step of a signal, which may take `options` and `call` or not, and has a state if it is a class."""
    has_state = isinstance(made, type)
    measure = made().measure if has_state else made
    takes = _takes(measure, "options"), _takes(measure, "call")
    # Chosen once, since a step is taken for every signal of every event.
    if has_state:
        return {
            (False, False): lambda event, state, options, call=None: measure(event, state),
            (True, False): lambda event, state, options, call=None: measure(event, state, options=options),
            (False, True): lambda event, state, options, call=None: measure(event, state, call=call),
            (True, True): lambda event, state, options, call=None: measure(
                event, state, call=call, options=options
            ),
        }[takes]
    return {
        (False, False): lambda event, state, options, call=None: (measure(event), None),
        (True, False): lambda event, state, options, call=None: (measure(event, options=options), None),
        (False, True): lambda event, state, options, call=None: (measure(event, call=call), None),
        (True, True): lambda event, state, options, call=None: (
            measure(event, call=call, options=options),
            None,
        ),
    }[takes]


def _with_options(made: Callable[..., Any]) -> Callable[[Any, Options], Any]:
    return made if _takes(made, "options") else lambda call, options: made(call)


def signal_error(name: str, event: Event, error: Exception) -> EthogramError:
    """The error, naming the signal and the event."""
    if isinstance(error, EthogramError):
        return error
    message = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    return EthogramError(f"signal {name!r} failed at event {event.id!r:.80}: {message:.200}")


def _takes(made: Callable[..., Any], argument: str) -> bool:
    code = getattr(made, "__code__", None)
    if code is not None and not hasattr(made, "__wrapped__"):
        return argument in code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    import inspect  # which takes long to load, and hardly ever is there anything without code

    return argument in inspect.signature(made).parameters


def remember_last(function: T) -> T:
    """Return the function with its last result remembered: several signals ask the same of one event.

    The first argument must be the same object, the others equal.
    """
    last: tuple[Any, tuple[Any, ...], Any] | None = None

    def remembering(first: Any, *rest: Any) -> Any:
        nonlocal last
        known = last
        if known is None or known[0] is not first or known[1] != rest:
            known = last = (first, rest, function(first, *rest))
        return known[2]

    remembering.__name__ = function.__name__
    return remembering  # type: ignore[return-value]


LONGEST = 64


def short(name: str) -> str:
    """The name itself, or a digest of it where it has more than 64 characters.

    >>> short("ann"), len(short("a" * 1_000_000))
    ('ann', 64)
    """
    return name if len(name) <= LONGEST else stable_hash(name)
