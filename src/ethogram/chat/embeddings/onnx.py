"""The embedder `onnx:FOLDER`: a sentence model in ONNX with its tokenizer, run on this machine.

A text is the mean of the vectors of its tokens, or the first of them where the folder's pooling says so.
Models run no code of their own, but they are read by native code: use those whose source you trust.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from ...errors import BadUsage, EthogramError, MissingExtra
from .base import MOST_CHARACTERS, Vectors, rows_of

MODELS = ("model.onnx", "onnx/model.onnx")
EXPECTED = "expected model.onnx (or onnx/model.onnx) and tokenizer.json"
INPUTS = ("input_ids", "attention_mask", "token_type_ids")
MOST_TOKENS = 256  # of a text; fewer where the tokenizer truncates earlier
BATCH = 32  # texts at once


class Onnx:
    """The model in a folder. `name` has a digest of the model and the tokenizer."""

    def __init__(self, folder: str) -> None:
        self._folder = Path(folder).expanduser()
        model, tokenizer = self._files()
        try:
            # Its own telemetry begins when it is imported.
            os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
            import onnxruntime
            import tokenizers
        except ImportError as error:
            raise MissingExtra(error.name or "onnxruntime", "meaning", "the embedder onnx") from None
        with self._errors(tokenizer, "a tokenizer.json"):
            self._tokenizer = tokenizers.Tokenizer.from_file(str(tokenizer))
            most = (self._tokenizer.truncation or {}).get("max_length", MOST_TOKENS)
            self._tokenizer.enable_truncation(min(most, MOST_TOKENS))
            self._tokenizer.no_padding()
            added = self._tokenizer.get_added_tokens_decoder()
        self._special = {number for number, token in added.items() if token.special}
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 4  # what is wrong is raised
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")  # waiting takes no CPU
        with self._errors(model, "a sentence model in ONNX"):
            self._session = onnxruntime.InferenceSession(str(model), options, ["CPUExecutionProvider"])
            self._inputs = [item.name for item in self._session.get_inputs()]
            outputs = [item.name for item in self._session.get_outputs()]
            self._output = "sentence_embedding" if "sentence_embedding" in outputs else outputs[0]
        if unknown := [name for name in self._inputs if name not in INPUTS]:
            raise BadUsage(
                f"{model}: takes the input {unknown[0]!r:.60}: expected a model of {', '.join(INPUTS)}"
            )
        self._model, self._first = model, self._takes_first()
        self.name = f"onnx:{self._folder.resolve().name}@{digest(model, tokenizer)}"
        self.embed(["a"])  # a model that cannot be run fails here

    def embed(self, texts: Sequence[str]) -> Vectors:
        """One row for each text."""
        ids = [self._tokenizer.encode(text[:MOST_CHARACTERS]).ids or [0] for text in texts]
        # Texts of like length together, since the shorter ones of a batch are padded.
        order = sorted(range(len(ids)), key=lambda k: len(ids[k]))
        parts = [order[start : start + BATCH] for start in range(0, len(order), BATCH)]
        rows: list[Any] = [None] * len(ids)
        for part in parts:
            for k, row in zip(part, self._run([ids[k] for k in part]), strict=True):
                rows[k] = row
        vectors = rows_of(rows, len(texts), str(self._model)) if rows else np.zeros((0, 1), dtype=np.float32)
        vectors[[self._special.issuperset(row) for row in ids]] = 0
        return vectors

    def _run(self, ids: Sequence[Sequence[int]]) -> Any:
        longest = max(map(len, ids))
        tokens = np.array([[*row, *[0] * (longest - len(row))] for row in ids], dtype=np.int64)
        mask = np.array([[1] * len(row) + [0] * (longest - len(row)) for row in ids], dtype=np.int64)
        given = dict(zip(INPUTS, (tokens, mask, np.zeros_like(tokens)), strict=True))
        with self._errors(self._model, f"a model that can be run with {', '.join(INPUTS)}"):
            output = self._session.run([self._output], {name: given[name] for name in self._inputs})[0]
        if output.ndim != 3:
            return output
        if self._first:
            return output[:, 0]
        weights = mask[:, :, None].astype(np.float32)
        return (output * weights).sum(axis=1) / weights.sum(axis=1)

    def _files(self) -> tuple[Path, Path]:
        tokenizer = self._folder / "tokenizer.json"
        model = next((path for name in MODELS if (path := self._folder / name).is_file()), None)
        if model is None or not tokenizer.is_file():
            missing = "model.onnx" if model is None else "tokenizer.json"
            what = f"no {missing} in this folder" if self._folder.is_dir() else "no such folder"
            raise BadUsage(f"{self._folder}: {what}: {EXPECTED}")
        return model, tokenizer

    def _takes_first(self) -> bool:
        """Whether the vector of the first token is that of the text, by the file that says how to pool."""
        path = self._folder / "1_Pooling" / "config.json"
        if not path.is_file():
            return False
        with self._errors(path, "a mapping with pooling_mode_cls_token"):
            return bool(json.loads(path.read_text("utf-8")).get("pooling_mode_cls_token"))

    @contextmanager
    def _errors(self, path: Path, expected: str) -> Iterator[None]:
        """BadUsage for whatever a library raises about a file."""
        try:
            yield
        except EthogramError:
            raise
        except Exception as error:
            reason = " ".join(str(error).split()) or type(error).__name__
            raise BadUsage(f"{path}: cannot be used: {reason:.200}: expected {expected}") from None


def digest(*paths: Path) -> str:
    """Eight digits that change with the content of the files."""
    whole = hashlib.sha256()
    for path in paths:
        with open(path, "rb") as file:
            whole.update(hashlib.file_digest(file, "sha256").digest())
    return whole.hexdigest()[:8]
