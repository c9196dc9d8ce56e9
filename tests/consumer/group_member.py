"""
A worker of a group that does what lines on its standard input say, and says on its standard output what happens.

    python -m consumer.group_member ENDPOINT LEASES NAME LEASE_DURATION_S

After each batch it reads commands, until it is told to commit.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys

from kinesis_consumer import Batch, ConsumerGroup, GroupSettings, LeaseLostError, SqliteLeases
from kinesis_credentials import StaticKeys
from support.streams import KEY_ID, REGION, SECRET
from support.waiting import PATIENCE_S

STREAM = "orders"


def main(endpoint_url: str, leases: str, name: str, lease_duration_s: str) -> None:
    settings = GroupSettings(
        lease_duration_s=float(lease_duration_s), fetch_interval_s=0.2, max_batch_records=1
    )
    with ConsumerGroup.open(
        STREAM,
        "billing",
        leases=SqliteLeases(leases),
        region=REGION,
        endpoint_url=endpoint_url,
        credentials=StaticKeys(KEY_ID, SECRET),
        start="TRIM_HORIZON",
        settings=settings,
        worker=name,
    ) as group:
        say("entered")
        for batch in group:
            say(b" ".join(record.data for record in batch.records()).decode())
            while not obey(batch, sys.stdin.readline().strip()):
                pass
    say("closed")


def obey(batch: Batch, command: str) -> bool:
    """Do what *command* says, and say what came of it. Returns whether the batch is done with."""
    if command == "commit":
        say(commit(batch))
    elif command == "is_ours":
        say(str(batch.is_ours))
    elif command == "run a program":
        say(str(subprocess.run([sys.executable, "-c", "raise SystemExit(4)"], check=False).returncode))
    else:
        say(str(fork(is_left=command == "fork and leave")))
    return command == "commit"


def commit(batch: Batch) -> str:
    try:
        batch.commit()
    except LeaseLostError:
        return "LeaseLostError"
    return "committed"


def fork(*, is_left: bool) -> int:
    """Return how a fork ends that leaves the block of the group, or that gets SIGTERM."""
    is_ready, tell = os.pipe()
    child = os.fork()
    if not child and is_left:
        sys.exit(3)
    if not child:
        signal.alarm(int(PATIENCE_S))
        os.write(tell, b"!")  # Python forgets signals that come before it has finished the fork
        while True:
            signal.pause()
    if not is_left:
        os.read(is_ready, 1)
        os.kill(child, signal.SIGTERM)
    return os.waitstatus_to_exitcode(os.wait()[1])


def say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main(*sys.argv[1:])
