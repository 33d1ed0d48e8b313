"""Energies per spin of open L×L glasses, extrapolated to infinite size.

Open boundaries cost energy in proportion to their length: e(L) = e + a / L + O(1 / L²). The
literature has e = -1.4019 for ±J and -1.3147 for Gaussian couplings. Run as a script.
"""

from __future__ import annotations

import argparse

import numpy as np

import planaris as pl
from planaris.generate import spin_glass

SAMPLES = {100: 200, 150: 100, 200: 60, 300: 30, 400: 20}
LITERATURE = {"bimodal": -1.4019, "gaussian": -1.3147}


def main() -> None:
    argparse.ArgumentParser(description=__doc__).parse_args()
    for disorder, known in LITERATURE.items():
        sizes, means, errors = [], [], []
        for size, count in SAMPLES.items():
            rng = np.random.default_rng(size)
            glasses = (spin_glass(size, rng, disorder=disorder) for _ in range(count))
            energies = np.array([pl.ground_state(glass).energy for glass in glasses]) / size**2
            sizes.append(size)
            means.append(energies.mean())
            errors.append(energies.std(ddof=1) / np.sqrt(count))
            print(f"{disorder} {size:4d}: {means[-1]:.5f} ± {errors[-1]:.5f}")
        scale = 1 / np.array(errors)
        design = np.column_stack([scale, scale / np.array(sizes)])
        covariance = np.linalg.inv(design.T @ design)
        limit, _ = covariance @ design.T @ (scale * np.array(means))
        print(f"{disorder}  inf: {limit:.5f} ± {np.sqrt(covariance[0, 0]):.5f}, literature {known}")


if __name__ == "__main__":
    main()
