"""The live runner: one event after the other, with state bounded by the windows of the patterns."""

from __future__ import annotations
