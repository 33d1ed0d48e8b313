from __future__ import annotations

from functools import cache
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers.trials import examples
from planaris.report.machine import describe_machine
from planaris.report.page import anchor, render_page, write_page
from planaris.report.parts import Panels, Picture, Section, Table, Verdict
from planaris.report.pictures import DOWN, new_figure
from planaris.report.svg import to_svg

ALLOWED = """
html head meta link title style body header h1 p nav table thead tbody tr th td a span main section
h2 h3 div ul li figure figcaption svg details summary code footer dl dt dd
"""


class Tags(HTMLParser):
    def __init__(self):
        super().__init__()
        self.tags, self.attributes, self.text = set(), set(), []

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}

    def handle_data(self, data):
        self.text.append(data)


def parse(html):
    tags = Tags()
    tags.feed(html)
    return tags


text = st.text() | st.sampled_from(["<script>x</script>", '"><img onerror=x>', "</style>", "']]>"])


@given(text, text)
def test_whatever_is_given_only_becomes_text(one, two):
    panels = Panels(
        tables=[Table(one, [two], [[one], [None], [1.0], [True]])],
        verdicts=[Verdict(one, two, holds) for holds in (True, False, None)],
        notes=[two],
    )
    section = Section(one, two, one, two, one, 1, 2, panels, problems=[two])
    page = parse(render_page(one, [section], intro=two, facts={one: two}))
    assert page.tags <= set(ALLOWED.split())
    assert not {name for name in page.attributes if name.startswith("on")}


@cache
def picture():
    return new_figure(size=1)[0]


@examples(90)
@given(text)
def test_labels_of_pictures_only_become_text(label):
    svg = to_svg(picture(), "p", label)
    assert not parse(svg).tags & {"script", "img"}


def test_colours_and_ids_of_a_picture():
    figure, axes = new_figure(size=2)
    axes[0, 0].set_title('id="x" #000000 url(#x)')
    svg = to_svg(figure, "first", "label")
    assert svg.count("#000000") == 1, "in the text alone"
    assert 'id="x" #000000 url(#x)' in svg.replace("&quot;", '"')
    assert 'id="first-' in svg
    assert to_svg(figure, "first", "label") == svg


def test_no_section_is_a_page_too():
    assert "<table>" in render_page("nothing", [], facts=None)


def test_a_broken_picture_leaves_the_old_page(tmp_path):
    path = tmp_path / "index.html"
    write_page(path, "old")
    with pytest.raises(UnicodeEncodeError):
        write_page(path, "new \ud800")
    assert path.read_text() == "old"
    assert [file.name for file in tmp_path.iterdir()] == ["index.html"]
    write_page(path, "new")
    assert path.read_text() == "new"


def test_pictures_are_captioned():
    figure, _ = new_figure(size=1)
    section = Section("a", "t", "s", "c", "x", 1, 1, Panels([Picture("what it <shows>", figure)]))
    page = render_page("t", [section], facts=describe_machine())
    assert page.count("what it &lt;shows&gt;") == 2


def test_anchors():
    assert anchor("a b/c") == "a-b-c"
    assert anchor("<>") == "section"


def test_spins_that_are_down_have_the_colour_of_the_page():
    """Their blue is lost on a dark page, which has its own."""
    figure, axes = new_figure()
    axes[0, 0].plot([0, 1], [0, 1], color=DOWN)
    svg = to_svg(figure, "a", "a line")
    assert f"stroke: var(--down, {DOWN})" in svg
    assert f"stroke: {DOWN}" not in svg


def test_what_stands_between_backticks_is_code():
    verdict = Verdict("c", "m", None, rule="`a < b`", needs="`--data`")
    panels = Panels(verdicts=[verdict], notes=["`planaris demo`"])
    page = render_page("t", [Section("a", "A", "s", "c", "x", 1, 1, panels)], facts=None)
    for code in ("a &lt; b", "--data", "planaris demo"):
        assert f"<code>{code}</code>" in page
