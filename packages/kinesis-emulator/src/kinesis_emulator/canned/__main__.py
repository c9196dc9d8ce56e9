"""The child process of `CannedKinesis`: `python -m kinesis_emulator.canned`."""

from __future__ import annotations

import argparse
import json
import signal
import ssl
import sys
import threading

from kinesis_emulator.canned.responses import Responses
from kinesis_emulator.canned.server import CannedServer
from kinesis_emulator.canned.stream import CannedStream
from kinesis_emulator.child import READY, wait_until_stopped


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--parent-pid", type=int)
    parser.add_argument("--stream", required=True)
    parser.add_argument("--latency-s", type=float, default=0.0)
    parser.add_argument("--tls", nargs=2)
    options = parser.parse_args()
    stopped = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stopped.set())
    tls = None
    if options.tls:
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        tls.load_cert_chain(*options.tls)
    responses = Responses(CannedStream(**json.loads(options.stream)))
    server = CannedServer(responses, options.latency_s, tls)
    server.start()
    sys.stdout.write(f"{READY}{server.endpoint_url}\n")
    sys.stdout.flush()
    wait_until_stopped(stopped, options.parent_pid)
    return 0


if __name__ == "__main__":
    sys.exit(main())
