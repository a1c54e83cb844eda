"""`ethogram signals lexicon` lists categories."""

from __future__ import annotations

import json

from ethogram.cli.main import main


def test_categories_are_listed_with_what_was_measured(capsys):
    assert main(["signals", "lexicon", "--json"]) == 0
    records = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    coup = next(record for record in records if record["name"] == "illegitimate_power")
    assert coup["trait"] == "hard_constraint"
    assert coup["sampled"] == 20
    assert len({record["lexicon"] for record in records}) == 1
