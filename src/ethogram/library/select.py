"""Selecting: the patterns asked for, whatever their status."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from ..shapes.vocabulary import Vocabulary
from .load import Library, load_patterns


def select(
    selectors: Sequence[str | Path] = (),
    *,
    more: Sequence[str | Path] = (),
    vocabulary: Vocabulary | None = None,
    parameters: Mapping[str, Mapping[str, float]] | None = None,
    status: Mapping[str, str] | None = None,
) -> Library:
    """Like `load_patterns`, with those that are off too: all there are without selectors.

    For looking at patterns and testing them. What runs over events is for `load_patterns`.
    """

    def load(overlay: Mapping[str, str]) -> Library:
        return load_patterns(
            selectors or None, more=more, vocabulary=vocabulary, parameters=parameters, status=overlay
        )

    library = load(status or {})
    if not selectors:
        return replace(library, chosen=tuple(sorted(library.files)))
    retired = [name for name, file in library.files.items() if file.status == "retired"]
    if not retired:
        return library
    # Retired ones are never chosen; asked once more as if they were not, the same rules find them.
    as_if_on = load({**(status or {}), **dict.fromkeys(retired, "test")})
    return replace(library, chosen=as_if_on.chosen)
