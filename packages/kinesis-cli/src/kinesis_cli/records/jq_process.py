"""
Runs a program of jq over payloads. `programs.py` starts this file as a process.

The standard input has lists of payloads: the program as the only one of the first list, and then those to judge. For each
of these the standard output gets one byte, a digit from below.
"""

from __future__ import annotations

import signal
import struct
import sys
from collections.abc import Sequence
from typing import IO, Any

NO, YES, NOT_JSON, FAILED = b"0123"
"""What a program of jq says of a payload. It fails on JSON that it does not take, or where it raises an error."""
_PR_SET_PDEATHSIG = 1
_NUMBER = struct.Struct(">I")


def write_list(payloads: Sequence[bytes], pipe: IO[bytes]) -> None:
    """Write *payloads*, each after its size, and how many they are before them."""
    sized = (part for data in payloads for part in (_NUMBER.pack(len(data)), data))
    pipe.write(b"".join((_NUMBER.pack(len(payloads)), *sized)))
    pipe.flush()


def _read_list(pipe: IO[bytes]) -> list[bytes]:
    return [pipe.read(_read_number(pipe)) for _ in range(_read_number(pipe))]


def _read_number(pipe: IO[bytes]) -> int:
    if len(number := pipe.read(_NUMBER.size)) < _NUMBER.size:
        raise EOFError
    return int(_NUMBER.unpack(number)[0])


def _end_with_parent() -> None:
    """A program without end would not notice that its parent was killed. Linux alone can do something about it."""
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def main() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # who started this process ends it
    _end_with_parent()
    import jq

    requests, verdicts = sys.stdin.buffer, sys.stdout.buffer
    (text,) = _read_list(requests)
    program, nothing = jq.compile(text.decode()), jq.compile("empty")
    while True:
        try:
            payloads = _read_list(requests)
        except EOFError:
            return
        verdicts.write(bytes(_judge(program, nothing, data) for data in payloads))
        verdicts.flush()


def _judge(program: Any, nothing: Any, data: bytes) -> int:
    try:
        return YES if _is_true(program, data) else NO
    except ValueError:  # which of the two it was, jq says in words only, and these show the payload
        pass
    try:
        _is_true(nothing, data)
    except ValueError:
        return NOT_JSON
    return FAILED


def _is_true(program: Any, data: bytes) -> bool:
    results = iter(program.input_text(data.decode()))
    return any(result is not None and result is not False for result in results)


if __name__ == "__main__":
    main()
