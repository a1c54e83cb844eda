"""What people read: text for terminals, and HTML pages."""

from __future__ import annotations
