"""The command `kinesis-emulator`."""

from __future__ import annotations

import argparse
import os
import signal
import sys
import threading
from collections.abc import Sequence

from kinesis_emulator.emulator import Emulator
from kinesis_emulator.errors import AwsError
from kinesis_emulator.limits import Limits
from kinesis_emulator.server import HOST
from kinesis_emulator.service import Settings

READY = "kinesis-emulator listens on "
"""What the first line of output begins with; the endpoint's URL follows."""
_PARENT_CHECK_S = 0.25


def main(arguments: Sequence[str] | None = None) -> int:
    """Serve until interrupted; returns the exit status."""
    options = _parser().parse_args(arguments)
    stopped = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stopped.set())
    limits = Limits.unlimited() if options.unlimited else Limits()
    settings = Settings(region=options.region, limits=limits, keep_trimmed=False)
    try:
        emulator = Emulator(options.port, settings=settings)
    except OSError as error:
        sys.stderr.write(
            f"kinesis-emulator: cannot listen on {HOST}:{options.port}: {error.strerror}. "
            "Choose another port with --port, or any free one with --port 0.\n"
        )
        return 2
    with emulator:
        try:
            for name, shards in options.stream:
                emulator.create_stream(name, shards)
        except AwsError as error:
            sys.stderr.write(f"kinesis-emulator: {error}\n")
            return 2
        sys.stdout.write(_welcome(emulator, options.stream))
        sys.stdout.flush()
        _wait(stopped, options.parent_pid)
    return 0


def _wait(stopped: threading.Event, parent_pid: int | None) -> None:
    """Wait for a signal, or until the parent is gone: an orphan is handed to another process."""
    if parent_pid is None:
        stopped.wait()
        return
    while not stopped.wait(_PARENT_CHECK_S):
        if os.getppid() != parent_pid:
            return


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="kinesis-emulator",
        description="A local Amazon Kinesis Data Streams for tests and demos. Listens on 127.0.0.1 only, keeps "
        "everything in memory.",
    )
    parser.add_argument(
        "--port", type=_port, default=4567, help="default: 4567; 0 takes any free port", metavar="N"
    )
    parser.add_argument(
        "--stream",
        type=_stream,
        action="append",
        default=[],
        metavar="NAME[:SHARDS]",
        help="create this stream; may be repeated",
    )
    parser.add_argument(
        "--region", default="us-east-1", help="of the streams created here; default: us-east-1"
    )
    parser.add_argument(
        "--unlimited", action="store_true", help="no throttling; request and record sizes still hold"
    )
    parser.add_argument("--parent-pid", type=int, help=argparse.SUPPRESS)
    return parser


def _port(text: str) -> int:
    if not text.isdecimal() or int(text) > 65535:
        raise argparse.ArgumentTypeError(f"{text!r} is not a port; use 0 to 65535")
    return int(text)


def _stream(text: str) -> tuple[str, int]:
    name, colon, count = text.partition(":")
    if not name or (colon and (not count.isdecimal() or int(count) < 1)):
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME or NAME:SHARDS, such as orders:4")
    return name, int(count) if colon else 1


def _welcome(emulator: Emulator, streams: Sequence[tuple[str, int]]) -> str:
    url, region = emulator.endpoint_url, emulator.settings.region
    lines = [f"{READY}{url}"]
    lines += [f"  stream {name} with {shards} shard{'s'[: shards > 1]}" for name, shards in streams]
    lines += [
        "",
        "For boto3 and the AWS CLI (any credentials will do):",
        f"  export AWS_ENDPOINT_URL_KINESIS={url} AWS_REGION={region} AWS_DEFAULT_REGION={region}",
        "  export AWS_ACCESS_KEY_ID=local AWS_SECRET_ACCESS_KEY=local",
        "For Spark:",
        f'  .option("endpointUrl", "{url}").option("region", "{region}")',
        '  .option("awsAccessKeyId", "local").option("awsSecretKey", "local")',
        "",
        "Ctrl-C stops it.",
    ]
    return "\n".join(lines) + "\n"
