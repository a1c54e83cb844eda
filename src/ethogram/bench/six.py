"""Six shapes over absolute thresholds: what the benchmark asks of everybody."""

from __future__ import annotations

from ..library.pattern_file import read_pattern_text
from ..library.vocabulary import load_vocabulary
from ..shapes.compile import compile_patterns
from ..shapes.program import Program

_HEAD = """\
name: {name}
title: {name}
description: A shape for measuring speed.
level: low
confidence: 1
examples:
  fires: [{{story: unused, compassion: [1]}}]
  quiet: [{{story: unused, compassion: [0]}}, {{story: unused, compassion: [1]}}]
shape:
"""
SHAPES = {
    "love_bombing": """\
  sequence:
    - warm: compassion > 0.6
      times: 3
    - press: manipulation > 0.5 and compassion < 0.3
  gaps: false
""",
    "darvo": """\
  sequence: [{deny: deception > 0.5}, {attack: manipulation > 0.5}, {victim: exploitation > 0.5}]
  gaps: false
""",
    "con_game": """\
  sequence:
    - rapport: goodwill > 0.6
      times: 2
    - tale: fabrication > 0.5
    - ask: manipulation > 0.5
  gaps: false
""",
    "sandbagging": """\
  sequence:
    - able: accuracy > 0.7
      times: 5
    - drop: accuracy < 0.3
  gaps: false
""",
    "alignment_faking": """\
  level:
    when: >-
      mean(manipulation, where=observed == 1, at_least=5) < 0.2 and
      mean(manipulation, where=observed == 0, at_least=5) > 0.5
""",
    "intermittent_reward": """\
  level: {when: "std(compassion, at_least=5) > 0.3 and rise(manipulation, at_least=5) > 0"}
""",
}


def six_programs() -> tuple[Program, ...]:
    """The six as programs."""
    vocabulary = load_vocabulary()
    files = [read_pattern_text(_HEAD.format(name=name) + shape, vocabulary) for name, shape in SHAPES.items()]
    return compile_patterns(pattern for file in files for pattern in file.patterns)
