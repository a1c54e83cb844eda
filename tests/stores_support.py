"""What tests of stores share."""

from __future__ import annotations

from datetime import UTC, datetime

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
LATER = datetime(2026, 6, 1, 12, tzinfo=UTC)
"""When things are imported: after all that happened."""
