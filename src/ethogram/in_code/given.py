"""What was given to `register`, by keyword or as attributes of the thing itself."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Given:
    """What was given to `register`: a thing, a name, and what is said about it by keyword."""

    made: Any
    name: str
    said: Mapping[str, Any]

    def get(self, key: str, default: Any = None) -> Any:
        """What was said by keyword, or else by an attribute of the thing."""
        if key in self.said:
            return self.said[key]
        return default if inspect.isfunction(self.made) else getattr(self.made, key, default)

    @property
    def is_object(self) -> bool:
        """Whether it keeps a state of its own."""
        return hasattr(self.made, "step")

    @property
    def place(self) -> tuple[str, int]:
        """The file and line it is written at; '' and 0 where nobody knows."""
        made = self.made if hasattr(self.made, "__code__") else type(self.made)
        try:
            return inspect.getsourcefile(made) or "", inspect.getsourcelines(made)[1]
        except (OSError, TypeError):
            return f"{getattr(made, '__module__', '?')}.{getattr(made, '__qualname__', '?')}", 0


def is_listed(value: Any) -> bool:
    """Whether something is a list of things, and not a text."""
    return isinstance(value, Sequence) and not isinstance(value, (str, bytes))
