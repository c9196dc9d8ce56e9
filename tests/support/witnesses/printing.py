"""Events as JSON lines on the standard output, and commands as lines on the standard input, for programs in other environments."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import threading
import time
from collections.abc import AsyncIterator, Callable
from typing import Any

_printing = threading.Lock()


def show(event: str, **facts: Any) -> None:
    """Print an event, with the time by the steady clock of the machine."""
    line = json.dumps({"event": event, "at": time.monotonic_ns(), **facts})
    with _printing:
        sys.stdout.write(line + "\n")
        sys.stdout.flush()


def options() -> dict[str, str]:
    """Return the arguments of the program, which are name=value."""
    return dict(argument.split("=", 1) for argument in sys.argv[1:])


def obey(**commands: Callable[[], object]) -> None:
    """Do the commands on the standard input in a thread, and end the program with that input."""

    def listen() -> None:
        for line in sys.stdin:
            commands[line.strip()]()
            show("obeyed", command=line.strip())
        os._exit(1)  # the test has ended

    threading.Thread(target=listen, daemon=True).start()


async def wanted_puts() -> AsyncIterator[dict[str, str]]:
    """Yield for each line on the standard input, two numbers, the data from one to before the other with their partition keys."""
    while line := await asyncio.get_running_loop().run_in_executor(None, sys.stdin.readline):
        first, stop = map(int, line.split())
        yield {str(number): f"key-{number % 20}" for number in range(first, stop)}
        show("put")
