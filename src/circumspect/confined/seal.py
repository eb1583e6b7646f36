"""seal_process: from here on this process has no network, starts no other, and changes no file. Linux, by seccomp.

Limits hold a parser that goes astray; this holds one that a file took over. It is a second line, so a system without
seccomp, or a machine whose numbers are not listed here, goes without it.
"""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import struct
import sys
from dataclasses import dataclass

_PR_SET_NO_NEW_PRIVS, _PR_SET_SECCOMP, _FILTER = 38, 22, 2
_LOAD, _EQUALS, _ANY_BIT, _RETURN = 0x20, 0x15, 0x45, 0x06
_ALLOW, _KILL, _REFUSE = 0x7FFF0000, 0x80000000, 0x00050000 | errno.EPERM
_NUMBER, _ARCHITECTURE, _ARGUMENTS = 0, 4, (16, 24, 32)
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC


@dataclass(frozen=True, slots=True)
class _Machine:
    architecture: int
    opening: tuple[tuple[int, int], ...]
    """Calls that open a file, and which of their arguments says what for."""
    refused: tuple[int, ...]
    """Sockets; new processes and programs; signals to and memory of others; other ways to open, and changes of files;
    namespaces, mounts, io_uring and bpf, which lead around all this."""


_MACHINES = {
    "x86_64": _Machine(
        0xC000003E,
        ((257, 2), (2, 1)),
        (41, 42, 49, 53, 56, 57, 58, 59, 322, 435, 62, 129, 424, 101, 310, 311, 85, 437, 76, 77, 82, 84, 86, 87, 88,
         90, 92, 263, 264, 265, 266, 258, 83, 268, 260, 316, 272, 308, 165, 425, 321),
    ),
    "aarch64": _Machine(
        0xC00000B7,
        ((56, 2),),
        (198, 203, 200, 199, 220, 221, 281, 435, 129, 138, 424, 117, 270, 271, 437, 45, 46, 34, 35, 36, 37, 38, 53, 54,
         276, 97, 268, 40, 425, 280),
    ),
}  # fmt: skip


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("steps", ctypes.c_void_p))


def seal_process() -> bool:
    """Whether it is sealed now. There is no way back."""
    machine = _MACHINES.get(platform.machine()) if sys.platform == "linux" else None
    if machine is None:
        return False
    steps = b"".join(_make_filter(machine))
    room = ctypes.create_string_buffer(steps, len(steps))
    program = _Program(len(steps) // 8, ctypes.addressof(room))
    prctl = ctypes.CDLL(None, use_errno=True).prctl
    if prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0:
        return False
    return bool(prctl(_PR_SET_SECCOMP, _FILTER, ctypes.byref(program), 0, 0) == 0)


def _make_filter(machine: _Machine) -> list[bytes]:
    """Classic BPF: code, steps to skip when true, steps to skip when false, operand."""
    ending = [(_RETURN, 0, 0, _ALLOW), (_RETURN, 0, 0, _REFUSE)]
    opening = [
        step
        for number, flags in machine.opening
        for step in (
            (_EQUALS, 0, 4, number),
            (_LOAD, 0, 0, _ARGUMENTS[flags]),
            (_ANY_BIT, 0, 1, _WRITING),
            (_RETURN, 0, 0, _REFUSE),
            (_RETURN, 0, 0, _ALLOW),
        )
    ]
    left = len(machine.refused) + len(opening) + 1
    steps = [
        (_LOAD, 0, 0, _ARCHITECTURE),
        (_EQUALS, 1, 0, machine.architecture),
        (_RETURN, 0, 0, _KILL),  # numbers of another architecture mean other calls
        (_LOAD, 0, 0, _NUMBER),
        (_ANY_BIT, left, 0, 0x40000000),  # x32's numbers are the same calls once more
        *((_EQUALS, left - at - 1, 0, number) for at, number in enumerate(machine.refused)),
        *opening,
        *ending,
    ]
    return [struct.pack("=HBBI", *step) for step in steps]
