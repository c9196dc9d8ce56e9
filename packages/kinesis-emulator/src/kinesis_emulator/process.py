"""The emulator in a child process, so that it takes no time from the program that uses it."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import IO

from kinesis_emulator import client_settings
from kinesis_emulator.addresses import HOST

TRUST = "  trust "
"""The line with the certificate that clients must trust begins with this. It comes second."""
READY = "kinesis-emulator listens on "
"""The first line of the child's output begins with this. The endpoint's URL follows."""
_STOP_S = 5


class EmulatorProcess:
    """
    A local Kinesis in a child process; a context manager.

        with EmulatorProcess({"orders": 4}) as emulator:
            client = boto3.client("kinesis", endpoint_url=emulator.endpoint_url, ...)

    The child ends with the `with` block, and by itself when this process dies, whatever the cause.

    Args:
        streams: The streams to create, with their numbers of shards.
        port: The port to listen on; 0 takes any free port.
        region: The region of *streams*.
        unlimited: Whether there are no rate limits (the default), or AWS's.
        data: A folder that keeps the streams for the next emulator, even if this one is killed.
        shard_capacity_records: A shard keeps at least this many records, and may remove older ones before they expire. It
            bounds the memory of an emulator that runs for long.
        clock_skew_s: Seconds by which its clock is ahead of this machine's.
        signed_within_s: The maximum distance of a signature's date from the clock in seconds; AWS's value is 300. None
            accepts any date.
        like_aws: Whether statuses, listings and records take the times that they take on AWS, as `Settings.like_aws`. The
            times below, where they are given, come first. None is the default of `Settings`.
        readable_after_s: Seconds from the put of a record until it can be read.
        stream_creating_s: Seconds for which a stream that CreateStream makes is CREATING, and refuses to be listed, read and
            written. *streams* are ACTIVE at once.
        stream_settling_s: Seconds for which such a stream refuses this even after it is ACTIVE.
        stream_updating_s: Seconds for which a stream is UPDATING after a change, and refuses others.
        stream_deleting_s: Seconds for which a deleted stream is DELETING.
        consumer_creating_s: Seconds for which a registered consumer is CREATING.
        consumer_deleting_s: Seconds for which a deregistered consumer is DELETING.
        fault_share: The share of calls with a fault, from 0 to 1, as `RandomFaults` chooses.
        fault_seed: The seed of that choice.
        host: The address to listen on. With another one than the default, others on the network can read and write.
        tls: Whether the port speaks TLS, with a certificate that is made at the start; or the files of your own certificate and its
            key, in PEM.
        cors: The origins of the web pages that may call; `*` allows all.
    """

    def __init__(
        self,
        streams: Mapping[str, int] | None = None,
        *,
        port: int = 0,
        region: str = "us-east-1",
        unlimited: bool = True,
        data: str | Path | None = None,
        shard_capacity_records: int | None = None,
        clock_skew_s: float = 0.0,
        signed_within_s: float | None = None,
        like_aws: bool = False,
        readable_after_s: float | None = None,
        stream_creating_s: float | None = None,
        stream_settling_s: float | None = None,
        stream_updating_s: float | None = None,
        stream_deleting_s: float | None = None,
        consumer_creating_s: float | None = None,
        consumer_deleting_s: float | None = None,
        fault_share: float = 0.0,
        fault_seed: int = 0,
        host: str = HOST,
        tls: bool | tuple[str | Path, str | Path] = False,
        cors: Collection[str] = (),
    ) -> None:
        options = {
            "port": port,
            "region": region,
            "data": data,
            "shard-capacity-records": shard_capacity_records,
            "clock-skew-s": clock_skew_s,
            "signed-within-s": signed_within_s,
            "readable-after-s": readable_after_s,
            "creating-s": stream_creating_s,
            "settling-s": stream_settling_s,
            "updating-s": stream_updating_s,
            "deleting-s": stream_deleting_s,
            "consumer-creating-s": consumer_creating_s,
            "consumer-deleting-s": consumer_deleting_s,
            "fault-share": fault_share,
            "fault-seed": fault_seed,
            "host": host,
            **dict(zip(("tls-certificate", "tls-key"), tls if isinstance(tls, tuple) else (), strict=False)),
        }
        self._command = [
            *(sys.executable, "-m", "kinesis_emulator", f"--parent-pid={os.getpid()}"),
            *(f"--stream={name}={shards}" for name, shards in (streams or {}).items()),
            *(["--unlimited"] if unlimited else []),
            *(["--tls"] if tls is True else []),
            *(f"--cors={origin}" for origin in cors),
            *(["--like-aws"] if like_aws else []),
            *(f"--{name}={value}" for name, value in options.items() if value is not None),
        ]
        self._child: subprocess.Popen[str] | None = None
        self._errors: IO[str] | None = None
        self.region = region
        self.endpoint_url = ""
        """Set by `start`."""
        self.certificate: Path | None = None
        """The file that clients must trust if the port speaks TLS. Set by `start`."""

    @property
    def port(self) -> int:
        return int(self.endpoint_url.rpartition(":")[2])

    @property
    def pid(self) -> int:
        return self._running().pid

    @property
    def spark_options(self) -> dict[str, str]:
        """The options of `.format("kinesis")` with which Spark uses this emulator: region, endpoint and keys."""
        return client_settings.spark_options(self.endpoint_url, self.region)

    def start(self) -> None:
        """
        Start the child, and return when it listens.

        Raises:
            RuntimeError: It cannot start. The message has its error output.
        """
        # Errors go to a file, because a pipe would fill up unread. The child has its own session, so that Ctrl-C
        # reaches only the program, which can finish while the emulator still runs.
        self._errors = tempfile.TemporaryFile("w+")  # noqa: SIM115 - `stop` closes it
        child = subprocess.Popen(  # noqa: S603 - our own module
            self._command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
            start_new_session=True,
        )
        line = child.stdout.readline() if child.stdout else ""
        if not line.startswith(READY):
            child.communicate()
            errors = self.log()
            self._errors.close()
            raise RuntimeError(f"The Kinesis emulator did not start: {(line + errors).strip()}")
        url = line.removeprefix(READY).strip()
        if url.startswith("https:") and child.stdout:
            self.certificate = Path(child.stdout.readline().removeprefix(TRUST).strip())
        self._child = child
        self.endpoint_url = url

    def log(self) -> str:
        """Return what the child has logged until now, such as why it has refused a connection. After `stop` it is gone."""
        if self._errors is None or self._errors.closed:
            return ""
        number = self._errors.fileno()  # the child's place in the file must not move
        return os.pread(number, os.fstat(number).st_size, 0).decode(errors="replace")

    def stop(self) -> None:
        """End the child, by force if it has not ended after 5 seconds."""
        child, self._child = self._running(), None
        child.terminate()
        try:
            child.communicate(timeout=_STOP_S)
        except subprocess.TimeoutExpired:
            child.kill()
            child.communicate()
        if self._errors is not None:
            self._errors.close()

    def _running(self) -> subprocess.Popen[str]:
        if self._child is None:
            raise RuntimeError(
                "The emulator is not running. Use it in a `with` block, or call `start` first."
            )
        return self._child

    def __enter__(self) -> EmulatorProcess:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
