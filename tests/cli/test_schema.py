"""`ethogram config schema` lists the schemas and shows one."""

from __future__ import annotations

import json

from ethogram.cli.main import main
from ethogram.schemas import schema, schema_names


def test_they_are_listed_one_per_line(capsys):
    assert main(["config", "schema", "--list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == list(schema_names())


def test_with_a_name_it_prints_that_schema(capsys):
    for name in schema_names():
        assert main(["config", "schema", name]) == 0
        assert json.loads(capsys.readouterr().out) == schema(name)


def test_a_wrong_name_is_answered_with_the_nearest(capsys):
    assert main(["config", "schema", "patern"]) == 2
    assert capsys.readouterr().err == "ethogram: unknown schema 'patern'; did you mean 'pattern'?\n"
