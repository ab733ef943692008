# SPDX-License-Identifier: Apache-2.0
"""The floating-point mode of a thread, set and read."""

from __future__ import annotations

import ctypes
import platform

import pytest


class Mode:
    """The MXCSR register, through the C library's fenv_t (x86-64: its last four bytes)."""

    _fenv = ctypes.c_uint32 * 8
    _library = ctypes.CDLL(None)

    def get(self) -> int:
        fenv = self._fenv()
        assert self._library.fegetenv(fenv) == 0
        return fenv[7]

    def set(self, mxcsr: int) -> None:
        fenv = self._fenv()
        self._library.fegetenv(fenv)
        fenv[7] = mxcsr
        assert self._library.fesetenv(fenv) == 0


FTZ_DAZ, UPWARD, TO_ZERO = 0x8040, 0x4000, 0x6000
x86 = pytest.mark.skipif(platform.machine() != "x86_64", reason="MXCSR is a register of x86")
