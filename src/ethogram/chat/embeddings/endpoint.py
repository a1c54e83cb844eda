"""The embedder `openai:MODEL@URL`: a server that speaks OpenAI's embeddings, such as Ollama or vLLM.

Texts leave this machine only where the user names a server that is not on it.
"""

from __future__ import annotations

import importlib.util
import os
import threading
from collections.abc import Sequence
from functools import partial
from typing import Any
from urllib.parse import urlsplit

import numpy as np

from ...errors import BadUsage, MissingExtra
from ...remote.address import NO_KEY, check_address, check_model, is_local, key_variable
from ...remote.client import Connections, Patience, RequestFailure, body_of, http_client, timeouts
from .base import MOST_CHARACTERS, Vectors, rows_of

OPENAI = "https://api.openai.com/v1"
KEY, OWN_KEY = "EMBEDDINGS_API_KEY", "OPENAI_API_KEY"  # of another server, and of OpenAI
NAME = "the embedder openai"
BATCH = 64  # texts of a request
ATTEMPTS = 2  # where the answer was lost on the way
TIMEOUT = 60.0  # seconds for an answer
MOST_BYTES = 16_000_000  # of an answer: 64 vectors of 8,000 numbers


class Endpoint:
    """The model of that name at that address; without one, at OpenAI's. Safe for several threads."""

    def __init__(self, place: str) -> None:
        model, url = split(place)
        if importlib.util.find_spec("openai") is None:
            raise MissingExtra("openai", "llm", NAME)
        self._model, self._url = check_model(NAME, model), check_address(NAME, url, None)
        parts = urlsplit(self._url)
        self._host, self._local = parts.netloc, is_local(parts.hostname or "")
        own = parts.hostname == urlsplit(OPENAI).hostname
        variable = None if own or (self._local and not os.environ.get(KEY)) else KEY
        self._key_variable = key_variable(NAME, variable, own, self._local, OWN_KEY)
        self.name = f"openai:{self._model}@{self._url}"
        self._connections = Connections()
        self._patience = Patience(self._connections)
        self._lock = threading.Lock()
        self._client: Any = None
        self._width = self._rows(["a"]).shape[1]  # a server that cannot be used fails here

    def embed(self, texts: Sequence[str]) -> Vectors:
        """One row for each text."""
        read = [text[:MOST_CHARACTERS] for text in texts]
        full = [k for k, text in enumerate(read) if text.strip()]  # servers refuse empty texts
        vectors = np.zeros((len(texts), self._width), dtype=np.float32)
        for start in range(0, len(full), BATCH):
            part = full[start : start + BATCH]
            rows = self._rows([read[k] for k in part])
            if rows.shape[1] != self._width:
                raise self._error(f"gave {rows.shape[1]} numbers for a text after {self._width}")
            vectors[part] = rows
        return vectors

    def _rows(self, texts: Sequence[str]) -> Vectors:
        for _ in range(ATTEMPTS):
            body = self._patience.send(partial(self._send, texts))
            if not isinstance(body, RequestFailure) or body.kind != "lost":
                break
        if isinstance(body, RequestFailure):
            raise self._error(body.reason)
        try:
            items = sorted(body["data"], key=lambda item: item["index"])
            return rows_of([item["embedding"] for item in items], len(texts), self._host)
        except (LookupError, TypeError, ValueError, AttributeError):
            raise self._error("the answer is not what the protocol says") from None

    def _send(self, texts: Sequence[str]) -> Any:
        request = {"model": self._model, "input": list(texts), "encoding_format": "float"}
        return body_of(self._connected().embeddings.with_raw_response.create(**request))

    def _connected(self) -> Any:
        """The SDK's client, made when first needed: importing it takes a second."""
        with self._lock:
            if self._client is None:
                import openai

                http = http_client(
                    self._url, TIMEOUT, self._connections, local=self._local, most_bytes=MOST_BYTES
                )
                key = os.environ[self._key_variable] if self._key_variable else NO_KEY
                self._client = openai.OpenAI(
                    api_key=key,
                    base_url=self._url,
                    max_retries=0,
                    timeout=timeouts(TIMEOUT),
                    http_client=http,
                )
            return self._client

    def _error(self, reason: str) -> BadUsage:
        return BadUsage(
            f"{NAME}: {self._host}: {reason}: expected a server that gives embeddings of {self._model!r:.80} "
            f"at {self._url}/embeddings"
        )


def split(place: str) -> tuple[str, str]:
    """The model and the address.

    >>> split("nomic-embed-text@http://localhost:11434/v1")
    ('nomic-embed-text', 'http://localhost:11434/v1')
    """
    model, _, url = place.rpartition("@") if "@" in place else (place, "", OPENAI)
    return model, url
