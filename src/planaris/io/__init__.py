"""Foreign files and objects to models and back; the only place signs change."""

from planaris.io.edge_list import read_edge_list, write_edge_list
from planaris.io.maxcut import read_maxcut, write_maxcut
from planaris.io.model_files import read_model, write_model
from planaris.io.qubo import read_coo, read_qubo, write_coo, write_qubo
from planaris.io.results import (
    read_map,
    read_mar,
    read_pr,
    write_map,
    write_mar,
    write_mmap,
    write_pr,
)
from planaris.io.uai import (
    read_evidence,
    read_query,
    read_uai,
    write_evidence,
    write_query,
    write_uai,
)

__all__ = [
    "read_coo",
    "read_edge_list",
    "read_evidence",
    "read_map",
    "read_mar",
    "read_maxcut",
    "read_model",
    "read_pr",
    "read_qubo",
    "read_query",
    "read_uai",
    "write_coo",
    "write_edge_list",
    "write_evidence",
    "write_map",
    "write_mar",
    "write_maxcut",
    "write_mmap",
    "write_model",
    "write_pr",
    "write_qubo",
    "write_query",
    "write_uai",
]
