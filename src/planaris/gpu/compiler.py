"""CUDA C++ compiled at run time by NVRTC, which comes with torch, and launched by the driver."""

from __future__ import annotations

import ctypes
import sys
from functools import cache
from pathlib import Path
from typing import Any

from planaris.errors import MethodError
from planaris.gpu.device import import_torch

FOLDER = Path(__file__).parent

_MAX_SHARED = 8  # CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES


class Kernel:
    """A kernel of a compiled module, with its block size and bytes of shared memory."""

    def __init__(self, handle: Any, threads: int, shared: int) -> None:
        self._handle, self._threads, self._shared = handle, threads, shared

    def __call__(self, blocks: int, *arguments: Any) -> None:
        """Launch on the current stream; tensors are passed by address, bytes by value."""
        torch = import_torch()
        held: list[Any] = []
        for value in arguments:
            if isinstance(value, bytes):
                held.append(ctypes.create_string_buffer(value, len(value)))
            elif isinstance(value, int):
                held.append(ctypes.c_longlong(value))
            else:
                held.append(ctypes.c_void_p(value.data_ptr()))
        pointers = (ctypes.c_void_p * len(held))(*map(ctypes.addressof, held))
        stream = ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)
        grid = (ctypes.c_uint * 3)(blocks, 1, 1)
        _check(
            _driver().cuLaunchKernel(
                self._handle, *grid, self._threads, 1, 1, self._shared, stream, pointers, None
            ),
            "a kernel could not be launched",
        )


@cache
def compile_module(file: str, device: int, **macros: Any) -> Any:
    """Compile a source of this folder for a device, with macros; return the module.

    The device must be the current one of torch.
    """
    torch = import_torch()
    major, minor = torch.cuda.get_device_capability(device)
    options = [f"--gpu-architecture=sm_{major}{minor}", "--std=c++17"]
    options += [f"-D{name}={value}" for name, value in macros.items() if value is not None]
    torch.zeros(1, device=f"cuda:{device}")  # makes the context current
    module = ctypes.c_void_p()
    image = _compile(_source(file).encode(), options)
    _check(_driver().cuModuleLoadData(ctypes.byref(module), image), f"{file} could not be loaded")
    return module


def _source(file: str) -> str:
    """Return a source with what it includes of this folder."""
    include = '#include "threads.h"'
    return (FOLDER / file).read_text().replace(include, (FOLDER / "threads.h").read_text())


def find_kernel(module: Any, name: str, threads: int, shared: int) -> Kernel:
    """Return a kernel of a module that may use ``shared`` bytes of shared memory."""
    handle = ctypes.c_void_p()
    driver = _driver()
    _check(driver.cuModuleGetFunction(ctypes.byref(handle), module, name.encode()), name)
    _check(driver.cuFuncSetAttribute(handle, _MAX_SHARED, shared), f"{name}: shared memory")
    return Kernel(handle, threads, shared)


def _compile(source: bytes, options: list[str]) -> bytes:
    nvrtc, program = _nvrtc(), ctypes.c_void_p()
    nvrtc.nvrtcCreateProgram(ctypes.byref(program), source, b"planaris.cu", 0, None, None)
    given = (ctypes.c_char_p * len(options))(*(text.encode() for text in options))
    size = ctypes.c_size_t()
    if nvrtc.nvrtcCompileProgram(program, len(options), given):
        nvrtc.nvrtcGetProgramLogSize(program, ctypes.byref(size))
        log = ctypes.create_string_buffer(size.value)
        nvrtc.nvrtcGetProgramLog(program, log)
        msg = f"a kernel could not be compiled for this GPU: {log.value.decode()}"
        raise MethodError(msg)
    nvrtc.nvrtcGetCUBINSize(program, ctypes.byref(size))
    image = ctypes.create_string_buffer(size.value)
    nvrtc.nvrtcGetCUBIN(program, image)
    nvrtc.nvrtcDestroyProgram(ctypes.byref(program))
    return image.raw


@cache
def _driver() -> Any:
    return ctypes.CDLL("libcuda.so.1")


@cache
def _nvrtc() -> Any:
    """Return NVRTC: as the system finds it, or from the packages beside torch."""
    version = str(import_torch().version.cuda).split(".")[0]
    name = f"libnvrtc.so.{version}"
    found = [file for path in sys.path for file in Path(path).glob(f"nvidia/*/lib/{name}*")]
    for place in (*map(str, sorted(found)), name, f"/usr/local/cuda/lib64/{name}"):
        try:
            return ctypes.CDLL(place)
        except OSError:
            continue
    msg = f"`device='cuda'` needs {name}, which comes with torch: pip install nvidia-cuda-nvrtc"
    raise MethodError(msg)


def _check(status: int, what: str) -> None:
    if status:
        text = ctypes.c_char_p()
        _driver().cuGetErrorString(status, ctypes.byref(text))
        reason = text.value.decode() if text.value else f"error {status}"
        msg = f"{what}: {reason}"
        raise MethodError(msg)
