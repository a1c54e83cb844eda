"""The page in a real browser: it loads nothing, and a point tells its event by mouse and by keyboard."""

from __future__ import annotations

import os

import pytest

from browser import browser, chromium
from ethogram.report.coverage import Coverage
from ethogram.report.html import page
from reports import analyzed
from small import turns, warm_messages
from waiting import PATIENCE_SECONDS

if chromium() is None and os.environ.get("CI") != "true":
    pytest.skip("no chromium: run tools/servers.sh as root, or set CHROMIUM", allow_module_level=True)

WIDTH = {"width": 1000, "height": 800}
PHONE = {"width": 360, "height": 640}
HOSTILE = "<img src=https://example.com/x onerror=alert(1)>"


@pytest.fixture(scope="module")
def started():
    with browser() as one:
        yield one


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    """A page with two subjects, three severities of detections and a hostile name."""
    folder = tmp_path_factory.mktemp("report")
    events = [
        *warm_messages(),
        *warm_messages(HOSTILE),
        *turns("hot", [0.9, 0.9, 0.99, 0.1, 0.9, 0.9], [1, 2, 3, 4, 5, 6]),
        *warm_messages("W" * 300),
    ]
    said = [{**one, "text": f"said in {one['id']}"[:90]} for one in events]
    path = folder / "report.html"
    analysis = analyzed(folder, said, excerpts=True, as_of="2026-01-20T00:00:00Z")
    path.write_text(page(analysis, Coverage(no_match={"run": ["loop"]})), encoding="utf-8")
    return path


class Opened:
    """The page in a browser that lets no request through, with what it complained about."""

    def __init__(self, started, report, *, viewport=WIDTH, **how) -> None:
        self.context = started.new_context(viewport=viewport, **how)
        self.context.set_default_timeout(PATIENCE_SECONDS * 1000)
        self.page = self.context.new_page()
        self.complaints: list[str] = []
        self.requests: list[str] = []
        self.page.on("console", lambda message: self.complaints.append(message.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("dialog", lambda dialog: (self.complaints.append("a dialog"), dialog.dismiss()))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.goto(report.as_uri())

    def __enter__(self):
        return self

    def __exit__(self, *_) -> None:
        self.context.close()
        asked = [url for url in self.requests if not url.startswith(("file:", "data:"))]
        assert not asked
        assert not self.complaints

    def shown(self, selector: str) -> int:
        return self.page.locator(selector).filter(visible=True).count()

    def is_too_wide(self) -> bool:
        return self.page.evaluate("document.documentElement.scrollWidth > window.innerWidth")


def test_it_loads_nothing_but_itself_and_complains_about_nothing(started, report):
    with Opened(started, report) as opened:
        assert opened.requests == [report.as_uri()] or set(opened.requests) <= {report.as_uri(), "data:,"}
        assert opened.shown(".subject") == 4
        assert opened.page.locator("img").count() == 0


def test_the_policy_stops_what_is_not_ours(started, report, tmp_path):
    changed = tmp_path / "changed.html"
    added = "<script>document.title='taken'</script><p style='color:red' id=red>x</p></body>"
    changed.write_text(report.read_text(encoding="utf-8").replace("</body>", added), encoding="utf-8")
    context = started.new_context()
    opened = context.new_page()
    opened.goto(changed.as_uri())
    assert opened.title() == "ethogram report"
    assert opened.evaluate("getComputedStyle(document.getElementById('red')).color") != "rgb(255, 0, 0)"
    context.close()


def test_a_click_on_a_point_shows_its_event(started, report):
    with Opened(started, report) as opened:
        assert opened.shown("#panel") == 0
        point = opened.page.locator("a.point[aria-label*='press'][aria-label*='ann-4']")
        point.click(force=True)
        told = opened.page.locator("#panel").inner_text()
        for part in (
            "Love bombing",
            "press",
            "ann-4",
            "2026-01-04 12:00",
            "manipulation 0.8",
            "said in ann-4",
        ):
            assert part in told
        opened.page.keyboard.press("Escape")
        assert opened.shown("#panel") == 0


def test_the_keyboard_is_enough(started, report):
    with Opened(started, report) as opened:
        first = opened.page.locator("a.point").first
        for _ in range(30):
            opened.page.keyboard.press("Tab")
            if first.evaluate("one => one === document.activeElement"):
                break
        assert opened.shown("#panel") == 1
        before = opened.page.locator("#said").inner_text()
        opened.page.keyboard.press("ArrowRight")
        assert opened.page.locator("#said").inner_text() != before
        opened.page.keyboard.press("Escape")
        opened.page.keyboard.press("Enter")
        assert opened.shown("#panel") == 1


def test_every_point_tells_its_own_event(started, report):
    with Opened(started, report) as opened:
        points = opened.page.locator("a.point")
        for index in range(points.count()):
            points.nth(index).focus()
            label = points.nth(index).get_attribute("aria-label")
            told = opened.page.locator("#panel dd").all_inner_texts()
            assert label.startswith(f"{told[0]}, {told[1]}, event {told[2][:20]}")


def test_chart_and_list_are_narrowed_together(started, report):
    with Opened(started, report) as opened:
        every = opened.shown("article")
        opened.page.select_option("[name=pattern]", "warm_then_cold")
        assert opened.shown("article") == opened.shown(".lane") == opened.shown(".subject") == 3
        opened.page.select_option("[name=subject]", label="ann")
        assert opened.shown("article") == opened.shown(".subject") == 1
        assert opened.page.locator("output").inner_text() == f"1 of {every} detections"
        opened.page.uncheck("[value=high]")
        assert opened.shown("article") == opened.shown(".subject") == 0
        opened.page.click("[type=reset]")
        opened.page.wait_for_function("document.querySelector('output').textContent === ''")
        assert opened.shown("article") == every


def test_without_scripts_everything_is_there(started, report):
    with Opened(started, report, java_script_enabled=False) as opened:
        assert opened.shown("#filters") == 0
        assert opened.shown("article") >= 4
        opened.page.locator("a.point").first.click(force=True)
        assert "#d-" in opened.page.url


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("viewport", [PHONE, {"width": 720, "height": 800}, WIDTH])
def test_no_width_makes_it_scroll_sideways(started, report, viewport, scheme):
    with Opened(started, report, viewport=viewport, color_scheme=scheme) as opened:
        assert not opened.is_too_wide()
        opened.page.locator("a.point").first.focus()
        assert not opened.is_too_wide()


def test_dark_is_dark_and_has_contrast(started, report):
    with Opened(started, report, color_scheme="dark") as opened:
        ink, paper = opened.page.evaluate(
            "(one => [one.color, one.backgroundColor])(getComputedStyle(document.body))"
        )
        assert brightness(ink) > 200 > 60 > brightness(paper)


def test_paper_is_white_and_has_no_controls(started, report):
    with Opened(started, report, color_scheme="dark") as opened:
        opened.page.locator("a.point").first.focus()
        opened.page.emulate_media(media="print")
        assert opened.shown("#filters") == opened.shown("#panel") == 0
        assert brightness(opened.page.evaluate("getComputedStyle(document.body).backgroundColor")) == 255
        assert brightness(opened.page.evaluate("getComputedStyle(document.body).color")) < 60
        assert opened.shown("article") >= 4
        assert opened.page.pdf().startswith(b"%PDF")


def brightness(colour: str) -> float:
    red, green, blue = (int(part) for part in colour.removeprefix("rgb(").rstrip(")").split(","))
    return (red + green + blue) / 3
