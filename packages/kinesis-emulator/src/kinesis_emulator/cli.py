"""The command `kinesis-emulator`."""

from __future__ import annotations

import argparse
import math
import os
import re
import signal
import sys
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import NoReturn, TypeVar

from kinesis_emulator.addresses import HOST
from kinesis_emulator.client_settings import environment, spark_options
from kinesis_emulator.emulator import Emulator
from kinesis_emulator.errors import AwsError
from kinesis_emulator.faults import RandomFaults
from kinesis_emulator.limits import Limits
from kinesis_emulator.process import READY, TRUST
from kinesis_emulator.requests import NAME_PATTERN
from kinesis_emulator.settings import Settings

NAME = "kinesis-emulator"
_OPEN = (
    "it listens on {}: others on the network can read and write, because nobody's credentials are checked."
)
READER_GONE = 141
"""The exit status when nobody reads the output, such as `head` that has ended: that of a shell for SIGPIPE."""

N = TypeVar("N", int, float)
_PARENT_CHECK_S = 0.25
_TIMES = {
    "readable_after_s": "time from the put of a record until it can be read",
    "stream_creating_s": "time for which a stream that CreateStream makes is CREATING, and refuses to be listed, read and written",
    "stream_settling_s": "time for which a new stream refuses this even after it is ACTIVE",
    "stream_updating_s": "time for which a stream is UPDATING after a change, and refuses others",
    "stream_deleting_s": "time for which a deleted stream is DELETING",
    "consumer_creating_s": "time for which a registered consumer is CREATING",
    "consumer_deleting_s": "time for which a deregistered consumer is DELETING",
}
"""What the fields of `Settings` with these names mean. Options of streams do not say so: it is `--creating`."""
_UNITS_S = {"ms": 0.001, "s": 1.0, "": 1.0, "m": 60.0, "h": 3600.0}
_OF_SETTINGS = ("region", "shard_capacity_records", "signed_within_s")
"""The options that are fields of `Settings`."""


class _Parser(argparse.ArgumentParser):
    """Its errors are one line, without the usage."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: {message}. See '{self.prog} --help'.\n")


def main(arguments: Sequence[str] | None = None, name: str = NAME) -> int:
    """Serve until a signal stops the command, whose errors begin with *name*. Return the exit status."""
    options = _parser(name).parse_args(arguments)
    stopped = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stopped.set())
    settings = _settings(options)
    if options.fault_share:
        settings.fault = RandomFaults(options.fault_seed, options.fault_share)
    try:
        emulator = Emulator(
            options.port,
            settings=settings,
            clock=_clock(options),
            data=options.data,
            host=options.host,
            tls=_tls(options),
            cors=options.cors,
        )
    except (OSError, ValueError) as error:
        sys.stderr.write(f"{name}: {_why_not(error, options)}\n")
        return 2
    if not emulator.is_local:
        sys.stderr.write(f"{name}: {_OPEN.format(options.host)}\n")
    try:
        for stream, shards in options.stream:  # before it serves: who gets a response finds them
            if options.data is not None and emulator.has_stream(stream):
                continue  # the folder has it
            emulator.create_stream(stream, shards)
    except AwsError as error:
        emulator.stop()
        sys.stderr.write(f"{name}: {error}\n")
        return 2
    with emulator:
        if not _show(_welcome(emulator, options.stream)):
            return READER_GONE
        _wait(stopped, options.parent_pid)
    return 0


def _settings(options: argparse.Namespace) -> Settings:
    """Return the settings: times that are not given are the default ones, or those of AWS."""
    settings = Settings.like_aws() if options.like_aws else Settings()
    given = {name: value for name in _TIMES if (value := getattr(options, name)) is not None}
    return replace(
        settings,
        limits=Limits.unlimited() if options.unlimited else Limits(),
        keep_trimmed=False,
        **{name: getattr(options, name) for name in _OF_SETTINGS},
        **given,
    )


def _wait(stopped: threading.Event, parent_pid: int | None) -> None:
    """Wait for a signal, or until the parent has ended: then this process gets another parent."""
    while not stopped.wait(None if parent_pid is None else _PARENT_CHECK_S):
        if os.getppid() != parent_pid:
            return


def _show(text: str) -> bool:
    """Write *text* to the standard output. Return whether somebody reads it."""
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(
            os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno()
        )  # Python writes what is left at its end
        return False
    return True


def _tls(options: argparse.Namespace) -> bool | tuple[str, str]:
    """
    Return how the port speaks TLS.

    Raises:
        ValueError: One of the two files is missing.
    """
    files = (options.tls_certificate, options.tls_key)
    if not any(files):
        return bool(options.tls)
    if not all(files):
        raise ValueError("--tls-certificate and --tls-key belong together.")
    return files


def _why_not(error: OSError | ValueError, options: argparse.Namespace) -> str:
    """Return why the emulator cannot start: its folder or its port cannot be used."""
    if isinstance(error, ValueError):
        return str(error)
    if error.filename is not None:
        return f"cannot keep data in {error.filename}: {error.strerror}. Choose another folder with --data."
    return (
        f"cannot listen on {options.host}:{options.port}: {error.strerror}. "
        "Choose another port with --port, or any free one with --port 0."
    )


def _clock(options: argparse.Namespace) -> Callable[[], float]:
    return lambda: time.time() + float(options.clock_skew_s)


def _parser(name: str = NAME) -> argparse.ArgumentParser:
    parser = _Parser(
        prog=name,
        description="A local Amazon Kinesis Data Streams for tests and demos. It speaks HTTP/1.1 "
        "and HTTP/2 on one port, and keeps all data in memory, unless --data is given.",
    )
    parser.add_argument(
        "--port", type=_port, default=4567, help="default: 4567; 0 takes any free port", metavar="N"
    )
    parser.add_argument(
        "--host",
        default=HOST,
        help="the address to listen on, such as 0.0.0.0 in a container; with another one than the default, 127.0.0.1, "
        "others on the network can read and write",
    )
    parser.add_argument(
        "--tls", action="store_true", help="speak TLS, with a certificate that is made at the start"
    )
    parser.add_argument(
        "--tls-certificate", help="speak TLS, with your certificate in this file, in PEM", metavar="FILE"
    )
    parser.add_argument("--tls-key", help="the key of your certificate, in PEM", metavar="FILE")
    parser.add_argument(
        "--cors",
        action="append",
        default=[],
        help="let web pages of this origin call from a browser, such as http://localhost:3000; * lets all; may be repeated",
        metavar="ORIGIN",
    )
    parser.add_argument(
        "--stream",
        type=_stream,
        action="append",
        default=[],
        metavar="NAME[=SHARDS]",
        help="create this stream, by default with 1 shard; may be repeated; NAME:SHARDS is the same",
    )
    parser.add_argument(
        "--region", default="us-east-1", help="region of the streams created here; default: us-east-1"
    )
    parser.add_argument(
        "--unlimited", action="store_true", help="no throttling; request and record sizes still hold"
    )
    parser.add_argument(
        "--data", help="keep streams in this folder, and load the streams that it has", metavar="DIR"
    )
    parser.add_argument(
        "--shard-capacity-records",
        type=_count,
        help="a shard keeps at least this many records, and may remove older ones; default: the retention only",
        metavar="N",
    )
    parser.add_argument(
        "--clock-skew-s",
        type=float,
        default=0.0,
        help="seconds that its clock is ahead of yours",
        metavar="S",
    )
    parser.add_argument(
        "--signed-within",
        "--signed-within-s",
        type=_duration,
        dest="signed_within_s",
        help="refuse calls whose signature date is further from the clock; AWS's value is 5m; default: no check",
        metavar="TIME",
    )
    for field, meaning in _TIMES.items():
        name = field.removeprefix("stream_").removesuffix("_s").replace("_", "-")
        default = getattr(Settings(), field)
        parser.add_argument(
            f"--{name}",
            f"--{name}-s",
            type=_duration,
            dest=field,
            help=f"{meaning}, such as 500ms, 2s or 1m; default: {default:g}s",
            metavar="TIME",
        )
    parser.add_argument(
        "--like-aws",
        action="store_true",
        help="let these, and late listings, take the times that they take on AWS, some seconds",
    )
    parser.add_argument(
        "--fault-share", type=_share, default=0.0, help="share of calls that fail, 0 to 1", metavar="SHARE"
    )
    parser.add_argument(
        "--fault-seed", type=int, default=0, help="seed of the faults; default: 0", metavar="N"
    )
    parser.add_argument(
        "--parent-pid",
        type=int,
        help="end when the process with this id ends, which has started the command",
        metavar="PID",
    )
    return parser


def _number(kind: type[N], lowest: float, highest: float, what: str) -> Callable[[str], N]:
    """Return a function that reads a number within these bounds, which *what* describes."""

    def read(text: str) -> N:
        with suppress(ValueError):
            number = kind(text)
            if lowest <= number <= highest:
                return number
        raise argparse.ArgumentTypeError(f"{text!r} is not {what}")

    return read


_port = _number(int, 0, 65535, "a port; use 0 to 65535")
_count = _number(int, 1, sys.maxsize, "a number of records; use 1 or more")
_share = _number(float, 0, 1, "a share from 0 to 1, such as 0.2")


def _duration(text: str) -> float:
    """Return a time in seconds. A number without a unit is one of seconds."""
    found = re.fullmatch(r"(.*?)(ms|s|m|h|)", text)
    with suppress(ValueError):
        seconds = float(found[1]) * _UNITS_S[found[2]] if found else math.nan
        if 0 <= seconds < math.inf:
            return seconds
    raise argparse.ArgumentTypeError(f"{text!r} is not a time, such as 500ms, 2.5s or 1m")


def _stream(text: str) -> tuple[str, int]:
    name, sign, count = text.replace(":", "=", 1).partition("=")
    if not NAME_PATTERN.fullmatch(name) or (sign and (not count.isdecimal() or int(count) < 1)):
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME or NAME=SHARDS, such as orders=4")
    return name, int(count) if sign else 1


def _welcome(emulator: Emulator, streams: Sequence[tuple[str, int]]) -> str:
    url, region = emulator.endpoint_url, emulator.settings.region
    trusted = None if emulator.certificate is None else str(emulator.certificate.resolve())
    lines = [f"{READY}{url}"]
    if trusted is not None:
        lines.append(f"{TRUST}{trusted}")
    for name, _ in streams:  # one that was kept may have other shards than the option says
        shards = len(emulator.shard_ids(name))
        lines.append(f"  stream {name} with {shards} shard{'s'[: shards > 1]}")
    lines += ["", "In the terminals of your programs (any credentials work):"]
    lines += [f"  export {name}={value}" for name, value in environment(url, region, trusted).items()]
    lines += ["Or as options of Spark:"]
    lines += [f'  .option("{name}", "{value}")' for name, value in spark_options(url, region).items()]
    lines += ["", "Ctrl-C stops it."]
    return "\n".join(lines) + "\n"
