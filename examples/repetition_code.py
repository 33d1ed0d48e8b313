"""A repetition code under circuit noise: exact posteriors against the gap of matching.

Stim samples a memory experiment. planaris gives the exact posterior of the logical flip of each
shot, and matching its gap. Both order the shots by how sure the prediction is; discarding the
least sure ones leaves fewer errors when the posterior chooses. The posterior is a probability,
the gap only looks like one.
"""

from pathlib import Path

import numpy as np
import stim
import typer

from planaris.interop.stim import Decoder
from planaris.report.pictures import DOWN, new_figure

POSTERIOR, GAP = DOWN, "#d1495b"


def main(
    distance: int = 9,
    noise: float = 0.03,
    shots: int = 50_000,
    seed: int = 1,
    out: Path = Path("repetition_code.png"),
) -> dict[str, float]:
    """Decode SHOTS shots of a code of DISTANCE under NOISE."""
    circuit = stim.Circuit.generated(
        "repetition_code:memory",
        distance=distance,
        rounds=distance,
        after_clifford_depolarization=noise,
        before_measure_flip_probability=noise,
        after_reset_flip_probability=noise,
        before_round_data_depolarization=noise,
    )
    sampler = circuit.compile_detector_sampler(seed=seed)
    events, flips = sampler.sample(shots, separate_observables=True, bit_packed=False)
    decoder = Decoder(circuit)
    posterior, gap = decoder.posterior(events)[:, 0], decoder.gap(events)[:, 0]
    wrong = (posterior > 0.5) != flips[:, 0]
    shares = np.linspace(0.0, 0.3, 31)
    kept = {}
    for name, sure in (("posterior", np.abs(posterior - 0.5)), ("gap", gap)):
        order = np.argsort(sure, kind="stable")
        kept[name] = [wrong[order[int(s * shots) :]].mean() for s in shares]
    picture, grid = new_figure(1, 2, size=4.0)
    left, right = grid[0]
    place = np.digitize(posterior, np.linspace(0.0, 1.0, 11)[1:-1])
    bins = [place == k for k in range(10) if (place == k).any()]
    predicted = np.array([posterior[chosen].mean() for chosen in bins])
    error = np.sqrt(predicted * (1 - predicted) / [chosen.sum() for chosen in bins])
    left.plot([0, 1], [0, 1], ":", color="gray")
    share = [flips[chosen].mean() for chosen in bins]
    left.errorbar(predicted, share, 2 * error, fmt="o", color=POSTERIOR, label="±2σ")
    left.legend()
    left.set(xlabel="exact posterior of a flip", ylabel="share of shots flipped")
    for (name, rate), colour in zip(kept.items(), (POSTERIOR, GAP), strict=True):
        right.plot(shares, np.maximum(rate, 0.1 / shots), color=colour, label=f"by {name}")
    right.set(xlabel="share of shots discarded", ylabel="logical error rate", yscale="log")
    right.legend()
    picture.savefig(out, dpi=150, bbox_inches="tight")
    tenth = 10
    print(
        f"{shots} shots, distance {distance}: error rate {wrong.mean():.4f}; after discarding a "
        f"tenth {kept['posterior'][tenth]:.5f} by posterior, {kept['gap'][tenth]:.5f} by gap"
    )
    return {
        "error rate": float(wrong.mean()),
        "expected": float(np.minimum(posterior, 1 - posterior).mean()),
        "by posterior": float(kept["posterior"][tenth]),
        "by gap": float(kept["gap"][tenth]),
    }


if __name__ == "__main__":
    typer.run(main)
