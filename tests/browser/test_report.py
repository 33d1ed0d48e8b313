"""The page of figures in a real browser."""

from __future__ import annotations

import pytest

from helpers.toy_figure import FIGURE, plot
from planaris.experiments.figure import Result
from planaris.report.page import render_page, write_page
from planaris.report.parts import Panels, Picture, Section, Table, Verdict
from planaris.report.pictures import new_figure

HOSTILE = "<script>document.title='owned'</script><img src=x onerror=\"document.title='owned'\">&"
LONG = "unbreakable" * 40


def section(name="toy", panels=None, done=2, total=2, text="A toy"):
    results = [Result({"seed": seed}, {"eigenvalues": [seed]}) for seed in range(2)]
    command = f"planaris reproduce {text}"
    return Section(
        name, text, text, text, command, done, total, panels or plot(results), problems=[text]
    )


def hostile_panels():
    figure, axes = new_figure(size=3)
    axes[0, 0].text(0, 0.5, HOSTILE, in_layout=False)
    return Panels(
        [Picture(HOSTILE, figure)],
        [Table(HOSTILE, [HOSTILE], [[HOSTILE], [LONG]])],
        [Verdict(HOSTILE, HOSTILE, None)],
        [HOSTILE, LONG],
    )


def wide_panels():
    figure, _ = new_figure(1, 4, size=4)
    return Panels(
        [Picture("wide", figure)], [Table("t", list("abcdefghijkl"), [["xxxxxxxx"] * 12])]
    )


@pytest.fixture(scope="module")
def url(tmp_path_factory):
    sections = [
        section(FIGURE.name),
        section("partial", done=1, total=7),
        section("wide", wide_panels()),
        section("hostile " + HOSTILE, hostile_panels(), text=HOSTILE + LONG),
    ]
    facts = {"machine": HOSTILE, "other": LONG}
    page = tmp_path_factory.mktemp("report") / "index.html"
    write_page(page, render_page(HOSTILE, sections, intro=HOSTILE, facts=facts))
    return page.as_uri()


@pytest.mark.parametrize(("width", "dark"), [(1280, False), (390, False), (390, True)])
def test_every_picture_is_drawn_and_nothing_overflows(visit, url, width, dark):
    with visit(url, width=width, dark=dark) as seen:
        assert seen.overflow() == 0
        pictures = seen.page.locator("figure svg")
        assert pictures.count() == 4
        for picture in pictures.all():
            box = picture.bounding_box()
            assert box["width"] > 200
            assert box["height"] > 100
        for summary in seen.page.locator("summary").all():
            summary.click()
        assert seen.overflow() == 0


def test_nothing_is_loaded_and_every_link_leads_somewhere(visit, url):
    with visit(url) as seen:
        assert [address for address in seen.requests if not address.startswith("data:")] == [url]
        assert seen.broken_links() == []
        seen.page.locator("#toy a", has_text="how to make").click()
        assert seen.page.url == f"{url}#toy-command"
        assert "planaris reproduce" in seen.page.locator(":target").inner_text()


def test_ids_are_unique(visit, url):
    with visit(url) as seen:
        ids = seen.page.evaluate("[...document.querySelectorAll('[id]')].map(e => e.id)")
        assert len(ids) == len(set(ids))


def test_hostile_strings_are_only_text(visit, url):
    with visit(url) as seen:
        assert seen.page.title() == HOSTILE
        assert seen.page.locator("script").count() == 0
        assert seen.page.locator("img").count() == 0
        assert seen.page.locator("h1").inner_text() == HOSTILE
        assert HOSTILE in seen.page.locator("figure svg").last.text_content()


def test_an_incomplete_figure_says_so(visit, url):
    with visit(url) as seen:
        assert "1 of 7 trials" in seen.page.locator("#partial p.partial").inner_text()
        assert seen.page.locator("#toy p.partial").count() == 0


def test_text_shows_on_dark_pages(visit, url):
    with visit(url, dark=True) as seen:
        colour = "e => getComputedStyle(e).fill"
        assert seen.page.locator("#toy svg text").first.evaluate(colour) == "rgb(228, 232, 236)"
