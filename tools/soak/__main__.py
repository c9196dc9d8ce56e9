"""
Run the soak and report what grows. The exit status is 1 if something does.

    python -m tools.soak --restarts 50 --batches 1000 --minutes 30 --page docs/reliability.md
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Sequence
from datetime import datetime, timezone
from pathlib import Path

from docs.sections import write_section
from kinesis_emulator import EmulatorProcess
from support.spark_harness import start_session
from tools.soak.load import CAPACITY_RECORDS, SHARDS, Load, Measured, run
from tools.soak.report import complaints, describe

CONFIG = {"spark.sql.streaming.numRecentProgressUpdates": "10"}
"""With more reports the driver would need a hundred batches until it keeps as many."""


def main(arguments: Sequence[str]) -> int:
    options = _parser().parse_args(arguments)
    measured = _measure(options)
    text = describe(measured, datetime.now(timezone.utc).date().isoformat())
    sys.stdout.write(text + "\n")
    if options.page is not None:
        write_section(options.page, "soak", text)
    return int(bool(complaints(measured)))


def _measure(options: argparse.Namespace) -> Measured:
    streams = {"orders": SHARDS, "copies": SHARDS}
    with (
        tempfile.TemporaryDirectory() as folder,
        EmulatorProcess(streams, shard_capacity_records=CAPACITY_RECORDS) as emulator,
    ):
        spark = start_session(Path(folder), config=CONFIG)
        try:
            load = Load(spark, emulator, Path(folder, "checkpoint"))
            return run(load, options.restarts, options.batches, options.minutes)
        finally:
            spark.stop()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="soak", description="Watch a query at constant load.")
    parser.add_argument("--restarts", type=int, default=50, help="of the query, at first")
    parser.add_argument("--batches", type=int, default=1000, help="at least, of one run")
    parser.add_argument("--minutes", type=float, default=0.0, help="at least, in all")
    parser.add_argument("--page", type=Path, help="whose section 'soak' is to say what was measured")
    return parser


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
