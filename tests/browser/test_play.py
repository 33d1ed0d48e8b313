"""``planaris play`` in a real browser: what a visitor clicks, and what is said and drawn."""

from __future__ import annotations

import io
import re
import threading

import numpy as np
import pytest

from planaris.play import PlayServer
from planaris.play.workers import Workers

pillow = pytest.importorskip("PIL.Image")

SETTLED = ("exact", "interval", "error")


@pytest.fixture(scope="module")
def server():
    unhurried = {"answer_seconds": 1e6, "wait_seconds": 1e6}
    with PlayServer(workers=Workers(**unhurried), request_seconds=1e6) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


class Play:
    """The page with what a visitor does to it."""

    def __init__(self, seen) -> None:
        self.page, self.seen = seen.page, seen
        self.wait(1)

    @property
    def count(self) -> int:
        return int(self.page.get_attribute("#status", "data-count"))

    @property
    def state(self) -> str:
        return self.page.get_attribute("#status", "data-state")

    @property
    def said(self) -> str:
        return " | ".join(self.page.locator("#status p").all_inner_texts())

    def wait(self, count: int) -> str:
        """Wait for an answer; return whether it is exact, an interval or an error."""
        self.look(lambda: self.count >= count and self.state in SETTLED)
        return self.state

    def look(self, happened) -> None:
        """Look at the page again and again, as long as it takes."""
        while not happened():
            self.page.wait_for_timeout(25)

    def wait_for_text(self, text: str) -> str:
        """Wait until an answer says this, and is the last; return what kind it is."""
        self.look(lambda: self.state in SETTLED and text in self.said)
        return self.state

    def do(self, act) -> str:
        before = self.count
        act()
        return self.wait(before + 1)

    def show(self, view: str) -> str:
        return self.do(lambda: self.page.click(f"[data-view={view}]"))

    def slide(self, name: str, value: float) -> str:
        return self.do(lambda: self.page.locator(f"#{name}").fill(str(value)))

    def choose(self, name: str, value: str) -> str:
        return self.do(lambda: self.page.select_option(f"#{name}", value))

    def pixels(self) -> np.ndarray:
        """Return the picture as the visitor sees it, RGB."""
        picture = self.page.locator("#picture").screenshot()
        return np.asarray(pillow.open(io.BytesIO(picture)).convert("RGB"))

    def share(self, colour: str) -> float:
        """Return the share of the drawn pixels that have a colour."""
        pixels = self.pixels()
        wanted = [int(colour[k : k + 2], 16) for k in (1, 3, 5)]
        return float((np.abs(pixels.astype(int) - wanted).max(-1) < 6).mean())


@pytest.fixture
def play(visit, server):
    with visit(server.address) as seen:
        yield Play(seen)


UP, DOWN, BROKEN, WALL = "#f2efe6", "#2c4a6e", "#d1495b", "#00a0b4"


def test_a_click_through(play):
    assert play.seen.requests[0].startswith("http://127.0.0.1:")
    assert "certificate checked" in play.said
    assert "exact · planar" in play.said
    assert "201 frustrated faces" in play.said
    for colour in (UP, DOWN, BROKEN):
        assert play.share(colour) > 0.002
    assert play.share(WALL) == 0

    assert play.show("sample") == "exact"
    assert "at T = 1" in play.said
    assert "domain wall against the ground state" in play.page.inner_text("#legend")
    assert play.share(WALL) > 0.002
    first = play.said
    assert play.show("sample") == "exact"
    assert play.said != first  # another one

    before = play.share(WALL)
    assert play.slide("temperature", 0.5) == "exact"
    assert "at T = 3.16" in play.said
    assert play.share(WALL) > before

    assert play.show("marginals") == "exact"
    assert re.search(r"when spin \d+ is up", play.said)
    colours = {tuple(pixel) for pixel in play.pixels().reshape(-1, 3)[::97].tolist()}
    assert len(colours) > 10  # a heat map

    assert play.show("log-partition") == "exact"
    assert re.search(r"log Z = [\d.]+ ± [\de.-]+ at T = 3.16", play.said)

    assert play.show("domain-wall") == "exact"
    assert "the wall costs" in play.said
    assert play.share(WALL) > 0.001
    assert all(address.startswith(play.page.url) for address in play.seen.requests)


def test_sliders_change_the_model(play):
    assert play.slide("negative", 0) == "exact"
    assert "0 unsatisfied edges, 0 frustrated faces" in play.said
    assert play.share(BROKEN) == 0
    assert play.slide("size", 40) == "exact"
    assert "1600 spins" in play.said
    assert play.choose("disorder", "gaussian") == "exact"
    assert play.slide("negative", 1) == "exact"
    assert "unsatisfied" in play.said
    said = play.said
    play.do(lambda: play.page.click("#new-seed"))
    assert play.said != said


def test_fast_sliding_ends_at_the_last_value(play):
    for size in (10, 20, 30, 35):
        play.page.locator("#size").fill(str(size))
    play.page.locator("#size").fill("7")
    play.wait_for_text("49 spins")
    play.show("sample")
    assert "49 spins" in play.said  # no answer to an earlier question came after it


def spot(play, column: int, row: int, size: int = 24) -> dict[str, float]:
    """Return where a spin of a square lattice is drawn: it fills the height of the picture."""
    box = play.page.locator("#picture").bounding_box()
    spacing = min(box["width"], box["height"]) / (size - 1 + 1.8)
    return {
        "x": box["width"] / 2 + spacing * (column - (size - 1) / 2),
        "y": box["height"] / 2 + spacing * (row - (size - 1) / 2),
    }


def test_clicking_an_edge_turns_its_sign(play):
    play.slide("negative", 0)
    left, right = spot(play, 3, 5), spot(play, 4, 5)
    middle = {"x": (left["x"] + right["x"]) / 2, "y": left["y"]}
    play.do(lambda: play.page.locator("#picture").click(position=middle))
    assert "J(123, 124) = -1" in play.page.inner_text("#edits")
    assert "1 unsatisfied edge, 2 frustrated faces" in play.said
    play.do(lambda: play.page.click("#undo"))
    assert "0 unsatisfied edges, 0 frustrated faces" in play.said


def test_edges_that_cross_give_an_interval_or_another_method(play):
    picture = play.page.locator("#picture")

    def join(one, other):
        picture.click(position=spot(play, *one), modifiers=["Shift"])
        picture.click(position=spot(play, *other), modifiers=["Shift"])

    play.do(lambda: join((0, 0), (12, 12)))
    play.do(lambda: join((2, 0), (11, 13)))
    assert "2 edits" in play.page.inner_text("#edits")
    assert "not planar" in play.said
    assert "planar ·" not in play.said
    assert play.show("log-partition") == "exact"
    assert "on a surface of genus" in play.said
    assert re.search(r"edges left out: \[\d+\.\d+, \d+\.\d+\]", play.said)

    def set_edges():
        for u, v in ((5, 300), (40, 500), (77, 402), (9, 560)):
            play.page.locator("#edit-u").fill(str(u))
            play.page.locator("#edit-v").fill(str(v))
            play.page.click("#set-edge")

    set_edges()
    assert play.wait_for_text("1110 edges") == "interval"  # after answers to some of them
    assert re.search(r"interval \[[\d.]+, [\d.]+\]", play.said)
    play.do(lambda: play.page.click("#clear"))
    assert "exact · planar" in play.said


def test_join_works_by_touch(play):
    play.page.click("#join")
    play.page.locator("#picture").click(position=spot(play, 1, 1))
    play.do(lambda: play.page.locator("#picture").click(position=spot(play, 4, 7)))
    assert "J(25, 172) = -1" in play.page.inner_text("#edits")


def test_clicking_a_spin_holds_it(play):
    play.show("marginals")
    play.do(lambda: play.page.locator("#picture").click(position=spot(play, 2, 1)))
    assert "when spin 26 is up" in play.said


@pytest.mark.parametrize("kind", ["triangular", "honeycomb", "torus"])
def test_other_lattices(play, kind):
    play.slide("size", 8)
    assert play.choose("kind", kind) == "exact"
    assert play.share(UP) + play.share(DOWN) > 0.01
    for view in ("sample", "marginals", "log-partition"):
        assert play.show(view) == "exact"


def test_uploading_an_edge_list(play, tmp_path):
    play.choose("kind", "edges")
    assert "10 spins, 15 edges, not planar" in play.said  # there is an example
    assert "frustrated" not in play.said  # it has no faces
    assert "negative coupling" in play.page.inner_text("#legend")
    file = tmp_path / "k4.txt"
    file.write_text("ann bob 1\nbob cyd 1\ncyd ann 1\nann <b>dan</b> -1\nbob <b>dan</b> 1\n")
    play.do(lambda: play.page.set_input_files("#edge-file", file))
    assert "exact" in play.said
    assert "4 spins, 5 edges, planar" in play.said
    play.show("marginals")
    assert re.search(r"when spin \d \((ann|bob|cyd|<b>dan</b>)\) is up", play.said)
    assert play.share(WALL) < 0.002  # a ring around the spin, not around its neighbours
    assert play.page.locator("b").count() == 0
    play.show("ground-state")
    play.page.locator("#edge-text").fill("0 1 1\n1 2 1\n")
    play.do(lambda: play.page.click("#use-edges"))
    assert "3 spins, 2 edges, planar" in play.said


def test_what_is_refused_is_said_in_one_line(visit, server):
    with visit(server.address) as seen:
        play = Play(seen)
        play.choose("kind", "edges")
        play.page.locator("#edge-text").fill("0 0 1\n")
        assert play.do(lambda: play.page.click("#use-edges")) == "error"
        assert "two different vertices" in play.said
        play.page.locator("#edge-text").fill("0 1 1\n")
        assert play.do(lambda: play.page.click("#use-edges")) == "exact"
        assert all("422" in complaint for complaint in seen.complaints)  # chromium's own note
        seen.complaints.clear()


def test_uploading_an_image(play, tmp_path):
    levels = np.zeros((30, 40), dtype=np.uint8)
    levels[8:22, 10:30] = 255
    file = tmp_path / "box.png"
    pillow.fromarray(levels).save(file)
    play.choose("kind", "image")
    play.do(lambda: play.page.set_input_files("#image-file", file))
    assert "exact · graph-cut" in play.said
    assert "1200 spins" in play.said
    assert "planar couplings, with fields" in play.said
    assert "negative" not in play.page.inner_text("#legend")
    light, dark = play.share(UP), play.share(DOWN)
    shown = play.page.inner_text("#legend")
    assert "unsatisfied edge" in shown
    assert "domain wall" not in shown
    assert light / (light + dark) == pytest.approx(14 * 20 / 1200, abs=0.1)


@pytest.mark.parametrize(("width", "dark"), [(1280, False), (390, False), (390, True)])
def test_it_fits_the_window(visit, server, width, dark):
    with visit(server.address, width=width, dark=dark) as seen:
        play = Play(seen)
        for kind in ("square", "image", "edges"):
            play.choose("kind", kind) if kind != "square" else None
            assert seen.overflow() == 0
            box = seen.page.locator("#picture").bounding_box()
            assert box["width"] > 300
            assert box["height"] > 300


def test_the_keyboard_reaches_everything(play):
    page = play.page
    page.locator("[data-view=sample]").focus()
    assert play.do(lambda: page.keyboard.press("Enter")) == "exact"
    assert page.get_attribute("[data-view=sample]", "aria-pressed") == "true"
    page.locator("#temperature").focus()
    said = play.said
    play.do(lambda: page.keyboard.press("ArrowRight"))
    assert play.said != said
    page.locator("#edit-j").focus()
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.id") == "set-edge"
    unnamed = page.evaluate(
        """() => [...document.querySelectorAll("input, select, textarea")]
            .filter(e => !e.labels || !e.labels.length).map(e => e.id)"""
    )
    assert unnamed == []


def test_when_the_server_has_gone_the_page_says_so(visit):
    with PlayServer() as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        with visit(server.address) as seen:
            play = Play(seen)
            server.shutdown()
            thread.join()
            server.server_close()
            seen.page.route("**/api/**", lambda route: route.abort())
            assert play.show("sample") == "error"
            assert "not running" in play.said
            seen.complaints.clear()


@pytest.mark.parametrize("kind", ["torus", "image"])
def test_kinds_without_walls_fall_back_to_the_ground_state(play, kind):
    play.show("domain-wall")
    assert play.choose("kind", kind) != "error"
    pressed = play.page.get_attribute('[data-view="ground-state"]', "aria-pressed")
    assert pressed == "true"
    assert play.page.is_disabled('[data-view="domain-wall"]')
    play.choose("kind", "square")
    assert play.page.is_enabled('[data-view="domain-wall"]')


def test_log_z_has_curves_over_temperature(play):
    assert play.show("log-partition") == "exact"
    play.look(lambda: play.share(DOWN) > 0.001)
    assert play.share(UP) < 0.001  # no spins are drawn
    assert play.page.inner_text("#legend") == ""
    play.page.hover("#picture", position={"x": 120, "y": 250})
    pattern = r"T = [\d.]+: energy -[\d.]+, entropy [\d.]+, specific heat [\d.]+ per spin"
    assert re.fullmatch(pattern, play.page.inner_text("#readout"))
    before = play.count
    play.page.click("#picture", position={"x": 120, "y": 250})  # no edge lies there
    assert play.page.inner_text("#edits") == "No edits."
    assert play.count == before
    play.slide("size", 60)
    play.look(lambda: "up to 2,500 spins" in play.page.inner_text("#legend"))


@pytest.mark.parametrize(
    ("kind", "shown", "dark"),
    [
        ("square", "ground-state", False),
        ("square", "ground-state", True),
        ("torus", "sample", False),
        ("square", "marginals", False),
        ("triangular", "domain-wall", True),
        ("honeycomb", "log-partition", True),
    ],
)
def test_png_and_svg_are_the_picture(visit, server, kind, shown, dark, tmp_path):
    with visit(server.address, dark=dark) as seen:
        play = Play(seen)
        play.choose("kind", kind)
        play.show(shown)
        for name in ("png", "svg"):
            with play.page.expect_download() as download:
                play.page.click(f"#save-{name}")
            download.value.save_as(tmp_path / f"model.{name}")
        with pillow.open(tmp_path / "model.png") as image:
            assert image.convert("RGBA").getextrema()[3] == (255, 255)  # the page's ground is in it
            kept = np.asarray(image.convert("RGB")).astype(int)
        other = play.page.context.browser.new_page()
        other.set_viewport_size({"width": kept.shape[1], "height": kept.shape[0]})
        svg = (tmp_path / "model.svg").read_text()
        other.set_content(f"<style>body {{margin: 0}} svg {{display: block}}</style>{svg}")
        drawn = np.asarray(pillow.open(io.BytesIO(other.screenshot())).convert("RGB"))
        assert np.abs(kept - drawn).mean() < 2
        assert (np.abs(kept - drawn).max(-1) > 60).mean() < 0.01  # edges of shapes, and fonts
        other.close()


def test_the_wall_is_copied_as_python(play):
    play.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    assert play.show("domain-wall") == "exact"
    cost = float(re.search(r"the wall costs ([\d.]+)", play.said)[1])
    play.page.click("#copy-python")
    play.look(lambda: play.page.inner_text("#kept") == "copied")
    names: dict = {}
    exec(play.page.evaluate("navigator.clipboard.readText()"), names)
    found = names["model"].energy(names["result"].spins) - names["model"].energy(names["spins"])
    assert found == cost


def test_pictures_and_models_are_kept(play, tmp_path):
    from planaris.io import read_model

    for name, file in (("png", "model.png"), ("svg", "model.svg"), ("file", "model.edges")):
        with play.page.expect_download() as download:
            play.page.click(f"#save-{name}")
        assert download.value.suggested_filename == file
        download.value.save_as(tmp_path / file)
    assert read_model(tmp_path / "model.edges").num_spins == 576
    with pillow.open(tmp_path / "model.png") as image:
        assert image.size[0] > 300
    play.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    play.page.click("#copy-python")
    play.look(lambda: play.page.inner_text("#kept") == "copied")
    code = play.page.evaluate("navigator.clipboard.readText()")
    names: dict = {}
    exec(code, names)
    assert names["result"].exact
    assert names["model"].num_spins == 576
