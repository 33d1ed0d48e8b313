"""From what a request states to a model that can be drawn."""

from __future__ import annotations

import base64
import binascii
import io
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from planaris.embed import Embedding, embed, embedding_with_handles, torus_lattice
from planaris.errors import CrossingError, MethodError, NotPlanarError, PlanarisError
from planaris.generate import (
    Lattice,
    honeycomb_lattice,
    image_grid,
    square_lattice,
    triangular_lattice,
)
from planaris.io import read_edge_list
from planaris.models import IsingModel
from planaris.play.fields import Fields, RequestError, is_number, refuse
from planaris.report.layout import lay_out
from planaris.typing import BoolArray, FloatArray, IntArray

MAX_SIDE = 200
"""Rows and columns of a lattice or image."""
MAX_LISTED = 2000
"""Spins, and edges per five of them, of an edge list."""
MAX_TEXT = 1_000_000
MAX_EDITS = 200
MAX_COUPLING = 1e6
MAX_HANDLES = 2

LATTICES = {
    "square": square_lattice,
    "triangular": triangular_lattice,
    "honeycomb": honeycomb_lattice,
}
DISORDERS = ("bimodal", "gaussian", "ferromagnet")
KINDS = (*LATTICES, "torus", "image", "edges")
SCENE_FIELDS = ("source", "edits", "temperature")


@dataclass(frozen=True, eq=False)
class Scene:
    """A model at temperature one, with what is needed to draw and solve it.

    Attributes
    ----------
    model : IsingModel
        Couplings as stated; divide by the temperature to get weights.
    kind : str
        One of ``KINDS``.
    shape : tuple of int or None
        Rows and columns of a lattice or image.
    temperature : float
        As requested.
    surface : Embedding or None
        Rotation system of a torus, while its graph is unedited.
    num_added : int
        How many edges, the last ones, were added to what the source states.
    """

    model: IsingModel
    kind: str
    shape: tuple[int, int] | None
    temperature: float
    surface: Embedding | None = None
    num_added: int = 0

    @property
    def tempered(self) -> Scene:
        """The same at temperature one: couplings and fields divided by the temperature."""
        model, beta = self.model, 1.0 / self.temperature
        model = model.with_couplings(beta * model.couplings, beta * model.fields)
        return replace(self, model=model, temperature=1.0)

    @property
    def placed(self) -> Scene:
        """The same with positions: found here if the source has none, which takes a while."""
        if self.model.positions is not None:
            return self
        positions = lay_out(self.model.num_spins, self.model.edges)
        return replace(self, model=self.model.with_positions(positions))

    @property
    def without_added(self) -> Scene:
        """The scene before edges were added; couplings that were changed stay so."""
        model, kept = self.model, self.model.num_edges - self.num_added
        model = IsingModel(
            model.edges[:kept],
            model.couplings[:kept],
            model.fields,
            num_spins=model.num_spins,
            positions=model.positions,
            offset=model.offset,
        )
        return replace(self, model=model, num_added=0)

    @cached_property
    def plane(self) -> Embedding | None:
        """A plane embedding of the couplings alone, by the drawing where that has no crossings."""
        try:
            try:
                return embed(self.model)
            except CrossingError:
                return embed((self.model.num_spins, self.model.edges))
        except NotPlanarError:
            return None

    @cached_property
    def handles(self) -> Embedding | None:
        """A rotation system of low genus of a model that is not planar and has no fields."""
        if self.surface is not None or self.plane is not None or self.model.has_fields:
            return self.surface
        try:
            found = embedding_with_handles(
                self.model.edges, num_vertices=self.model.num_spins, max_handles=MAX_HANDLES
            )
        except MethodError:
            return None
        return found if found.genus <= MAX_HANDLES else None

    def frustrated_faces(self) -> list[list[int]]:
        """Return the corners of the faces around which an odd number of couplings is negative.

        Outer faces, and faces that a flat picture of a torus cannot show, are left out; where
        added edges cross, the faces are those without them.
        """
        if self.plane is None and self.num_added:
            return self.without_added.frustrated_faces()
        embedding = self.surface if self.surface is not None else self.plane
        if embedding is None:
            return []
        odd = odd_faces(embedding, self.model.couplings)
        if self.surface is None:
            outer = embedding.outer_faces
            odd[outer[outer >= 0]] = False
        faces = [embedding.face_vertices(face) for face in np.flatnonzero(odd).tolist()]
        if self.surface is not None and self.model.positions is not None:
            where = self.model.positions
            faces = [face for face in faces if np.ptp(where[face], axis=0).max() <= 1]
        return [face.tolist() for face in faces]


def odd_faces(embedding: Embedding, couplings: FloatArray) -> BoolArray:
    """Return for every face whether an odd number of negative couplings lies around it.

    >>> triangle = Embedding.from_graph([(0, 1), (1, 2), (0, 2)], num_vertices=3)
    >>> odd_faces(triangle, np.array([1.0, 1.0, -1.0])).tolist()
    [True, True]
    """
    negative = np.repeat(couplings < 0, 2)
    count = np.bincount(embedding.face_of[negative], minlength=embedding.num_faces)
    return np.asarray(count % 2 == 1)


def build_scene(values: Any) -> Scene:
    """Build what a request states.

    Parameters
    ----------
    values : dict
        ``source`` (an object with ``kind``), ``edits`` (rows ``[u, v, J]``: the coupling of
        u and v is J, whether they had one or not) and ``temperature``.

    Raises
    ------
    PlanarisError
        When anything is missing, of the wrong kind or out of range.

    Examples
    --------
    >>> scene = build_scene({"source": {"kind": "square", "rows": 3, "columns": 4}})
    >>> scene.model, scene.shape
    (IsingModel(12 spins, 17 edges, no fields), (3, 4))
    """
    fields = Fields(values, known=SCENE_FIELDS)
    temperature = fields.number("temperature", 0.01, 100.0, default=1.0)
    source = fields.get("source")
    kind = source.get("kind") if isinstance(source, dict) else None
    if not isinstance(kind, str) or kind not in KINDS:
        refuse("source.kind", f"one of {', '.join(KINDS)}", kind)
    if kind == "image":
        scene = _image(source, temperature)
    elif kind == "edges":
        scene = _edge_list(source, temperature)
    else:
        scene = _lattice(kind, source, temperature)
    return _edited(scene, fields.rows("edits", 3, MAX_EDITS))


# -- sources -----------------------------------------------------------------------------------


def _lattice(kind: str, source: Any, temperature: float) -> Scene:
    known = ("kind", "rows", "columns", "disorder", "negative", "seed")
    fields = Fields(source, known=known, where="`source`")
    least = 3 if kind == "torus" else 1
    rows = fields.integer("rows", least, MAX_SIDE)
    columns = fields.integer("columns", least, MAX_SIDE, default=rows)
    surface = None
    if kind == "torus":
        surface = torus_lattice(rows, columns)
        lattice = Lattice(surface.edges, square_lattice(rows, columns).positions)
    else:
        lattice = LATTICES[kind](rows, columns)
    couplings = _couplings(fields, len(lattice.edges))
    model = IsingModel(
        lattice.edges, couplings, num_spins=rows * columns, positions=lattice.positions
    )
    return Scene(model, kind, (rows, columns), temperature, surface)


def _couplings(fields: Fields, count: int) -> FloatArray:
    """Draw couplings: one uniform number per edge, so that the disorder slider moves smoothly.

    As the share of negative couplings grows the edges that are negative stay so; Gaussian ones
    go from a magnet to a glass by a growing width around a shrinking mean.
    """
    disorder = fields.choice("disorder", DISORDERS, default="bimodal")
    share = fields.number("negative", 0.0, 1.0, default=0.5)
    rng = np.random.default_rng(fields.integer("seed", 0, 2**31 - 1, default=1))
    if disorder == "ferromagnet":
        return np.ones(count)
    if disorder == "bimodal":
        return np.where(rng.random(count) < share, -1.0, 1.0)
    return np.asarray((1.0 - share) + share * rng.standard_normal(count))


def _image(source: Any, temperature: float) -> Scene:
    known = ("kind", "rows", "columns", "grey", "smoothness", "data", "contrast")
    fields = Fields(source, known=known, where="`source`")
    rows = fields.integer("rows", 1, MAX_SIDE)
    columns = fields.integer("columns", 1, MAX_SIDE)
    text = fields.text("grey", 4 * (rows * columns + 2) // 3 + 4)
    try:
        raw = base64.b64decode(text.encode("ascii"), validate=True)
    except (binascii.Error, ValueError) as error:
        msg = "`grey` must be grey levels in base64, one byte per pixel"
        raise RequestError(msg, field="grey") from error
    if len(raw) != rows * columns:
        refuse("grey", f"{rows * columns} bytes in base64", f"{len(raw)} bytes")
    levels = np.frombuffer(raw, dtype=np.uint8).reshape(rows, columns) / 127.5 - 1.0
    model = image_grid(
        levels,
        smoothness=fields.number("smoothness", 0.0, 10.0, default=1.0),
        data=fields.number("data", 0.0, 10.0, default=1.0),
        contrast=fields.number("contrast", 0.0, 10.0, default=0.0),
    )
    return Scene(model, "image", (rows, columns), temperature)


def _edge_list(source: Any, temperature: float) -> Scene:
    fields = Fields(source, known=("kind", "text"), where="`source`")
    text = fields.text("text", MAX_TEXT).encode("utf-8", "replace").removeprefix(b"\xef\xbb\xbf")
    # A blank before it: what comes from a request is never taken for a compressed file.
    model = read_edge_list(_Text(b" " + text))
    if model.num_spins > MAX_LISTED or model.num_edges > 5 * MAX_LISTED:
        msg = (
            f"the edge list must have at most {MAX_LISTED} spins and {5 * MAX_LISTED} edges to be "
            f"drawn, got {model.num_spins} and {model.num_edges}; use `planaris map`"
        )
        raise RequestError(msg, field="text")
    _check_size(model.couplings)
    return Scene(model, "edges", None, temperature)


class _Text(io.BytesIO):
    name = "the edge list"


def _check_size(couplings: FloatArray) -> None:
    if np.abs(couplings).max(initial=0.0) > MAX_COUPLING:
        msg = f"couplings must be at most {MAX_COUPLING:g} in size; scale the model down"
        raise RequestError(msg, field="text")


# -- edits -------------------------------------------------------------------------------------


def _edited(scene: Scene, rows: list[list[Any]]) -> Scene:
    """Set couplings; a pair that had none becomes an edge, after the others."""
    if not rows:
        return scene
    model = scene.model
    ends, couplings = np.sort(model.edges, axis=1), model.couplings.copy()
    place = {(int(u), int(v)): k for k, (u, v) in enumerate(ends)}
    added: dict[tuple[int, int], float] = {}
    for u, v, coupling in rows:
        pair = _pair(u, v, model.num_spins)
        if not is_number(coupling) or abs(coupling) > MAX_COUPLING:
            refuse("edits", f"couplings of at most {MAX_COUPLING:g} in size", coupling)
        if pair in place:
            couplings[place[pair]] = coupling
        else:
            added[pair] = float(coupling)
    new: IntArray = np.array(list(added), dtype=np.int32).reshape(-1, 2)
    edited = IsingModel(
        np.concatenate([model.edges, new]),
        np.concatenate([couplings, list(added.values())]),
        model.fields,
        num_spins=model.num_spins,
        positions=model.positions,
        offset=model.offset,
        labels=model.labels,
    )
    surface = None if added else scene.surface
    return replace(scene, model=edited, surface=surface, num_added=len(added))


def _pair(u: Any, v: Any, num_spins: int) -> tuple[int, int]:
    for spin in (u, v):
        if isinstance(spin, bool) or not isinstance(spin, int) or not 0 <= spin < num_spins:
            refuse("edits", f"spins from 0 to {num_spins - 1}", spin)
    if u == v:
        refuse("edits", "pairs of different spins", f"{u} twice")
    return (min(u, v), max(u, v))


def require_lattice(scene: Scene, what: str) -> tuple[int, int]:
    """Return rows and columns of an open lattice, or refuse."""
    if scene.shape is None or scene.kind not in LATTICES or scene.shape[1] < 2:
        msg = f"{what} needs an open lattice of two columns or more: square, triangular, honeycomb"
        raise PlanarisError(msg)
    return scene.shape
