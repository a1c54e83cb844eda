"""The page is whole by itself, the same every time, and no name in it is obeyed."""

from __future__ import annotations

import html
import re
from dataclasses import replace
from html.parser import HTMLParser

import pytest

from ethogram.models.mute import Mute, mute_id
from ethogram.report.coverage import Coverage
from ethogram.report.html import page
from reports import NOW, analyzed
from small import turns, warm_messages

HOSTILE = [
    "<script>alert(1)</script>",
    "\"' onload='alert(1)' x=\"",
    "</svg></title></style></script><img src=x onerror=alert(1)>",
    "ann\u202egpj.exe\u2066\u200f",
    "javascript:alert(1)",
    "&lt;b&gt;",
    "a\x00b\x1b[2Jc\nd",
    "\ud800 half",
    "x" * 10_000,
]


class Seen(HTMLParser):
    """The tags and attributes of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))


def test_it_tells_the_detection_its_evidence_and_what_was_quiet(tmp_path):
    said = page(analyzed(tmp_path, warm_messages()), Coverage(no_match={"run": ["loop"]}, notes=["a note"]))
    for part in ("1 detection", "4 events of 1 subject", "Love bombing", "ann → bo", "ann-4"):
        assert part in said
    for part in ("ann was warm to bo 3 times, then pressed (0.80).", "What to do", "loop", "a note"):
        assert part in said
    assert said.count('class="point"') == 4
    assert "<polyline" in said


def test_it_asks_nobody_for_anything(tmp_path):
    said = page(analyzed(tmp_path, warm_messages()))
    for tag, attributes in Seen(said).tags:
        for name in ("src", "href", "action", "data", "srcset", "poster"):
            target = attributes.get(name)
            assert target is None or target.startswith(("#", "data:,")), (tag, target)
    assert not re.search(r"@import|url\((?!#)|https?:|fetch\(|XMLHttp", said)
    assert re.search(r"default-src 'none'; style-src 'sha256-[^']+'; script-src 'sha256-[^']+'", said)
    assert "style=" not in said
    assert not re.search(r"<[a-z]+[^>]* on[a-z]+=", said)


@pytest.mark.parametrize("name", HOSTILE, ids=range(len(HOSTILE)))
def test_no_name_is_obeyed(tmp_path, name):
    analysis = analyzed(tmp_path, warm_messages())
    (one,) = analysis.detections
    evidence = tuple(
        replace(each, step=name, event=name, readings={name: name}, excerpt=name) for each in one.evidence
    )
    hostile = replace(
        one, id=name, subject=name, target=name, pattern=name, title=name, version=name, scorer=name,
        explanation=name, recommendation=name, history={name: name}, details={name: name}, evidence=evidence,
    )  # fmt: skip
    plain = page(analysis)
    said = page(replace(analysis, detections=(hostile,)), Coverage(no_match={name: [name]}, notes=[name]))
    said.encode("utf-8")
    kinds = {tag for tag, _ in Seen(said).tags}
    assert kinds <= {tag for tag, _ in Seen(plain).tags} | {"dl", "dt", "dd", "ul", "li"}
    assert [tag for tag, _ in Seen(said).tags].count("script") == 1
    assert not re.search("[\u202a-\u202e\u2066-\u2069\u200f\x00\x1b]", said)
    assert len(said) < len(plain) + 60_000


def test_the_same_analysis_gives_the_same_page(tmp_path):
    assert page(analyzed(tmp_path, warm_messages())) == page(analyzed(tmp_path, warm_messages()))


def test_a_thousand_detections_are_less_than_five_megabytes(tmp_path):
    events = [event for n in range(1_000) for event in warm_messages(f"subject-{n:04d}")]
    analysis = analyzed(tmp_path, events)
    assert len(analysis.detections) == 1_000
    said = page(analysis)
    assert len(said.encode()) < 5_000_000
    assert said.count('class="subject"') == 30
    assert "970 further histories with detections, not drawn" in said


def test_one_subject_with_a_thousand_detections_is_drawn_in_part_and_listed_whole(tmp_path):
    analysis = analyzed(tmp_path, warm_messages())
    (one,) = analysis.detections
    evidence = tuple(replace(one.evidence[0], event=f"e-{n}") for n in range(22))
    many = tuple(replace(one, id=f"{n:020x}", evidence=evidence) for n in range(1_000))
    said = page(replace(analysis, detections=many))
    assert len(said.encode()) < 5_000_000
    assert said.count("<article") == 1_000
    assert "960 more in the list" in said


def test_events_without_times_are_told_by_number(tmp_path):
    events = [
        {key: value for key, value in one.items() if key != "at"} for one in turns("a", [0.9] * 40, [1] * 40)
    ]
    said = page(analyzed(tmp_path, events))
    assert ">no. 10<" in said
    assert "1970" not in said


def test_nothing_found_is_a_page_too(tmp_path):
    said = page(analyzed(tmp_path, turns("a", [0.1, 0.1], [1, 2])))
    assert "No detections" in said
    assert "Insufficient data" in said
    assert "There are no events in this input." in page(analyzed(tmp_path, []))


def test_what_is_muted_is_counted_and_shown_only_where_asked_for(tmp_path):
    asks = {"subject": "ann"}
    known = Mute(mute_id(asks), "agreed <b>", **asks)
    gone = Mute("m-old", "was so once", pattern="hot*", until=NOW)
    analysis = analyzed(tmp_path, warm_messages(), mutes=[known, gone])
    said = page(analysis)
    assert "No detections" in said
    assert "1 further detection muted" in said
    assert html.escape("agreed <b>") in said
    assert "expired 2026-06-01 00:00" in said
    assert "<article" not in said
    shown = page(analysis, muted=True)
    assert shown.count("<article") == 1
    assert f"muted by</span> {known.id}" in shown


def test_excerpts_are_there_only_where_asked_for_and_masked(tmp_path):
    events = [{**one, "text": "write to ann@example.com"} for one in warm_messages()]
    assert "write to" not in page(analyzed(tmp_path, events))
    said = page(analyzed(tmp_path, events, excerpts=True))
    assert "write to [e-mail]" in said
    assert "ann@example.com" not in said


def test_what_an_untrusted_file_mutes_is_listed(tmp_path):
    asks = {"subject": "ann"}
    planted = Mute(mute_id(asks), "trust me <b>", **asks, untrusted="ethogram.mutes.yaml")
    said = page(analyzed(tmp_path, warm_messages(), mutes=[planted]))
    assert "Muted by an untrusted file" in said
    assert "Hidden by ethogram.mutes.yaml, which is not trusted" in said
    assert "<li>HIGH  Love bombing, ann (warm_then_cold; id " in said
    assert f"muted by {planted.id})</li>" in said


def test_an_analysis_is_short_in_a_prompt_and_a_page_in_a_notebook(tmp_path):
    analysis = analyzed(tmp_path, warm_messages("<b>ann</b>"))
    assert repr(analysis) == (
        "<Analysis: 1 detection (1 high) in 4 events of 1 subject, as of 2026-01-04 12:00 UTC.>"
    )
    shown = analysis._repr_html_()
    ((tag, attributes),) = Seen(shown).tags
    assert (tag, attributes["sandbox"]) == ("iframe", None)
    assert attributes["srcdoc"] == page(analysis)
    assert 'class="point"' in attributes["srcdoc"]
