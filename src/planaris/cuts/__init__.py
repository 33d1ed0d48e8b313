"""Ground states by minimum cuts: exact for submodular models, partial for the rest."""

from planaris.cuts.graph_cut import graph_cut
from planaris.cuts.roof_dual import FlowCertificate, qpbo
from planaris.cuts.submodular import Submodularity, is_submodular

__all__ = ["FlowCertificate", "Submodularity", "graph_cut", "is_submodular", "qpbo"]
