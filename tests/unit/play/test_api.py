"""What the page may ask: right answers, limits, and one clean line for everything else."""

from __future__ import annotations

import base64
import io
import json
import zipfile

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import planaris as pl
from helpers.clocks import TickClock
from helpers.trials import examples
from planaris.budget import use_clock
from planaris.embed import Embedding
from planaris.generate import square_lattice, triangular_lattice
from planaris.io import read_edge_list
from planaris.models import IsingModel
from planaris.play.api import QUESTIONS, respond, to_json
from planaris.play.scenes import MAX_EDITS, MAX_SIDE, MAX_TEXT, build_scene
from planaris.play.server import ROUTES
from planaris.reference import enumerate_states
from planaris.reference.brute_force import all_states


@pytest.fixture
def clock():
    """Limits of the page in looks at the clock: the same answers on every machine."""
    with use_clock(TickClock(1e-4, stride=2**12)):
        yield


SQUARE = {"kind": "square", "rows": 4, "columns": 3, "negative": 0.4, "seed": 3}


def ask(question, source, **rest):
    status, answer = respond(question, {"source": source, **rest})
    assert status == 200, answer
    return json.loads(to_json(answer))


def truth(source, **rest):
    scene = build_scene({"source": source, **rest})
    return scene, enumerate_states(scene.model), enumerate_states(scene.tempered.model)


def spins_of(text):
    return np.array([1 if c == "+" else -1 for c in text], dtype=np.int8)


def grey(levels):
    return base64.b64encode(np.asarray(levels, dtype=np.uint8).tobytes()).decode()


SOURCES = {
    "square": SQUARE,
    "gaussian": {**SQUARE, "disorder": "gaussian", "negative": 0.8},
    "ferromagnet": {**SQUARE, "disorder": "ferromagnet"},
    "triangular": {**SQUARE, "kind": "triangular"},
    "honeycomb": {**SQUARE, "kind": "honeycomb"},
    "torus": {**SQUARE, "kind": "torus", "rows": 3},
    "image": {"kind": "image", "rows": 3, "columns": 4, "grey": grey(np.arange(12) * 20)},
    "edges": {"kind": "edges", "text": "a b 1\nb c -1\nc a 1\nd e\n".replace("d e", "d e 2")},
    "k5": {
        "kind": "edges",
        "text": "\n".join(f"{u} {v} {(-1) ** (u * v)}" for u in range(5) for v in range(u)),
    },
}


@pytest.mark.parametrize("name", SOURCES)
@pytest.mark.parametrize("edits", [[], [[0, 3, -1.5], [1, 4, 0.7]]], ids=["plain", "edited"])
def test_answers_agree_with_enumeration(name, edits):
    rest = {"temperature": 0.7, "edits": edits}
    scene, cold, warm = truth(SOURCES[name], **rest)
    ground = ask("ground-state", SOURCES[name], **rest)
    assert ground["lower"] - 1e-9 <= cold.energy <= ground["upper"] + 1e-9
    assert scene.model.energy(spins_of(ground["spins"])) == pytest.approx(ground["energy"])
    if ground["exact"]:
        assert ground["energy"] == pytest.approx(cold.energy)
    logz = ask("log-partition", SOURCES[name], **rest)
    assert logz["lower"] - 1e-9 <= warm.log_partition <= logz["upper"] + 1e-9
    if "interval" in logz:
        assert logz["interval"]["lower"] <= warm.log_partition <= logz["interval"]["upper"]
    found = ask("marginals", SOURCES[name], **rest)
    if found["held"] is None:
        assert found["pairs"] == pytest.approx(warm.edges, abs=2e-6)
        if found["nodes"] is not None:
            assert found["nodes"] == pytest.approx(warm.nodes, abs=2e-6)


@pytest.mark.parametrize("name", ["square", "torus", "k5", "crossed"])
def test_marginals_hold_the_spin_that_was_asked(name):
    rest = {"edits": [[0, 7, -1.0], [2, 9, 1.0], [1, 11, 0.5]]} if name == "crossed" else {}
    source = SOURCES.get(name, SQUARE)
    scene, _, warm = truth(source, **rest)
    held = scene.model.num_spins - 2
    states = warm.probabilities
    every = all_states(scene.model.num_spins)
    up = every[:, held] > 0
    expected = ((every[up] > 0) * states[up, None]).sum(0) / states[up].sum()
    found = ask("marginals", source, spin=held, **rest)
    assert found["held"] == held
    assert found["nodes"] == pytest.approx(expected, abs=2e-6)
    assert respond("marginals", {"source": source, "spin": scene.model.num_spins})[0] == 400


@pytest.mark.parametrize("kind", ["square", "triangular", "honeycomb"])
@pytest.mark.parametrize("seed", range(4))
def test_a_domain_wall_is_the_cheapest(kind, seed):
    source = {**SQUARE, "kind": kind, "rows": 3, "columns": 4, "seed": seed}
    scene, cold, _ = truth(source)
    found = ask("domain-wall", source)
    ground, wall = spins_of(found["ground"]), spins_of(found["spins"])
    assert scene.model.energy(ground) == pytest.approx(cold.energy)
    left, right = np.arange(0, 12, 4), np.arange(3, 12, 4)
    every = all_states(12)
    held = (every[:, left] == ground[left]).all(1) & (every[:, right] == -ground[right]).all(1)
    least = scene.model.energy(every[held]).min()
    assert (wall[left] == ground[left]).all()
    assert (wall[right] == -ground[right]).all()
    assert found["energy"] == pytest.approx(least)
    assert found["wall_energy"] == pytest.approx(least - cold.energy)
    assert found["exact"]
    assert found["checked"]


def test_a_domain_wall_is_one_line():
    """Regions that ties turned over are turned back: both sides are connected."""
    source = {"kind": "square", "rows": 24, "negative": 0.2, "seed": 1}
    found = ask("domain-wall", source)
    overlap = spins_of(found["ground"]) * spins_of(found["spins"])
    import networkx as nx

    for sign in (1, -1):
        graph = nx.grid_2d_graph(24, 24)
        graph.remove_nodes_from([divmod(v, 24) for v in np.flatnonzero(overlap != sign)])
        sides = {0, 23}
        for piece in nx.connected_components(graph):
            assert sides & {column for _, column in piece}


@pytest.mark.parametrize("source", [{**SQUARE, "kind": "torus"}, SOURCES["image"], SOURCES["k5"]])
def test_a_domain_wall_needs_an_open_lattice(source):
    status, answer = respond("domain-wall", {"source": source})
    assert status == 422
    assert "open lattice" in answer["error"]


def test_samples_follow_their_seed_and_the_temperature():
    source = {**SQUARE, "disorder": "ferromagnet"}
    cold = [ask("sample", source, temperature=0.05, sample_seed=k)["spins"] for k in range(4)]
    assert all(len(set(text)) == 1 for text in cold)
    hot = [ask("sample", source, temperature=50, sample_seed=k)["spins"] for k in range(4)]
    assert len(set(hot)) == 4
    assert ask("sample", source, temperature=50, sample_seed=2)["spins"] == hot[2]


def test_frustrated_faces_are_those_with_an_odd_number_of_negative_couplings():
    drawn = ask("model", {"kind": "square", "rows": 3, "negative": 0}, edits=[[0, 1, -1.0]])
    assert [sorted(face) for face in drawn["faces"]] == [[0, 1, 3, 4]]
    crossed = ask(
        "model",
        {"kind": "square", "rows": 3, "negative": 0},
        edits=[[0, 1, -1.0], [0, 8, 1.0], [2, 6, 1.0]],
    )
    assert [sorted(face) for face in crossed["faces"]] == [[0, 1, 3, 4]]
    torus = ask("model", {"kind": "torus", "rows": 4, "negative": 0}, edits=[[0, 1, -1.0]])
    assert [sorted(face) for face in torus["faces"]] == [[0, 1, 4, 5]]


@pytest.mark.usefixtures("clock")
def test_edits_that_cross_give_an_exact_answer_on_a_handle_and_an_interval():
    source = {"kind": "square", "rows": 12, "seed": 2}
    edits = [[0, 78, -1.0], [11, 66, 1.0]]
    logz = ask("log-partition", source, edits=edits)
    assert logz["exact"]
    assert "genus 1" in logz["method"]
    assert logz["interval"]["lower"] <= logz["value"] <= logz["interval"]["upper"]
    assert logz["interval"]["upper"] - logz["interval"]["lower"] < 4.0  # 2 Σ|J|


@pytest.mark.usefixtures("clock")
def test_many_crossings_give_an_interval_of_large_models():
    rng = np.random.default_rng(0)
    edits = [[*map(int, rng.choice(60 * 60, 2, replace=False)), 1.0] for _ in range(12)]
    source = {"kind": "square", "rows": 60}
    found = ask("ground-state", source, edits=edits)
    assert not found["exact"]
    assert 0 < found["upper"] - found["lower"] <= 24 + 1e-6
    assert found["checked"]
    assert "without the added edges" in found["certificate"]


def test_the_same_edit_twice_counts_once_and_order_does_not_matter():
    once = build_scene({"source": SQUARE, "edits": [[7, 0, 2.0]]}).model
    twice = build_scene({"source": SQUARE, "edits": [[0, 7, 5.0], [7, 0, 2.0]]}).model
    assert once.num_edges == twice.num_edges == 18
    assert np.array_equal(once.couplings, twice.couplings)


def test_uploaded_names_are_kept():
    drawn = ask("model", {"kind": "edges", "text": "ann bob 2\nbob <script> -1\n"})
    assert drawn["labels"] == ["ann", "bob", "<script>"]


def test_a_plane_graph_is_drawn_without_crossings():
    for text in (
        "\n".join(f"{u} {v}" for u, v in square_lattice(20, 30).edges),
        "\n".join(f"{u} {v}" for u, v in triangular_lattice(7, 8).edges),
        "0 1\n1 2\n2 0\n3 4\n5 6\n6 7\n7 5\n5 8\n",
        "\n".join(f"{v} {v // 2}" for v in range(1, 150)),
        "\ud800 b",
    ):
        model = build_scene({"source": {"kind": "edges", "text": text}}).placed.model
        plane = Embedding.from_coordinates(model.edges, model.positions)
        assert plane.genus == 0


# -- refusals ----------------------------------------------------------------------------------

BAD = [
    None,
    [],
    "square",
    {},
    {"source": None},
    {"source": {"kind": ["square"]}},
    {"source": {"kind": "cube", "rows": 3}},
    {"source": {"kind": "square"}},
    {"source": {"kind": "square", "rows": True}},
    {"source": {"kind": "square", "rows": 3.0}},
    {"source": {"kind": "square", "rows": MAX_SIDE + 1}},
    {"source": {"kind": "square", "rows": 10**5000}},
    {"source": {"kind": "square", "rows": 0}},
    {"source": {"kind": "torus", "rows": 2}},
    {"source": {**SQUARE, "seed": -1}},
    {"source": {**SQUARE, "negative": 1.5}},
    {"source": {**SQUARE, "negative": float("nan")}},
    {"source": {**SQUARE, "disorder": "none"}},
    {"source": {**SQUARE, "path": "/etc/passwd"}},
    {"source": SQUARE, "temperature": 0},
    {"source": SQUARE, "temperature": 1e-300},
    {"source": SQUARE, "temperature": float("inf")},
    {"source": SQUARE, "edits": [[0, 1]]},
    {"source": SQUARE, "edits": [[0, 0, 1]]},
    {"source": SQUARE, "edits": [[0, 12, 1]]},
    {"source": SQUARE, "edits": [[-1, 2, 1]]},
    {"source": SQUARE, "edits": [[0, 1, 10**400]]},
    {"source": SQUARE, "edits": [[0, 1, "1"]]},
    {"source": SQUARE, "edits": [[0, 1, 1]] * (MAX_EDITS + 1)},
    {"source": {"kind": "image", "rows": 2, "columns": 2, "grey": "????"}},
    {"source": {"kind": "image", "rows": 2, "columns": 2, "grey": "AAAA"}},
    {"source": {"kind": "image", "rows": 2, "columns": 2, "grey": "\ud800"}},
    {"source": {"kind": "image", "rows": 2, "columns": 2, "grey": "A" * 10**6}},
    {"source": {"kind": "edges"}},
    {"source": {"kind": "edges", "text": "0 1\n" * MAX_TEXT}},
]


@pytest.mark.parametrize(
    "body", BAD, ids=lambda body: repr(body)[:60] if body != BAD[11] else "big"
)
@pytest.mark.parametrize("question", ["model", "sample", "marginals"])
def test_what_is_wrong_is_refused_in_one_line(question, body):
    status, answer = respond(question, body)
    assert status == 400
    assert list(answer) == ["error"]
    assert "\n" not in answer["error"]
    assert len(answer["error"]) < 500


@pytest.mark.parametrize(
    "text",
    [
        "",
        "0 0",
        "0 1 x",
        "0 1 1e999",
        "# num_spins=999999999\n0 1",
        "0 900000000",
        "PK\x03\x04",
        "BZh91AY&SY",
        "\x00",
        "0 1 1e300",
        "\n".join(f"{v} {v + 1}" for v in range(3000)),
    ],
)
def test_edge_lists_that_cannot_be_drawn_are_refused_in_one_line(text):
    status, answer = respond("model", {"source": {"kind": "edges", "text": text}})
    assert status in (400, 422)
    assert "\n" not in answer["error"]


def zipped_text():
    """Return a ZIP archive of an edge list that is text itself."""
    for k in range(100_000):
        stream, entry = io.BytesIO(), zipfile.ZipInfo("a")
        entry.external_attr = 1
        with zipfile.ZipFile(stream, "w") as archive:
            archive.writestr(entry, f"0 1\n# {k}\n")
        try:
            return stream.getvalue().decode()
        except UnicodeDecodeError:
            continue
    raise AssertionError


def test_nothing_in_a_request_is_decompressed():
    text = zipped_text()
    assert read_edge_list(io.StringIO(text)).num_spins == 2
    status, answer = respond("model", {"source": {"kind": "edges", "text": text}})
    assert (status, list(answer)) == (422, ["error"])


def test_unknown_questions_are_refused():
    assert respond("../../etc/passwd", {})[0] == 404


def test_the_server_routes_to_every_question():
    assert set(ROUTES.values()) == set(QUESTIONS)


def wide_image(side=60, **options):
    picture = np.random.default_rng(0).integers(0, 256, side * side)
    return {"kind": "image", "rows": side, "columns": side, "grey": grey(picture), **options}


def test_work_that_is_too_large_says_so():
    """Not one of the methods fits: a wide image with a field on every pixel, and an odd edge."""
    with use_clock(TickClock(0.02)):
        status, answer = respond("sample", {"source": wide_image(), "edits": [[0, 1, -1.0]]})
    assert status in (413, 422, 504)
    assert answer["error"].startswith("no exact sample")
    assert "memory" not in answer["error"]  # nothing that a visitor could do
    estimate = ask("marginals", wide_image())
    assert not estimate["exact"]
    assert not estimate["checked"]
    assert estimate["check_seconds"] is None  # nothing was looked at


def test_marginals_of_wide_images_are_estimated():
    source = wide_image(side=34, smoothness=0.5)
    found = ask("marginals", source)
    assert (found["exact"], found["method"]) == (False, "tensor-network")
    assert found["stated_error"] < 1e-6
    model = build_scene({"source": source}).model
    wanted = pl.marginals(model, "tensor-network").nodes
    assert found["nodes"] == pytest.approx(wanted.tolist(), abs=2e-6)
    narrow = ask("marginals", wide_image(side=9))
    assert (narrow["exact"], narrow["stated_error"]) == (True, None)


def test_large_images_are_sampled_from_the_past():
    source = wide_image(side=40, smoothness=0.3)
    found = ask("sample", source, sample_seed=4)
    assert found["method"] == "exact sampling"
    model = build_scene({"source": source}).model
    assert found["energy"] == pytest.approx(model.energy(spins_of(found["spins"])))
    again = ask("sample", source, sample_seed=4)
    assert again["spins"] == found["spins"]
    assert ask("sample", source, sample_seed=5)["spins"] != found["spins"]


def test_an_unforeseen_error_shows_no_traceback(monkeypatch, capsys):
    def fall_over(body):
        raise KeyError("secret\nlines")

    monkeypatch.setitem(QUESTIONS, "model", fall_over)
    assert respond("model", {}) == (500, {"error": "internal error (KeyError)"})
    assert "secret" in capsys.readouterr().err


# -- anything at all ---------------------------------------------------------------------------

scalars = (
    st.none()
    | st.booleans()
    | st.integers(-5, 8)
    | st.integers()
    | st.floats()
    | st.sampled_from([*SOURCES, "square", "bimodal", "gaussian"])
    | st.text(max_size=12)
)
anything = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=6), inner),
    max_leaves=12,
)
small = st.integers(-1, 5) | scalars
edge_text = st.text(alphabet="012ab #-.=\n\te", max_size=40) | st.text(max_size=20)


@st.composite
def requests(draw):
    """Mostly right requests, any field of which may be anything."""
    source = {"kind": draw(st.sampled_from(["square", "triangular", "honeycomb", "torus"]))}
    shape = draw(st.sampled_from(["lattice", "image", "edges", "known"]))
    if shape == "lattice":
        source |= {"rows": draw(small), "columns": draw(small)}
        source |= draw(st.fixed_dictionaries({}, optional={"negative": small, "seed": small}))
    elif shape == "image":
        source = {"kind": "image", "rows": draw(small), "columns": draw(small)}
        source |= {"grey": draw(st.binary(max_size=16).map(lambda b: grey(list(b))) | scalars)}
    elif shape == "edges":
        source = {"kind": "edges", "text": draw(edge_text | scalars)}
    else:
        source = dict(draw(st.sampled_from(list(SOURCES.values()))))
    body = {"source": source}
    body |= draw(
        st.fixed_dictionaries(
            {},
            optional={
                "temperature": st.floats(0.01, 100) | scalars,
                "edits": st.lists(st.lists(small, min_size=3, max_size=3), max_size=3) | anything,
            },
        )
    )
    for key, value in draw(st.dictionaries(st.sampled_from(["kind", "rows", "x"]), small)).items():
        body["source"][key] = value
    return body


@examples(150)
@given(st.sampled_from(sorted(QUESTIONS)), requests() | anything)
@example("model", {"source": {"kind": "edges", "text": "# offset=1e308\n0 1"}})
@example("ground-state", {"source": {"kind": "edges", "text": "# num_spins=0"}})
@example("marginals", {"source": {"kind": "edges", "text": "# num_spins=0"}})
@example("sample", {"source": {"kind": "edges", "text": "# num_spins=1"}})
@example("domain-wall", {"source": {"kind": "honeycomb", "rows": 1, "columns": 2}})
def test_anything_gets_an_answer_or_one_clean_line(question, body):
    status, answer = respond(question, body)
    assert status in (200, 400, 413, 422, 504), answer
    assert json.loads(to_json(answer)) is not None
    if status != 200:
        assert list(answer) == ["error"]
        assert "\n" not in answer["error"]
        assert "Traceback" not in answer["error"]


@settings(max_examples=60)
@given(st.integers(1, 5), st.integers(2, 5), st.integers(0, 99), st.floats(0.1, 5))
def test_intervals_from_leaving_edges_out_hold_the_truth(rows, columns, seed, coupling):
    from planaris.play.intervals import energy_interval

    if rows * columns > 16:
        rows = 3
    last = rows * columns - 1
    source = {"kind": "square", "rows": rows, "columns": columns, "seed": seed}
    edits = [[0, last, -coupling], [columns - 1, max(last - columns + 1, 0), coupling]]
    edits = [edit for edit in edits if edit[0] != edit[1]]
    scene = build_scene({"source": source, "edits": edits})
    exact = enumerate_states(scene.model)
    bounded = energy_interval(scene)
    if scene.num_added:
        assert bounded[0].lower <= exact.energy + 1e-9
        assert exact.energy <= bounded[0].upper + 1e-9
    else:
        assert bounded is None


def test_scenes_at_temperature_one_are_as_stated():
    scene = build_scene({"source": SOURCES["image"], "temperature": 0.5})
    assert isinstance(scene.model, IsingModel)
    assert scene.tempered.model.fields == pytest.approx(2 * scene.model.fields)
    assert scene.tempered.model.couplings == pytest.approx(2 * scene.model.couplings)


def test_curves_are_what_enumeration_says():
    scene, _, _ = truth(SQUARE)
    found = ask("curves", SQUARE)
    energies = scene.model.energy(all_states(12))
    for k, t in enumerate(found["temperatures"]):
        weights = np.exp(-(energies - energies.min()) / t)
        p = weights / weights.sum()
        mean = p @ energies
        assert found["energy"][k] == pytest.approx(mean / 12, abs=1e-8)
        assert found["entropy"][k] == pytest.approx(-(p[p > 0] @ np.log(p[p > 0])) / 12, abs=1e-7)
        heat = p @ (energies - mean) ** 2 / t**2 / 12
        assert found["specific_heat"][k] == pytest.approx(heat, abs=1e-4)
    assert len(found["temperatures"]) > 10
    large = {"kind": "square", "rows": 60, "columns": 60}
    found = ask("curves", large)
    assert found["temperatures"] == []
    assert "2,500 spins" in found["reason"]
    pairs = [(u, v) for u in range(8) for v in range(u)]
    dense = {"kind": "edges", "text": "".join(f"{u} {v} 1\n" for u, v in pairs)}
    assert len(ask("curves", dense)["temperatures"]) > 10


def test_the_model_comes_as_a_file():
    from planaris.io import read_model

    for source in (SQUARE, SOURCES["image"]):
        scene, _, _ = truth(source)
        found = ask("file", source)
        kind = "coo" if found["name"].endswith("coo") else "edge-list"
        again = read_model(io.StringIO(found["text"]), format=kind)
        states = all_states(scene.model.num_spins)[:64]
        np.testing.assert_allclose(again.energy(states), scene.model.energy(states), atol=1e-9)
