"""Exact decoding of stim's detector error models; decoders for sinter.

>>> import stim
>>> from planaris.interop.stim import Decoder
>>> circuit = stim.Circuit.generated("repetition_code:memory", distance=5, rounds=5,
...                                  before_round_data_depolarization=0.05,
...                                  before_measure_flip_probability=0.05)
>>> decoder = Decoder(circuit)
>>> events, flips = circuit.compile_detector_sampler(seed=1).sample(4, separate_observables=True)
>>> decoder.decode(events).shape, decoder.posterior(events).shape
((4, 1), (4, 1))
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from planaris.decode.decoder import Method, PlanarDecoder
from planaris.decode.fit import FittedModel, fit_model
from planaris.decode.model import ErrorModel
from planaris.errors import FileFormatError, ModelError, missing_extra

__all__ = ["Decoder", "FittedNoise", "fit", "read_detector_error_model", "sinter_decoders"]


def require_stim() -> Any:
    """Return the module stim, or say which extra installs it."""
    try:
        import stim
    except ImportError:
        raise missing_extra(package="stim", extra="qec") from None
    return stim


def read_detector_error_model(source: Any, *, decompose: bool = False) -> Any:
    """Return a ``stim.DetectorErrorModel`` from whatever states one.

    Parameters
    ----------
    source : stim.DetectorErrorModel, stim.Circuit, str or path
        A file that ends in ``.stim`` is read as a circuit, any other as a detector error model.
    decompose : bool
        Whether to let stim split mechanisms of a circuit into parts of at most two detectors.

    Examples
    --------
    >>> import stim
    >>> read_detector_error_model(stim.DetectorErrorModel("error(0.1) D0 L0")).num_detectors
    1
    """
    stim = require_stim()
    if isinstance(source, str) and "\n" in source:
        msg = "`dem` must be a path, got text: stim.DetectorErrorModel(text) is a model"
        raise ModelError(msg)
    if isinstance(source, (str, os.PathLike)):
        source = _read_file(Path(source), stim)
    if isinstance(source, stim.Circuit):
        return source.detector_error_model(
            decompose_errors=decompose, ignore_decomposition_failures=decompose
        )
    if isinstance(source, stim.DetectorErrorModel):
        return source
    msg = (
        "`dem` must be a stim.DetectorErrorModel, a stim.Circuit or a path, "
        f"got {type(source).__name__}"
    )
    raise ModelError(msg)


def _read_file(path: Path, stim: Any) -> Any:
    kind = stim.Circuit if path.suffix == ".stim" else stim.DetectorErrorModel
    what = "circuit" if kind is stim.Circuit else "detector error model"
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        msg = f"{path} must hold a {what} of stim, got a file that is no text, as of shots"
        raise FileFormatError(msg, line=None) from None
    try:
        return kind(text)
    except (ValueError, IndexError) as error:  # stim raises the latter for unknown instructions
        first = str(error).strip().splitlines()[0] if str(error).strip() else "not read by stim"
        msg = f"{path} must hold a {what} of stim: {first}"
        raise FileFormatError(msg, line=None) from None


class Decoder(PlanarDecoder):
    """Decoder of a detector error model, exact where its decoding graph is planar.

    Parameters
    ----------
    dem : stim.DetectorErrorModel, stim.Circuit, str or path
        Mechanisms of at most two detectors each. For ``method="matching"`` the parts of
        decomposed mechanisms count as independent, as in PyMatching.
    method : {"ml", "matching"}
        ``"ml"`` predicts the most likely logical class: the sum over all errors of a class, not
        the most likely error. It needs a planar decoding graph. ``"matching"`` predicts the class
        of a most likely error (minimum-weight perfect matching), on any graph.
    drop : {"never", "smallest"}
        ``"smallest"`` leaves out mechanisms of more than two detectors and, for ``"ml"``, unlikely
        ones until the graph is planar. ``dropped`` says which, and bounds what that can change.
    threads : int, optional
        Default: the processors this process may use.
    device : str, optional
        A GPU, such as ``"cuda"``: sums over errors of ``decode``, ``posterior`` and ``evaluate``
        are computed there, for batches of two thousand shots and more. Lightest errors are found
        by the CPU. Where there is no GPU a warning says why, and the CPU is used.

    Attributes
    ----------
    dropped : Dropped or None
        What was left out, where ``drop="smallest"`` was asked for.

    Notes
    -----
    Several observables are decoded one at a time: each posterior is that of one observable,
    whatever the others are.

    Raises
    ------
    NotMatchableError
        A mechanism flips more than two detectors, or the observable winds around a hole.
    NotPlanarError
        ``instructions`` lists mechanisms of a subdivided K5 or K3,3 of the decoding graph.

    Examples
    --------
    >>> import stim
    >>> dem = stim.DetectorErrorModel('''
    ...     error(0.1) D0 L0
    ...     error(0.1) D0 D1
    ...     error(0.1) D1
    ... ''')
    >>> decoder = Decoder(dem)
    >>> shot = [[True, False]]
    >>> decoder.decode(shot).tolist(), decoder.posterior(shot).round(3).tolist()
    ([[True]], [[0.9]])
    >>> decoder.llr(shot).round(4).tolist(), decoder.gap(shot).round(4).tolist()
    ([[-2.1972]], [[2.1972]])
    """

    def __init__(
        self,
        dem: Any,
        *,
        method: Method = "ml",
        drop: Literal["never", "smallest"] = "never",
        threads: int | None = None,
        device: str | None = None,
    ) -> None:
        matching = method == "matching"
        read = read_detector_error_model(dem, decompose=matching)
        model = ErrorModel.from_stim(read, split=matching)
        super().__init__(model, method=method, drop=drop, threads=threads, device=device)


@dataclass(frozen=True, eq=False, repr=False)
class FittedNoise(FittedModel):
    """Probabilities fitted to detection events; see :func:`fit`.

    Attributes
    ----------
    probabilities, standard_errors : numpy.ndarray
        One per ``error`` instruction of the flattened model. Mechanisms that flip the same
        detectors cannot be told apart: they share what was fitted for them together, in
        proportion to what they were given, and the error of the whole stands for each.
    log_likelihood : float
        Of all shots, at the fitted probabilities.
    num_iterations : int
        Evaluations of the exact likelihood and its gradient.
    converged : bool
        Whether the likelihood had stopped to rise.
    stated : stim.DetectorErrorModel
        The model as it was given.
    """

    stated: Any = field(repr=False)

    @property
    def dem(self) -> Any:
        """The flattened model with the fitted probabilities, as a ``stim.DetectorErrorModel``."""
        stim = require_stim()
        found = stim.DetectorErrorModel()
        fitted = iter(self.probabilities.tolist())
        for instruction in self.stated.flattened():
            if instruction.type == "error":
                targets = instruction.targets_copy()
                found.append(stim.DemInstruction("error", [next(fitted)], targets))
            else:
                found.append(instruction)
        return found


def fit(
    dem: Any,
    shots: Any,
    *,
    bit_packed: bool = False,
    max_iterations: int = 100,
    tolerance: float = 1e-3,
    threads: int | None = None,
    time_limit: float | None = None,
) -> FittedNoise:
    r"""Fit the probabilities of a detector error model to detection events, by maximum likelihood.

    Likelihood and gradient are exact: sums over all errors that explain a syndrome.

    Parameters
    ----------
    dem : stim.DetectorErrorModel, stim.Circuit, str or path
        Its probabilities are where the search starts; its graph must be planar.
    shots : array_like
        Detection events, as :meth:`Decoder.decode` takes them.
    bit_packed : bool
        Eight detectors share a byte of ``shots``.
    max_iterations : int
        Evaluations of the likelihood at most.
    tolerance : float
        The search ends when three evaluations raise the log-likelihood by less than this per
        edge, and a step raises no probability by more than a tenth. Where half a unit per edge
        is chance, a thousandth decides nothing.
    threads : int, optional
        Default: the processors this process may use.
    time_limit : float, optional
        Seconds, after which :class:`~planaris.errors.TimeLimitError` is raised.

    Returns
    -------
    FittedNoise
        Probabilities, standard errors, and the fitted model as ``dem``. Mechanisms that flip the
        same detectors act between 1e-9 and 0.49 of the time, taken together; those of probability
        0 stay so.

    Examples
    --------
    >>> import numpy as np, stim
    >>> dem = stim.DetectorErrorModel("error(0.2) D0\nerror(0.2) D1 L0")
    >>> shots = np.array([[1, 0]] * 30 + [[0, 1]] * 10 + [[0, 0]] * 60, dtype=bool)
    >>> fitted = fit(dem, shots)
    >>> fitted.probabilities.round(3).tolist(), fitted.standard_errors.round(3).tolist()
    ([0.3, 0.1], [0.047, 0.031])
    """
    stated = read_detector_error_model(dem)
    found = fit_model(
        ErrorModel.from_stim(stated),
        shots,
        bit_packed=bit_packed,
        max_iterations=max_iterations,
        tolerance=tolerance,
        threads=threads,
        time_limit=time_limit,
    )
    return FittedNoise(**found.__dict__, stated=stated)


def sinter_decoders() -> dict[str, Any]:
    """Return decoders for sinter: ``planaris`` (matching) and ``planaris-ml`` (exact).

    For ``sinter.collect(custom_decoders=...)``, and on the command line for
    ``--custom_decoders_module_function planaris.interop.stim:sinter_decoders``.

    Examples
    --------
    >>> sorted(sinter_decoders())
    ['planaris', 'planaris-ml']
    """
    from planaris.interop.sinter import PlanarisDecoder

    return {"planaris": PlanarisDecoder("matching"), "planaris-ml": PlanarisDecoder("ml")}
