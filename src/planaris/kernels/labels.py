"""Branch and bound over the labels of a Markov random field, compiled."""

from __future__ import annotations

from planaris import _core

LabelSearch = _core.LabelSearch
"""A search that can be stopped and gone on with; energies without the constant factors."""

LabelSearchRecords = _core.LabelSearchRecords
"""The steps of a search, for its proof."""
