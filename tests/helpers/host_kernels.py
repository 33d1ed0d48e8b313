"""Kernels of planaris.gpu compiled by the C++ compiler of this machine, for tests."""

from __future__ import annotations

import ctypes
import shutil
import subprocess

import numpy as np
import pytest

from planaris.gpu import tables
from planaris.gpu.compiler import FOLDER

COMPILER = shutil.which("g++") or shutil.which("c++")
needs_compiler = pytest.mark.skipif(COMPILER is None, reason="no C++ compiler on this machine")


def compile_for_host(file, folder, **macros):
    """Compile a source of planaris.gpu as C++; its threads run one after the other."""
    target = folder / ("-".join([file, *(f"{k}{v}" for k, v in macros.items())]) + ".so")
    if target.exists():
        return ctypes.CDLL(str(target))
    options = [f"-D{name}={value}" for name, value in {"PLANARIS_HOST": 1, **macros}.items()]
    subprocess.run(
        [
            *(COMPILER, "-x", "c++", "-std=c++17", "-O1", "-w", "-shared", "-fPIC"),
            *options,
            *(str(FOLDER / file), "-o", str(target)),
        ],
        check=True,
    )
    return ctypes.CDLL(str(target))


def address(array):
    return ctypes.c_void_p(array.__array_interface__["data"][0])


class HostUpdates:
    """The kernels of frontier.cu on tables in the memory of this machine."""

    def __init__(self, program, best, folder, blocks=3):
        self.program, self.blocks = program, blocks
        self.views = tables.ViewUpdates(program, best)
        self.weights = program.logs if best else program.weights
        only = {"BEST": 1} if best else {"FORWARD": 1}
        self.ahead = compile_for_host(
            "frontier.cu",
            folder,
            TILE_BITS=tables.FORWARD.tile_bits,
            THREADS=tables.FORWARD.threads,
            **only,
        )
        if not best:
            self.back = compile_for_host(
                "frontier.cu", folder, TILE_BITS=tables.BACKWARD.tile_bits, THREADS=256, BACKWARD=1
            )
        self.tops = np.zeros(blocks)
        self.passes = 0

    def _pass(self, step, shape, factor):
        self.passes += 1
        found = self.program.as_pass(step, shape, self.weights)
        found["factor"] = factor
        self.raw = found.tobytes()
        self.tops[:] = -1.0
        return self.raw, int(min(found["tiles"], self.blocks))

    def forward(self, data, step, factor):
        if step.bits_before < tables.FORWARD.tile_bits:
            self.tops[:] = np.nan
            self.views.forward(data, step, factor)
            return
        raw, blocks = self._pass(step, tables.FORWARD, factor)
        self.ahead.host_forward(address(data.numpy()), address(self.tops), raw, blocks)

    def backward(self, alpha, beta, step, factor):
        if step.bits_before < tables.BACKWARD.tile_bits:
            self.tops[:] = np.nan
            return self.views.backward(alpha, beta, step, factor)
        raw, blocks = self._pass(step, tables.BACKWARD, factor)
        sums = np.full((blocks, tables.SUMS), np.nan)
        self.back.host_backward(
            address(alpha.numpy()),
            address(beta.numpy()),
            address(self.tops),
            address(sums),
            raw,
            blocks,
        )
        sums = sums.sum(0)
        return sums[: 3 * (step.last - step.first)].reshape(-1, 3), float(sums[-1])

    def forget(self):
        self.tops[:] = np.nan

    def top(self, data, bits):
        largest = self.views.top(data, bits)
        if not np.isnan(self.tops[0]):
            assert self.tops.max() == largest
        return largest

    def additions(self, bits):
        return 1 << 12


class HostFrontKernels:
    """The kernels of fronts.cu and gauge.cu on arrays in the memory of this machine."""

    def __init__(self, folder):
        self.made = {
            real: compile_for_host("fronts.cu", folder, REAL=real, THREADS=64)
            for real in ("double", "float")
        }
        self.gauge = compile_for_host("gauge.cu", folder, THREADS=32)

    def eliminate(self, blocks, tree, batch, single):
        self.made["float" if single else "double"].host_eliminate(tree, batch, blocks)

    def lower_energy(self, graph, couplings, spins, field):
        models = couplings.shape[1]
        pointers = [ctypes.c_void_p(x.data_ptr()) for x in (couplings, spins, field)]
        self.gauge.host_lower_energy(graph, *pointers, ctypes.c_longlong(models), -(-models // 32))

    def anneal(self, colours, couplings, arrays, count):
        pointers = [ctypes.c_void_p(x.data_ptr()) for x in (couplings, *arrays)]
        self.gauge.host_anneal(colours, *pointers, count, len(couplings))
