"""How an embedder does on the conversations and questions of tests/chat/examined:

python -m benchmarks.embedder.examined static onnx:FOLDER
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

from benchmarks.quality.separation import area_of
from ethogram.chat.conversation import follow, start
from ethogram.chat.embeddings.harm_reader import reader_of
from ethogram.chat.records import Mode, Outcome

FOLDER = Path(__file__).parents[2] / "tests" / "chat" / "examined"
TALKS = {
    "slow, a": ("attacks_a", "harmless_a"),
    "slow, b": ("attacks_b", "harmless_b"),
    "short": ("short_attacks", "short_harmless"),
    "adaptive": ("adaptive_attacks", "adaptive_harmless"),
}


def outcomes(embedder: str, turns: list[dict[str, str]]) -> list[Outcome]:
    """The outcome of each turn of a conversation."""
    talk, found = start(), []
    for item in turns:
        talk, outcome = follow(talk, item["text"], item["role"], None, reader_of(embedder))
        found.append(outcome)
    return found


def risks(name: str, embedder: str = "static") -> list[float]:
    """The highest risk of each conversation of a file."""
    lines = (FOLDER / f"{name}.jsonl").read_text("utf-8").splitlines()
    return [max(item.risk for item in outcomes(embedder, json.loads(line)["turns"])) for line in lines]


def above_cautious(name: str, embedder: str = "static") -> float:
    """The share of the questions of a file that are above CAUTIOUS by themselves."""
    lines = [line for line in (FOLDER / f"{name}.txt").read_text("utf-8").splitlines() if line]
    texts = [line for line in lines if not line.startswith("#")]
    modes = [outcomes(embedder, [{"text": text, "role": "user"}])[0].mode for text in texts]
    return sum(mode > Mode.CAUTIOUS for mode in modes) / len(texts)


def main(embedder: str) -> None:
    """Print the figures of an embedder."""
    reader_of(embedder)
    print(embedder)
    for name, (attacks, harmless) in TALKS.items():
        print(f"  AUROC, {name}: {area_of(risks(attacks, embedder), risks(harmless, embedder)):.3f}")
    for part in "abc":
        safe, unsafe = (above_cautious(f"{kind}_{part}", embedder) for kind in ("safe", "unsafe"))
        print(f"  above CAUTIOUS, {part}: {safe:.1%} of safe questions, {unsafe:.1%} of unsafe ones")
    turns = [
        json.loads(line)["turns"] for line in (FOLDER / "attacks_b.jsonl").read_text("utf-8").splitlines()
    ]
    began = time.process_time()
    count = sum(len(outcomes(embedder, item)) for item in turns)
    print(f"  {(time.process_time() - began) / count * 1000:.1f} ms of CPU a turn")


if __name__ == "__main__":
    for embedder in sys.argv[1:]:
        main(embedder)
