"""Beside the signals of a person: the service's own helpline, and scores of what was said."""

from __future__ import annotations

from tests.cli.test_usage import ANN, LATER, folder, recorded, records, run  # noqa: F401 (fixtures)

from settings_files import trusted_settings

AT = ("--store", "usage.db", "--as-of", LATER)
SETTINGS = """usage:
  region: DE
  helplines: {DE: "Ruf an", US: "Call", default: "Ask"}
  weights: {text: 0.6}
"""


def test_the_helpline_of_the_region_is_shown_to_staff(recorded, capsys):  # noqa: F811
    trusted_settings(recorded, SETTINGS)
    run("usage", "signals", ANN, *AT)
    assert capsys.readouterr().out.endswith("To offer (DE): Ruf an\n")
    run("usage", "signals", ANN, *AT, "--region", "US-CA", "--json")
    assert records(capsys)[0]["helpline"] == {"region": "US", "text": "Call"}
    run("usage", "sweep", *AT, "--region", "FR")
    assert capsys.readouterr().out.endswith("To offer (default): Ask\n")


def test_nothing_is_offered_where_nothing_was_found_or_nothing_is_set(recorded, capsys):  # noqa: F811
    run("usage", "signals", ANN, *AT)
    assert "To offer" not in capsys.readouterr().out
    trusted_settings(recorded, SETTINGS)
    run("usage", "signals", "nobody", *AT)
    assert "To offer" not in capsys.readouterr().out


def test_scores_of_what_was_said_are_put_together_with_the_behaviour(recorded, capsys):  # noqa: F811
    trusted_settings(recorded, SETTINGS)
    run("usage", "signals", ANN, *AT, "--score", "text=0.5", "--json")
    (told,) = records(capsys)
    # text .6 of the settings and behaviour .2: three quarters and one quarter.
    assert told["fused"]["weights"] == {"text": 0.75, "behaviour": 0.25}
    right = 0.75 * 0.5 + 0.25 * told["behavioral_score"]
    assert abs(told["fused"]["score"] - right) < 1e-5
    run("usage", "signals", ANN, *AT, "--score", "text=0", "--crisis", "0.8")
    assert "no other score can lower that" in capsys.readouterr().out


def test_behaviour_of_somebody_unknown_is_absent_and_not_nought(recorded, capsys):  # noqa: F811
    run("usage", "signals", "nobody", *AT, "--score", "text=0.5", "--json")
    assert records(capsys)[0]["fused"]["score"] == 0.5


def test_bad_scores_are_told_before_anybody_is_looked_at(recorded, capsys):  # noqa: F811
    for bad in ("text=high", "text=2", "smell=0.1", "behaviour=0.5"):
        run("usage", "signals", ANN, *AT, "--score", bad, code=2)
    run("usage", "signals", ANN, *AT, "--region", "germany", code=2)
    assert "expected a code such as DE or US-CA" in capsys.readouterr().err
    run("usage", "audit", "--store", "usage.db", "--json")
    assert not [one for one in records(capsys) if one["what"] == "signals"]
