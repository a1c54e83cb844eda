"""What an analysis says to a person: the words for it, and the page."""

from __future__ import annotations
