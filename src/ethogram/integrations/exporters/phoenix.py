"""Arize Phoenix: a detection annotates its session and the spans of its evidence."""

from __future__ import annotations

from collections.abc import Callable
from time import sleep as wait
from typing import Any

from ...remote.posting import Poster
from .base import Record, exporter, key_from, metadata_of, places_of, post_json, score_of, session_of

KEY = "PHOENIX_API_KEY"


@exporter("phoenix")
class Phoenix:
    """Annotations of sessions and spans; the detection's id is their identifier, so they are replaced."""

    def __init__(self, url: str, *, sleep: Callable[[float], None] = wait) -> None:
        key = key_from("phoenix", KEY, needed=False)
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        self._poster = Poster("phoenix", url, headers, sleep=sleep)

    def send(self, record: Record) -> str:
        """Annotate; Phoenix must know the session or the spans already."""
        session, spans = session_of(record), dict.fromkeys(place.span for place in places_of(record))
        why = []
        if session is not None:
            why.append(self._annotate("session", [{"session_id": session}], record))
        if spans:
            why.append(self._annotate("span", [{"span_id": span} for span in spans], record))
        return "; ".join(filter(None, why))

    def _annotate(self, what: str, targets: list[dict[str, str]], record: Record) -> str:
        score, label = score_of(record)
        annotation: dict[str, Any] = {
            "name": record["pattern"],
            "annotator_kind": "CODE",
            "identifier": record["id"],
            "result": {"label": label, "score": score, "explanation": record["explanation"]},
            "metadata": metadata_of(record),
        }
        body = {"data": [{**target, **annotation} for target in targets]}
        # Without `sync` an unknown session is accepted, and the annotation never shows up.
        path = f"/v1/{what}_annotations?sync=true"
        posted = post_json(self._poster, path, body, KEY)
        # Another 404 is that of a wrong URL.
        is_unknown = posted.status == 404 and b"do not exist" in posted.body
        return f"Phoenix does not have the {what}" if is_unknown else posted.why
