"""Detector error models of small codes, and their syndromes by enumeration of all errors."""

import numpy as np
import stim


def surface(distance, p, kind="rotated"):
    """Code capacity: bit flips of data qubits with probability p, perfect measurements."""
    circuit = stim.Circuit.generated(
        f"surface_code:{kind}_memory_z",
        distance=distance,
        rounds=1,
        before_round_data_depolarization=min(1.5 * p, 0.75),
    )
    return circuit.detector_error_model()


def repetition(distance, rounds, p):
    """Circuit noise of strength p."""
    circuit = stim.Circuit.generated(
        "repetition_code:memory",
        distance=distance,
        rounds=rounds,
        after_clifford_depolarization=p,
        before_measure_flip_probability=p,
        after_reset_flip_probability=p,
        before_round_data_depolarization=p,
    )
    return circuit.detector_error_model()


def changed(dem, probability):
    """The model with probability(number, p) instead of p."""
    out = stim.DetectorErrorModel()
    number = 0
    for instruction in dem.flattened():
        if instruction.type == "error":
            p = float(probability(number, instruction.args_copy()[0]))
            out.append("error", [p], instruction.targets_copy())
            number += 1
        else:
            out.append(instruction)
    return out


def uneven(dem, rng, low=0.5, high=2.0):
    factors = np.exp(rng.uniform(np.log(low), np.log(high), dem.num_errors))
    return changed(dem, lambda k, p: min(0.5, p * factors[k]))


def class_table(dem):
    """Detectors that some mechanism names, and P(syndrome of these, observable 0).

    One mechanism after the other is folded in: sums of products of positive numbers, no other
    arithmetic. Shape (2, 2^detectors).
    """
    errors = [i for i in dem.flattened() if i.type == "error"]
    named = {t.val for i in errors for t in i.targets_copy() if t.is_relative_detector_id()}
    detectors = sorted(named)
    bit = {d: k for k, d in enumerate(detectors)}
    table = np.zeros(2 << len(detectors))
    table[0] = 1.0
    at = np.arange(len(table))
    for instruction in errors:
        flip = 0
        for target in instruction.targets_copy():
            if target.is_relative_detector_id():
                flip ^= 1 << bit[target.val]
            elif target.is_logical_observable_id() and target.val == 0:
                flip ^= 1 << len(detectors)
        p = instruction.args_copy()[0]
        table = (1.0 - p) * table + p * table[at ^ flip]
    return detectors, table.reshape(2, -1)


def syndromes(dem, detectors, numbers):
    """The numbered syndromes of a class table as rows of bools."""
    shots = np.zeros((len(numbers), dem.num_detectors), dtype=bool)
    shots[:, detectors] = (np.asarray(numbers)[:, None] >> np.arange(len(detectors))) & 1
    return shots
