"""
Runs a program of jq over payloads. `programs.py` starts this file as a process.

The standard input has the program and then lists of payloads, each as Python's marshal. For each list the standard output
gets one byte a payload, one of the digits below.
"""

from __future__ import annotations

import marshal
import signal
import sys
from typing import IO, Any

NO, YES, NOT_JSON, FAILED = b"0123"
"""What a program of jq says of a payload. It fails on JSON that it does not take, or where it raises an error."""


def main() -> None:
    import jq

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # who started this process ends it
    requests, verdicts = sys.stdin.buffer, sys.stdout.buffer
    program, nothing = jq.compile(_next(requests)), jq.compile("empty")
    while True:
        try:
            payloads = _next(requests)
        except EOFError:
            return
        verdicts.write(bytes(_judge(program, nothing, data) for data in payloads))
        verdicts.flush()


def _next(requests: IO[bytes]) -> Any:
    return marshal.load(requests)  # noqa: S302 # it comes from who started this process


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
