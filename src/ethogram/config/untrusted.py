"""What counts of settings found in a folder that nobody has reviewed: what tightens, and nothing else.

A cloned repository must not choose an evaluator, speak through a pattern, allow paths or turn the hook off.
It may only name more paths to keep away from.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..errors import Fault
from ..records.mask import mask
from .checks import VARIABLE, Place, bad_option_name
from .layers import Layer

COUNTS = ("deny", "critical_paths")
"""Settings that count in a file that is not trusted: they are added to those of the other layers."""
MAX_GLOBS = 32
MAX_GLOB = 100
MAX_WILDCARDS = 3
GLOB = re.compile(r"[A-Za-z0-9._/*?~+@=-]+")
"""A path, not a sentence: hooks show globs to agents."""
SHOWN = 8
HIDDEN = "(not shown)"


@dataclass(frozen=True, slots=True)
class Refused:
    """A value that was found and not applied: its dotted name, where it stands, and why it does not count."""

    name: str
    value: Any
    origin: str
    why: str


def tightening(layer: Layer, faults: list[Fault]) -> Layer:
    """The layer with the globs that count alone; what is wrong with the others goes to `faults`."""
    values = {name: list(_globs(layer, name, faults)) for name in COUNTS if name in layer.values}
    return Layer(layer.name, {name: globs for name, globs in values.items() if globs}, layer.node, found=True)


def refuse(layer: Layer, why: str) -> tuple[Refused, ...]:
    """Every other value of the layer, as refused. What may be a secret is not shown."""
    return tuple(
        Refused(".".join(map(str, place)), _shown(place, value), layer.origin(place), why)
        for name, content in layer.values.items()
        if name not in COUNTS
        for place, value in leaves_of((name,), content)
    )


def warning(file: str, why: str, refused: Sequence[Refused], remedy: str) -> str:
    """One line that names the file, the refused settings and what to do."""
    names = list(dict.fromkeys(".".join(one.name.split(".")[:2])[:60] for one in refused))
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return f"{file}: {why}: ignored {', '.join(names[:SHOWN])}{more}; {remedy}"


def _globs(layer: Layer, name: str, faults: list[Fault]) -> Iterator[str]:
    listed = layer.values[name]
    if not isinstance(listed, list):
        faults.append(layer.fault((name,), f"{name} must be a list, like [a, b]: ignored", key=False))
        return
    if len(listed) > MAX_GLOBS:
        message = f"{name}: only the first {MAX_GLOBS} globs count in a file that is not trusted"
        faults.append(layer.fault((name,), message, key=True))
    for number, one in enumerate(listed[:MAX_GLOBS]):
        if isinstance(one, str) and _is_plain(one):
            yield one
        else:
            message = (
                f"{name}.{number} is ignored: in a file that is not trusted a glob is a path of at most "
                f"{MAX_GLOB} plain characters with at most {MAX_WILDCARDS} wildcards"
            )
            faults.append(layer.fault((name, number), message, key=False))


def _is_plain(glob: str) -> bool:
    wildcards = len(re.findall(r"\*+", glob))
    return len(glob) <= MAX_GLOB and wildcards <= MAX_WILDCARDS and GLOB.fullmatch(glob) is not None


def leaves_of(place: Place, value: Any) -> Iterator[tuple[Place, Any]]:
    """The single values under a place; an empty mapping is one."""
    if not isinstance(value, Mapping) or not value:
        yield place, value
        return
    for key, item in value.items():
        yield from leaves_of((*place, key), item)


def _shown(place: Place, value: Any) -> Any:
    """A value as it may be shown: of evaluators' options nothing that could be a key."""
    if place[0] != "evaluators":
        return value
    name = str(place[-1])
    is_bad = any(bad_option_name(str(part)) for part in place[1:])
    if is_bad or len(place) < 3 or (name == "key_env" and not VARIABLE.fullmatch(str(value))):
        return HIDDEN
    if isinstance(value, str):
        return re.sub(r"(?<=://)[^/@\s]*@", "", mask(value))
    return value if isinstance(value, (bool, int, float)) else HIDDEN
