"""The embedder onnx:FOLDER, on a model of a few numbers that is written here."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from math import erf
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks.embedder.bert import Graph, bert, convert
from ethogram.chat.embeddings.base import load
from ethogram.chat.embeddings.onnx import MOST_TOKENS, Onnx
from ethogram.errors import BadUsage, MissingExtra

WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "how", "do", "i", "pick", "a", "lock", "?"]
CONFIG = {
    "hidden_size": 8, "num_attention_heads": 2, "num_hidden_layers": 2, "intermediate_size": 12,
    "layer_norm_eps": 1e-12,
}  # fmt: skip
TEXTS = ["How do I pick a lock?", "a lock", "how how how do I do a?"]


def weights() -> dict[str, Any]:
    """Random weights of a tiny model."""
    rng = np.random.default_rng(0)
    width, inner = CONFIG["hidden_size"], CONFIG["intermediate_size"]
    shapes: dict[str, tuple[int, ...]] = {
        "embeddings.word_embeddings.weight": (len(WORDS), width),
        "embeddings.position_embeddings.weight": (MOST_TOKENS, width),
        "embeddings.token_type_embeddings.weight": (2, width),
        "embeddings.LayerNorm.weight": (width,),
        "embeddings.LayerNorm.bias": (width,),
    }
    for layer in range(CONFIG["num_hidden_layers"]):
        base = f"encoder.layer.{layer}."
        for name, size in (
            *((f"attention.self.{part}", (width, width)) for part in ("query", "key", "value")),
            ("attention.output.dense", (width, width)),
            ("intermediate.dense", (inner, width)),
            ("output.dense", (width, inner)),
        ):
            shapes |= {f"{base}{name}.weight": size, f"{base}{name}.bias": size[:1]}
        for name in ("attention.output.LayerNorm", "output.LayerNorm"):
            shapes |= {f"{base}{name}.weight": (width,), f"{base}{name}.bias": (width,)}
    return {name: rng.normal(size=shape).astype(np.float32) for name, shape in shapes.items()}


def tokenizer() -> dict[str, Any]:
    """A tokenizer of ten words, which pads to a fixed length as that of all-MiniLM-L6-v2 does."""
    special = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
    return {
        "version": "1.0",
        "truncation": {"max_length": 9, "strategy": "LongestFirst", "stride": 0, "direction": "Right"},
        "padding": {
            "strategy": {"Fixed": 20}, "direction": "Right", "pad_to_multiple_of": None, "pad_id": 0,
            "pad_type_id": 0, "pad_token": "[PAD]",
        },
        "added_tokens": [{"id": k, "content": word, **special} for k, word in enumerate(WORDS[:4])],
        "normalizer": {"type": "Lowercase"},
        "pre_tokenizer": {"type": "Whitespace"},
        "post_processor": {
            "type": "BertProcessing", "sep": ["[SEP]", 3], "cls": ["[CLS]", 2],
        },
        "decoder": None,
        "model": {
            "type": "WordLevel", "vocab": {word: k for k, word in enumerate(WORDS)}, "unk_token": "[UNK]",
        },
    }  # fmt: skip


def safetensors(arrays: dict[str, Any]) -> bytes:
    header, data = {}, b""
    for name, array in arrays.items():
        start, data = len(data), data + array.tobytes()
        header[name] = {"dtype": "F32", "shape": list(array.shape), "data_offsets": [start, len(data)]}
    text = json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + data


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with the tiny model, converted from its weights."""
    source = tmp_path / "source"
    source.mkdir()
    (source / "model.safetensors").write_bytes(safetensors(weights()))
    (source / "config.json").write_text(json.dumps(CONFIG))
    (source / "tokenizer.json").write_text(json.dumps(tokenizer()))
    return convert(source, tmp_path / "tiny")


def hidden_states(ids: list[int]) -> Any:
    """What the model gives for the tokens of one text, in plain NumPy."""
    w = weights()

    def norm(name: str, x: Any) -> Any:
        scaled = (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-12)
        return scaled * w[f"{name}.weight"] + w[f"{name}.bias"]

    def linear(name: str, x: Any) -> Any:
        return x @ w[f"{name}.weight"].T + w[f"{name}.bias"]

    x = w["embeddings.word_embeddings.weight"][ids] + w["embeddings.token_type_embeddings.weight"][0]
    x = norm("embeddings.LayerNorm", x + w["embeddings.position_embeddings.weight"][: len(ids)])
    for layer in range(CONFIG["num_hidden_layers"]):
        base = f"encoder.layer.{layer}."
        query, key, value = (
            linear(f"{base}attention.self.{part}", x).reshape(len(ids), 2, 4).transpose(1, 0, 2)
            for part in ("query", "key", "value")
        )
        scores = np.exp(query @ key.transpose(0, 2, 1) / 2)
        seen = (scores / scores.sum(-1, keepdims=True)) @ value
        seen = linear(f"{base}attention.output.dense", seen.transpose(1, 0, 2).reshape(len(ids), 8))
        x = norm(f"{base}attention.output.LayerNorm", seen + x)
        inner = linear(f"{base}intermediate.dense", x)
        inner = inner * (1 + np.vectorize(erf)(inner / np.sqrt(2))) / 2
        x = norm(f"{base}output.LayerNorm", linear(f"{base}output.dense", inner) + x)
    return x


def ids_of(text: str) -> list[int]:
    words = text.lower().replace("?", " ?").split()
    numbers = [WORDS.index(word) if word in WORDS else 1 for word in words]
    return [2, *numbers[:7], 3]


def as_unit(vector: Any) -> Any:
    return vector / np.linalg.norm(vector)


def test_a_text_is_the_mean_of_its_tokens_whatever_it_is_embedded_with(folder: Path):
    embedder = load(f"onnx:{folder}")
    expected = [as_unit(hidden_states(ids_of(text)).mean(0)) for text in TEXTS]
    assert np.allclose(embedder.embed(TEXTS), expected, atol=1e-4)
    assert np.allclose(np.vstack([embedder.embed([text]) for text in TEXTS]), expected, atol=1e-4)


def test_more_texts_than_a_batch_come_back_in_their_order(folder: Path):
    embedder = load(f"onnx:{folder}")
    texts = [" ".join(WORDS[4 + k % 7 :]) for k in range(80)]
    alone = {text: embedder.embed([text])[0] for text in set(texts)}
    assert np.allclose(embedder.embed(texts), [alone[text] for text in texts], atol=1e-5)
    assert embedder.embed([]).shape[0] == 0


def test_what_the_model_does_not_know_is_zeros(folder: Path):
    vectors = load(f"onnx:{folder}").embed(["", " ", "xyz", "lock", "lock " * 10_000])
    assert [bool(row.any()) for row in vectors] == [False, False, False, True, True]


def test_the_pooling_of_the_folder_counts(folder: Path):
    (folder / "1_Pooling").mkdir()
    (folder / "1_Pooling" / "config.json").write_text('{"pooling_mode_cls_token": true}')
    expected = as_unit(hidden_states(ids_of(TEXTS[0]))[0])
    assert np.allclose(load(f"onnx:{folder}").embed(TEXTS[:1])[0], expected, atol=1e-4)


def test_a_model_of_one_vector_for_a_text_is_taken_as_it_is(folder: Path):
    graph = Graph({}, 0.0)
    counts = graph.node("Cast", "input_ids", to=1)
    graph.node("ReduceSum", counts, graph.constant(np.array([1])), keepdims=1, output="sentence_embedding")
    ids = [("input_ids", "int64", ("texts", "tokens"))]
    data = graph.file(ids, [("sentence_embedding", "float32", ("texts", 1))])
    (folder / "model.onnx").write_bytes(data)
    assert load(f"onnx:{folder}").embed(["a lock"]).tolist() == [[1.0]]


def test_the_name_changes_with_the_model_and_not_with_the_path(folder: Path, tmp_path: Path):
    copy = tmp_path / "copy" / "tiny"
    shutil.copytree(folder, copy)
    first = Onnx(str(folder)).name
    assert Onnx(str(copy)).name == first
    assert first.startswith("onnx:tiny@")
    (copy / "model.onnx").write_bytes(bert({k: v * 2 for k, v in weights().items()}, CONFIG))
    assert Onnx(str(copy)).name != first


def test_the_layout_of_published_models_is_found(folder: Path):
    (folder / "onnx").mkdir()
    (folder / "model.onnx").rename(folder / "onnx" / "model.onnx")
    assert load(f"onnx:{folder}").embed(["a lock"]).shape == (1, 8)


def other_input() -> bytes:
    graph = Graph({}, 0.0)
    graph.node("Identity", "pixels", output="y")
    return graph.file([("pixels", "float32", ("n", 3))], [("y", "float32", ("n", 3))])


def no_number() -> bytes:
    return bert({name: array * np.nan for name, array in weights().items()}, CONFIG)


@pytest.mark.parametrize(
    ("file", "content", "message"),
    [
        ("model.onnx", None, "no model.onnx in this folder: expected model.onnx .* and tokenizer.json"),
        ("tokenizer.json", None, "no tokenizer.json in this folder: expected model.onnx"),
        ("model.onnx", b"not a model", "model.onnx: cannot be used: .*: expected a sentence model in ONNX"),
        ("tokenizer.json", b"{}", "tokenizer.json: cannot be used: .*: expected a tokenizer.json"),
        ("model.onnx", other_input(), "takes the input 'pixels': expected a model of input_ids"),
        ("model.onnx", no_number(), "model.onnx: gave 1 x 8 numbers: expected one row of finite numbers"),
    ],
)
def test_a_folder_that_cannot_be_used_says_what_was_expected(folder, file, content, message):
    if content is None:
        (folder / file).unlink()
    else:
        (folder / file).write_bytes(content)
    with pytest.raises(BadUsage, match=message) as caught:
        load(f"onnx:{folder}")
    assert str(folder) in str(caught.value)


def test_a_folder_that_is_not_there_says_so(tmp_path: Path):
    with pytest.raises(BadUsage, match=r"away: no such folder: expected model\.onnx"):
        load(f"onnx:{tmp_path}/away")


@pytest.mark.parametrize("package", ["onnxruntime", "tokenizers"])
def test_without_the_extra_the_command_that_installs_it_is_told(folder: Path, monkeypatch, package: str):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingExtra, match=rf"'{package}': pip install -e '\.\[meaning\]' in the clone"):
        load(f"onnx:{folder}")


def test_nothing_is_written_about_the_user_by_the_library(folder: Path, tmp_path: Path):
    home = tmp_path / "home"
    home.mkdir()
    code = f"from ethogram.chat.embeddings.base import load; load('onnx:{folder}').embed(['a lock'])"
    places = {"HOME": str(home), "XDG_CACHE_HOME": str(home)}
    environment = {key: value for key, value in os.environ.items() if key != "ORT_DISABLE_TELEMETRY"}
    subprocess.run([sys.executable, "-c", code], env=environment | places, check=True)
    assert not [path for path in home.rglob("*") if path.is_file()]
