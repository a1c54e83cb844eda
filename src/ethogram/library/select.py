"""Selecting: the patterns asked for, whatever their status."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
    return load_patterns(
        selectors or None,
        more=more,
        vocabulary=vocabulary,
        parameters=parameters,
        status=status,
        any_status=True,
    )
