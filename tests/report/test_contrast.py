"""Colours of the report and the dashboard: every text is readable, light and dark (WCAG 2 AA)."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import ethogram

ROOT = Path(ethogram.__file__).parent
STYLES = sorted([*ROOT.glob("report/templates/*.css"), *ROOT.glob("service/static/*.css")])
ROOTS = re.findall(r":root\s*{([^}]*)}", (ROOT / "report/templates/style.css").read_text(encoding="utf-8"))
TEXTS = ("ink", "soft", "line", "low", "medium", "high", "critical")
BACKGROUNDS = ("paper", "card", "faint")
AA = 4.5


def colours(block: str) -> dict[str, str]:
    """The colours of a palette by name, six digits each."""
    found = dict(re.findall(r"--([a-z]+): #([0-9a-f]{3,6})", block))
    return {
        name: re.sub("(.)", r"\1\1", value) if len(value) == 3 else value for name, value in found.items()
    }


def luminance(colour: str) -> float:
    """The relative luminance of a colour, by WCAG 2.

    >>> luminance("000000"), luminance("ffffff")
    (0.0, 1.0)
    """
    shares = [int(colour[start : start + 2], 16) / 255 for start in (0, 2, 4)]
    linear = [share / 12.92 if share <= 0.04045 else ((share + 0.055) / 1.055) ** 2.4 for share in shares]
    red, green, blue = linear
    return round(0.2126 * red + 0.7152 * green + 0.0722 * blue, 9)


def contrast(one: str, other: str) -> float:
    """The contrast ratio of two colours.

    >>> contrast("ffffff", "000000"), round(contrast("777777", "ffffff"), 2)
    (21.0, 4.48)
    """
    dark, bright = sorted((luminance(one), luminance(other)))
    return (bright + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("palette", [0, 1], ids=["light", "dark"])
def test_every_text_is_readable_on_every_background(palette: int) -> None:
    assert len(ROOTS) == 3  # the last is that of printed pages
    known = colours(ROOTS[palette])
    # A tag has the colour of a card as text on that of its severity: the same pair.
    ratios = {(text, back): contrast(known[text], known[back]) for text in TEXTS for back in BACKGROUNDS}
    assert {pair: round(ratio, 2) for pair, ratio in ratios.items() if ratio < AA} == {}


@pytest.mark.parametrize("path", STYLES, ids=lambda path: path.name)
def test_every_colour_is_one_of_the_palette(path: Path) -> None:
    text = re.sub(r":root\s*{[^}]*}", "", path.read_text(encoding="utf-8"))
    values = {value.strip() for value in re.findall(r"(?<![-\w])(?:color|background):([^;}]+)", text)}
    assert {value for value in values if not re.match(r"var\(--|inherit|none|transparent", value)} == set()
