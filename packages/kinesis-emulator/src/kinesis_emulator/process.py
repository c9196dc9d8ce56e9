"""The emulator in a process of its own, so that it takes no time from the program it serves."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType

from kinesis_emulator.cli import READY

_STOP_S = 5


class EmulatorProcess:
    """
    A Kinesis on 127.0.0.1 in a child process; a context manager.

        with EmulatorProcess({"orders": 4}) as emulator:
            client = boto3.client("kinesis", endpoint_url=emulator.endpoint_url, ...)

    The child ends with the `with` block, and by itself when this process dies, however it dies.

    Args:
        streams: Streams to create, with their numbers of shards.
        port: Where to listen; 0 takes any free port.
        region: The region of *streams*.
        unlimited: Whether to leave out the rates (the default), or to throttle as AWS does.
        data: A folder to keep streams in; another emulator goes on with it, also when this one was killed.
        shard_capacity_records: How many records a shard holds at least; what is older may leave before its retention is
            over. It bounds the memory of an emulator that runs for long.
        clock_skew_s: How far its clock is ahead of this machine's.
        fault_share: How many of all calls suffer a fault, from 0 to 1, as `RandomFaults` chooses.
        fault_seed: Of that choice.
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
        fault_share: float = 0.0,
        fault_seed: int = 0,
    ) -> None:
        self._options = [
            *("--port", str(port), "--region", region),
            *(part for name, shards in (streams or {}).items() for part in ("--stream", f"{name}:{shards}")),
            *(["--unlimited"] if unlimited else []),
            *([] if data is None else ["--data", str(data)]),
            *(
                []
                if shard_capacity_records is None
                else [f"--shard-capacity-records={shard_capacity_records}"]
            ),
            *(f"--clock-skew-s={clock_skew_s}", f"--fault-share={fault_share}", f"--fault-seed={fault_seed}"),
        ]
        self._child: subprocess.Popen[str] | None = None
        self.endpoint_url = ""
        """Known once it is started."""

    @property
    def port(self) -> int:
        return int(self.endpoint_url.rpartition(":")[2])

    @property
    def pid(self) -> int:
        return self._running().pid

    def start(self) -> None:
        """Return when the child listens; RuntimeError with its message when it cannot."""
        command = [sys.executable, "-m", "kinesis_emulator", "--parent-pid", str(os.getpid()), *self._options]
        # A file, because nobody reads a pipe while the child runs. A session of its own, because Ctrl-C shall
        # reach the program first and let it finish with its emulator still there.
        with tempfile.TemporaryFile("w+") as errors:
            child = subprocess.Popen(  # noqa: S603 - our own module
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                start_new_session=True,
            )
            line = child.stdout.readline() if child.stdout else ""
            if not line.startswith(READY):
                child.communicate()
                errors.seek(0)
                raise RuntimeError(f"The Kinesis emulator did not start: {(line + errors.read()).strip()}")
        self._child = child
        self.endpoint_url = line.removeprefix(READY).strip()

    def stop(self) -> None:
        """End the child, by force when it does not end by itself."""
        child, self._child = self._running(), None
        child.terminate()
        try:
            child.communicate(timeout=_STOP_S)
        except subprocess.TimeoutExpired:
            child.kill()
            child.communicate()

    def _running(self) -> subprocess.Popen[str]:
        if self._child is None:
            raise RuntimeError("The emulator was not started.")
        return self._child

    def __enter__(self) -> EmulatorProcess:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.stop()
