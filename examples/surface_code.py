"""Decoding the surface code: maximum likelihood against minimum weight.

Every qubit of a planar surface code flips with probability p; the checks show where chains of flips
end. Chains with the same ends differ by domain walls of an Ising model, whose spins are the
plaquettes, with two large ones above and below the code. A logical error is a wall between those
two. So the probability that there is none is the probability that the two spins agree: an edge
marginal of a planar model on the Nishimori line, exp(-2J) = p / (1 - p). Minimum-weight decoding
takes the ground state instead. Its threshold is 10.3 %, that of maximum likelihood 10.9 %
(Dennis, Kitaev, Landahl, Preskill 2002).
"""

from pathlib import Path

import numpy as np
import typer

import planaris as pl
from planaris.report.pictures import new_figure


class SurfaceCode:
    """A code of distance d: qubits are edges of a lattice whose first and last rows are one spin.

    Qubits ``down[r, c]`` lie between rows r and r + 1, ``right[r, c]`` inside row r + 1, between
    columns c and c + 1. There is a check in every face of the lattice.
    """

    def __init__(self, distance: int) -> None:
        self.distance = d = distance
        inner = np.arange((d - 1) * d).reshape(d - 1, d)
        self.top, self.bottom = (d - 1) * d, (d - 1) * d + 1
        rows = np.vstack([np.full(d, self.top), inner, np.full(d, self.bottom)])
        down = np.column_stack([rows[:-1].ravel(), rows[1:].ravel()])
        right = np.column_stack([inner[:, :-1].ravel(), inner[:, 1:].ravel()])
        # One more edge, of coupling zero, to ask whether the two large plaquettes agree.
        self.edges = np.concatenate([down, right, [(self.top, self.bottom)]])
        self.embedding = pl.Embedding.from_graph(self.edges, num_vertices=self.bottom + 1)
        self.plan = pl.plan(self.embedding)

    def shots(
        self, p: float, count: int, rng: np.random.Generator
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return a chain that explains the checks of each shot, and whether the true one differs.

        The chain is made from the checks alone: every one that fired is joined to the left border.
        """
        d = self.distance
        flips = rng.random((count, d * d + (d - 1) ** 2)) < p
        down = flips[:, : d * d].reshape(count, d, d)
        right = np.zeros((count, d + 1, d - 1), dtype=bool)
        right[:, 1:-1] = flips[:, d * d :].reshape(count, d - 1, d - 1)
        fired = down[:, :, :-1] ^ down[:, :, 1:] ^ right[:, :-1] ^ right[:, 1:]
        chain = np.zeros_like(down)
        chain[:, :, :-1] = np.logical_xor.accumulate(fired[:, :, ::-1], axis=2)[:, :, ::-1]
        wrong = np.logical_xor.reduce(down[:, :, 0] ^ chain[:, :, 0], axis=1)
        rest = np.zeros((count, (d - 1) ** 2 + 1), dtype=bool)
        return np.concatenate([chain.reshape(count, -1), rest], axis=1), wrong

    def failures(self, p: float, count: int, rng: np.random.Generator) -> tuple[float, float]:
        """Return the failure rates of maximum likelihood and of minimum weight."""
        chains, wrong = self.shots(p, count, rng)
        couplings = np.where(chains, -1.0, 1.0) * np.log((1 - p) / p) / 2
        couplings[:, -1] = 0.0
        agree = np.array([m.edges[-1] for m in self.plan.marginals(couplings)])
        likely = (agree < 0.5) != wrong
        light = np.empty(count, dtype=bool)
        for k, row in enumerate(couplings):
            model = pl.IsingModel(self.edges, row)
            spins = pl.ground_state(model, embedding=self.embedding).spins
            light[k] = (spins[self.top] != spins[self.bottom]) != wrong[k]
        return float(likely.mean()), float(light.mean())


def main(
    distance: int = 7, shots: int = 150, seed: int = 0, out: Path = Path("surface_code.png")
) -> dict[str, float]:
    """Decode SHOTS shots per point for codes of up to DISTANCE (try 15 and 10000)."""
    rng = np.random.default_rng(seed)
    rates = np.array([0.06, 0.08, 0.10, 0.11, 0.12, 0.14])
    distances = sorted({3, (distance + 3) // 2 | 1, distance})
    figure, ((left, right),) = new_figure(1, 2)
    totals = np.zeros(2)
    for k, d in enumerate(distances):
        code = SurfaceCode(d)
        found = np.array([code.failures(p, shots, rng) for p in rates])
        totals += found.sum(axis=0)
        for axes, column in ((left, 0), (right, 1)):
            error = np.sqrt(found[:, column] * (1 - found[:, column]) / shots)
            axes.errorbar(
                rates, found[:, column], error, marker="osD"[k], capsize=2, label=f"d={d}"
            )
    for axes, title, threshold in (
        (left, "maximum likelihood (edge marginal)", 0.1093),
        (right, "minimum weight (ground state)", 0.1031),
    ):
        axes.axvline(threshold, color="#bbbbbb", ls="--", label="threshold")
        axes.set(title=title, xlabel="p", ylabel="logical failure rate", ylim=(0, 0.5))
        axes.legend()
    figure.savefig(out, dpi=100)
    likely, light = totals / (len(distances) * len(rates))
    print(f"mean failure rate: {likely:.4f} by likelihood, {light:.4f} by weight")
    return {"likelihood": float(likely), "weight": float(light)}


if __name__ == "__main__":
    typer.run(main)
