"""Runs on the page: a table, lanes that say what each cell is, nothing that is obeyed or loaded."""

from __future__ import annotations

import os
import re
from html.parser import HTMLParser

import pytest

from agent_runs import Maker, analyzed_runs, four_failing_edits
from browser import browser, chromium
from ethogram.report.html import page
from waiting import PATIENCE_SECONDS

HOSTILE = "<img src=https://example.com/x onerror=alert(1)>"


def many() -> list[dict]:
    """Four runs: two with detections, one of them long and hostile, and two quiet ones."""
    long = Maker(f"long {HOSTILE}", subject=f"agent {HOSTILE}")
    long.says(HOSTILE)
    for index in range(300):
        error = HOSTILE if index % 40 > 30 else ""
        long.did("edit", path=f"/app/{HOSTILE}/{index % 5}/f.py", error=error)
    quiet = [Maker("quiet-1"), Maker("quiet-2")]
    for one in quiet:
        one.did("read", path="a.py")
    return [*four_failing_edits(), *long.lines, *(line for one in quiet for line in one.lines)]


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> str:
    analysis, runs = analyzed_runs(tmp_path_factory.mktemp("runs"), many())
    return page(analysis, runs=runs)


class Seen(HTMLParser):
    """The tags of a page with their attributes, and those that are not closed."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in ("meta", "link", "br", "input"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_it_tells_each_run_with_its_stretches(made):
    for part in (
        "4 runs, 2 with detections",
        "run-1",
        "quiet-2",
        "Steps 3 to 6 (4 of 9 steps",
        "from step 5",
    ):
        assert part in made
    assert re.search(r"<title>parse\.py, step 3: failed</title>", made)
    assert re.search(r'aria-label="parse\.py: 4 failed, 1 changed, 2 read"', made)


def test_no_name_is_obeyed_and_links_lead_somewhere(made):
    seen = Seen(made)
    assert not seen.open
    assert "img" not in {tag for tag, _ in seen.tags}
    ids = {told["id"] for _, told in seen.tags if "id" in told}
    links = [
        told["href"] for tag, told in seen.tags if tag == "a" and (told["href"] or "").startswith("#run-")
    ]
    assert len(links) == 2
    assert {link[1:] for link in links} <= ids
    assert "style=" not in made


def test_it_is_the_same_every_time(made, tmp_path):
    analysis, runs = analyzed_runs(tmp_path, many())
    assert page(analysis, runs=runs) == made


def test_without_runs_nothing_is_said_of_them(tmp_path):
    talk = Maker()
    talk.says("Hello.")
    analysis, runs = analyzed_runs(tmp_path, talk.lines)
    assert 'id="runs"' not in page(analysis, runs=runs)


def test_quiet_runs_are_listed_where_nothing_was_found(tmp_path):
    one = Maker("only")
    one.did("read", path="a.py")
    analysis, runs = analyzed_runs(tmp_path, one.lines)
    said = page(analysis, runs=runs)
    assert "1 run, 0 with detections" in said
    assert "<details" not in said


# --- in a real browser ------------------------------------------------------------------------

in_browser = pytest.mark.skipif(
    chromium() is None and os.environ.get("CI") != "true", reason="no chromium: run tools/servers.sh as root"
)


@pytest.fixture(scope="module")
def started():
    with browser() as one:
        yield one


@pytest.fixture
def opened(started, made, tmp_path, request):
    """The page, opened as the test asks; it must load nothing and complain about nothing."""
    path = tmp_path / "report.html"
    path.write_text(made, encoding="utf-8")
    context = started.new_context(**getattr(request, "param", {"viewport": {"width": 1000, "height": 800}}))
    context.set_default_timeout(PATIENCE_SECONDS * 1000)
    one, complaints = context.new_page(), []
    one.on("console", lambda message: complaints.append(message.text))
    one.on("pageerror", lambda error: complaints.append(str(error)))
    one.on("request", lambda asked: asked.url.startswith(("file:", "data:")) or complaints.append(asked.url))
    one.goto(path.as_uri())
    yield one
    context.close()
    assert not complaints


@in_browser
def test_a_run_is_folded_by_keyboard(opened):
    summary = opened.locator("#run-0 > summary")
    lane = opened.locator("#run-0 .paths svg").first
    assert lane.is_visible()
    summary.focus()
    opened.keyboard.press("Enter")
    assert not lane.is_visible()
    opened.keyboard.press("Enter")
    assert lane.is_visible()


@in_browser
def test_cells_are_drawn_and_stay_inside_their_lane(opened):
    boxes = opened.evaluate(
        """() => [...document.querySelectorAll('.paths .plot')].flatMap((plot) => {
            const own = plot.getBoundingClientRect();
            return [...plot.querySelectorAll('rect')].map((cell) => {
                const box = cell.getBoundingClientRect();
                return [box.width, box.height, box.left - own.left, own.right - box.right];
            });
        })"""
    )
    assert len(boxes) > 100
    for width, height, left, right in boxes:
        assert width > 0.5
        assert height > 1
        assert left > -1
        assert right > -1


@in_browser
@pytest.mark.parametrize(
    "opened",
    [
        {"viewport": {"width": width, "height": 700}, "color_scheme": scheme}
        for width in (360, 720, 1000)
        for scheme in ("light", "dark")
    ],
    indirect=True,
)
def test_no_width_makes_it_scroll_sideways_and_marks_are_seen(opened):
    assert not opened.evaluate("document.documentElement.scrollWidth > window.innerWidth")
    fill = "(one) => getComputedStyle(document.querySelector('.key .' + one)).fill"
    colours = [opened.evaluate(fill, mark) for mark in ("failed", "changed", "did")]
    assert len(set(colours)) == 3
    assert "rgb(0, 0, 0)" not in colours


@in_browser
@pytest.mark.parametrize("opened", [{"java_script_enabled": False}], indirect=True)
def test_without_scripts_it_is_all_there(opened):
    assert opened.locator("#runs tbody tr").count() == 4
    opened.locator("#runs a").first.click()
    assert opened.url.endswith("#run-0")


@in_browser
def test_runs_are_narrowed_with_the_rest(opened):
    def shown() -> tuple[int, int]:
        rows, told = (opened.locator(f"{one}:visible") for one in ("#runs tbody tr", "details.run"))
        return rows.count(), told.count()

    assert shown() == (4, 2)
    opened.select_option("[name=subject]", label="fixer")
    # Only the run of that agent: not the other one, nor those in which nothing was found.
    assert shown() == (1, 1)
    assert "run-1" in opened.locator("#runs tbody tr:visible").inner_text()
    for severity in opened.locator("[name=severity]").all():
        severity.uncheck()
    assert shown() == (0, 0)
    opened.click("[type=reset]")
    opened.wait_for_function("document.querySelector('output').textContent === ''")
    assert shown() == (4, 2)
    assert opened.locator(".stretch[hidden]").count() == 0
