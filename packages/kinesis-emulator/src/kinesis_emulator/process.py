"""The emulator in a child process, so that it takes no time from the program that uses it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from kinesis_emulator import client_settings
from kinesis_emulator.child import ChildProcess


class EmulatorProcess(ChildProcess):
    """
    A Kinesis on 127.0.0.1 in a child process; a context manager.

        with EmulatorProcess({"orders": 4}) as emulator:
            client = boto3.client("kinesis", endpoint_url=emulator.endpoint_url, ...)

    The child ends with the `with` block, and by itself when this process dies, whatever the cause.

    Args:
        streams: The streams to create, with their numbers of shards.
        port: The port to listen on; 0 takes any free port.
        region: The region of *streams*.
        unlimited: Whether there are no rate limits (the default), or AWS's.
        data: A folder that keeps the streams for the next emulator, also when this one is killed.
        shard_capacity_records: A shard keeps at least this many records, and may remove older ones before they expire. It
            bounds the memory of an emulator that runs for long.
        clock_skew_s: Seconds by which its clock is ahead of this machine's.
        signed_within_s: The maximum distance of a signature's date from the clock in seconds; AWS's value is 300. None
            accepts any date.
        readable_after_s: Seconds from the put of a record until it can be read.
        creating_s: Seconds for which a new stream is CREATING, and refuses to be listed, read and written.
        settling_s: Seconds for which a new stream refuses that also after it is ACTIVE.
        updating_s: Seconds for which a stream is UPDATING after a change, and refuses others.
        deleting_s: Seconds for which a deleted stream is DELETING.
        fault_share: The share of calls with a fault, from 0 to 1, as `RandomFaults` chooses.
        fault_seed: The seed of that choice.
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
        creating_s: float = 0.0,
        settling_s: float = 0.0,
        updating_s: float = 0.0,
        deleting_s: float = 0.0,
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
            *(f"--creating-s={creating_s}", f"--settling-s={settling_s}"),
            *(f"--updating-s={updating_s}", f"--deleting-s={deleting_s}"),
            *(f"--clock-skew-s={clock_skew_s}", f"--fault-share={fault_share}", f"--fault-seed={fault_seed}"),
        ]
        super().__init__("kinesis_emulator", options)
        self.region = region

    @property
    def spark_options(self) -> dict[str, str]:
        """The options of `.format("kinesis")` with which Spark uses this emulator: region, endpoint and keys."""
        return client_settings.spark_options(self.endpoint_url, self.region)
