"""Langfuse: a detection is a numeric score of its session, or of its trace where there is no session."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable
from time import sleep as wait
from typing import Any

from ...remote.posting import Poster
from .base import Record, exporter, key_from, metadata_of, places_of, post_json, score_of, session_of

KEYS = ("LANGFUSE_PUBLIC_KEY", "LANGFUSE_SECRET_KEY")


@exporter("langfuse")
class Langfuse:
    """Scores; the detection's id is the score's, so a score is replaced."""

    def __init__(self, url: str, *, sleep: Callable[[float], None] = wait) -> None:
        keys = ":".join(key_from("langfuse", name, needed=True) or "" for name in KEYS)
        headers = {"Authorization": f"Basic {b64encode(keys.encode()).decode()}"}
        self._poster = Poster("langfuse", url, headers, sleep=sleep)

    def send(self, record: Record) -> str:
        """Create or replace the score."""
        score, label = score_of(record)
        session = session_of(record)
        body: dict[str, Any] = {
            "id": record["id"],
            "name": record["pattern"],
            "value": score,
            "dataType": "NUMERIC",
            "comment": f"{label}: {record['explanation']}",
            "metadata": metadata_of(record),
        }
        body |= {"traceId": places_of(record)[-1].trace} if session is None else {"sessionId": session}
        return post_json(self._poster, "/api/public/scores", body, " and ".join(KEYS)).why
