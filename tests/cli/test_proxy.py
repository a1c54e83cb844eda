"""`ethogram proxy` refuses what it cannot do before it listens."""

from __future__ import annotations

import pytest

from ethogram.cli.main import main


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--upstream", "ftp://example.org"], "upstream: invalid base_url"),
        (["--upstream", "http://example.org"], "use https"),
        (["--upstream", "https://example.org", "--mode", "refus"], "did you mean"),
        (["--upstream", "https://example.org", "--policy", "LOUD=refuse"], "invalid policy 'LOUD=refuse'"),
        (["--upstream", "https://example.org", "--fail", "never"], "expected open or closed"),
        (["--upstream", "https://example.org", "--host", "0.0.0.0"], "without API keys only this machine"),
        ([], "--upstream"),
    ],
)
def test_a_bad_option_is_explained(
    options: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["proxy", *options]) == 2
    assert message in capsys.readouterr().err
