"""Decoders for sinter; ``planaris.interop.stim.sinter_decoders`` returns them by name."""

from __future__ import annotations

from typing import Any

import numpy as np

from planaris.decode.decoder import Method
from planaris.errors import missing_extra
from planaris.interop.stim import Decoder
from planaris.typing import Array

try:
    import sinter
except ImportError:
    raise missing_extra(package="sinter", extra="qec") from None

__all__ = ["PlanarisDecoder"]


class PlanarisDecoder(sinter.Decoder):  # type: ignore[misc]
    """Decoder of planaris as sinter calls it.

    Parameters
    ----------
    method : {"ml", "matching"}
        As for :class:`planaris.interop.stim.Decoder`.
    discard_above : float, optional
        With ``"ml"``: discard shots whose prediction is wrong with a larger probability, by the
        exact posterior. Sinter counts them as discarded.

    Examples
    --------
    >>> import stim
    >>> dem = stim.DetectorErrorModel("error(0.1) D0 L0")
    >>> compiled = PlanarisDecoder("ml").compile_decoder_for_dem(dem=dem)
    >>> events = np.array([[1], [0]], dtype=np.uint8)
    >>> compiled.decode_shots_bit_packed(bit_packed_detection_event_data=events).tolist()
    [[1], [0]]
    """

    def __init__(self, method: Method = "ml", *, discard_above: float | None = None) -> None:
        self.method, self.discard_above = method, discard_above

    def compile_decoder_for_dem(self, *, dem: Any) -> _Compiled:
        """Return a decoder of one detector error model."""
        return _Compiled(Decoder(dem, method=self.method, threads=1), self.discard_above)


class _Compiled(sinter.CompiledDecoder):  # type: ignore[misc]
    def __init__(self, decoder: Decoder, discard_above: float | None) -> None:
        self.decoder, self.discard_above = decoder, discard_above

    def decode_shots_bit_packed(self, *, bit_packed_detection_event_data: Array) -> Array:
        """Return predictions; a last byte that is not zero discards the shot."""
        if self.discard_above is None:
            return self.decoder.decode(
                bit_packed_detection_event_data, bit_packed=True, bit_packed_predictions=True
            )
        flipped = self.decoder.posterior(bit_packed_detection_event_data, bit_packed=True)
        predictions = np.packbits(flipped > 0.5, axis=1, bitorder="little")
        doubt = np.minimum(flipped, 1.0 - flipped).max(axis=1, initial=0.0)
        discard = (doubt > self.discard_above).astype(np.uint8)
        return np.concatenate([predictions, discard[:, None]], axis=1)
