"""The emulator in a process of its own, so that it takes no time from the program it serves."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from kinesis_emulator.child import ChildProcess


class EmulatorProcess(ChildProcess):
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
        signed_within_s: How far the date of a signature may be from its clock; AWS takes 300. None: any date will do.
        readable_after_s: How long after its put a record can be read.
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
        signed_within_s: float | None = None,
        readable_after_s: float = 0.0,
        fault_share: float = 0.0,
        fault_seed: int = 0,
    ) -> None:
        options = [
            *("--port", str(port), "--region", region),
            *(part for name, shards in (streams or {}).items() for part in ("--stream", f"{name}:{shards}")),
            *(["--unlimited"] if unlimited else []),
            *([] if data is None else ["--data", str(data)]),
            *(
                []
                if shard_capacity_records is None
                else [f"--shard-capacity-records={shard_capacity_records}"]
            ),
            *([] if signed_within_s is None else [f"--signed-within-s={signed_within_s}"]),
            f"--readable-after-s={readable_after_s}",
            *(f"--clock-skew-s={clock_skew_s}", f"--fault-share={fault_share}", f"--fault-seed={fault_seed}"),
        ]
        super().__init__("kinesis_emulator", options)
