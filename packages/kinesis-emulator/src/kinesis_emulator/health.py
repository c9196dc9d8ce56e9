"""
The health check of the container: whether the emulator that is its first process answers GET /health.

The arguments of that process say at which port, and whether by TLS. This file imports nothing of ours, because it runs every two seconds.
The container's engine ends a check that takes too long.
"""

from __future__ import annotations

import argparse
import ssl
import sys
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from pathlib import Path

FIRST_PROCESS = Path("/proc/1/cmdline")


def connection(command: str) -> HTTPConnection:
    """Return a connection to the emulator that was started by this *command*, whose arguments each end with a zero byte."""
    arguments = command.split("\0")
    if "kinesis_emulator" in arguments:  # what comes before may be an init, with options of its own
        arguments = arguments[arguments.index("kinesis_emulator") + 1 :]
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, default=4567)
    parser.add_argument("--tls", action="store_true")
    parser.add_argument("--tls-certificate")
    options, _ = parser.parse_known_args(arguments)
    if not (options.tls or options.tls_certificate):
        return HTTPConnection("127.0.0.1", options.port)
    unverified = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    unverified.check_hostname = False
    unverified.verify_mode = ssl.CERT_NONE  # whether clients trust it is not a question of health
    return HTTPSConnection("127.0.0.1", options.port, context=unverified)


def main(command: Path = FIRST_PROCESS) -> int:
    """Return the exit status: 0 if it answers."""
    asked = connection(command.read_text())
    try:
        asked.request("GET", "/health")
        return int(asked.getresponse().status != 200)
    except (OSError, HTTPException) as error:
        sys.stderr.write(f"No GET /health on port {asked.port}: {error}\n")
        return 1
    finally:
        asked.close()


if __name__ == "__main__":
    sys.exit(main())
