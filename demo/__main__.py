"""
Stream to Spark to stream, while shards split and merge and the queries are restarted; then prove that nothing is lost.

    python3 noxfile.py -s demo
    python3 noxfile.py -s demo -- --short

Exits with 1 when a record was counted twice or not at all, or is not in the second stream as it was put.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections import Counter
from pathlib import Path

import boto3  # type: ignore[import-untyped]
from attrs import frozen
from botocore.config import Config
from rich.console import Console

from demo.ledger import Copy, Ledger
from demo.producer import Producer
from demo.proof import judge_copies, judge_counts, show_copies, show_counts, show_next
from demo.query import ACCESS_KEY_ID, REGION, SECRET_KEY, Queries
from demo.screen import Screen
from demo.session import start_spark
from demo.shards import Shards
from demo.story import PHASES, Story
from kinesis_emulator import EmulatorProcess

STREAM, JOURNAL = "sightings", "journal"


@frozen
class Outcome:
    """What there is to compare when the story is told."""

    changes: int
    """How often shards were split or merged."""
    journal: Counter[Copy]


def main() -> int:
    options = _parse()
    console = Console()
    with tempfile.TemporaryDirectory(prefix="kinesis-demo-") as made:
        log = Path(made) / "spark.log"
        ledger = Ledger()
        try:
            outcome = _run(console, Path(made), log, ledger, options)
        except BaseException:
            if log.exists():
                console.out(
                    "Spark said:", log.read_text(errors="replace")[-4000:], style="dim", highlight=False
                )
            raise
    return _prove(console, ledger, outcome)


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="demo", description=__doc__.splitlines()[1] if __doc__ else "")
    parser.add_argument("--short", action="store_true", help="2 s for each phase, not 8")
    parser.add_argument("--seed", type=int, default=1, help="of what the producer makes up; default: 1")
    return parser.parse_args()


def _run(console: Console, folder: Path, log: Path, ledger: Ledger, options: argparse.Namespace) -> Outcome:
    """Go through all phases."""
    with console.status("Starting a local Kinesis (two streams, AWS's limits) and Spark ..."):
        emulator = EmulatorProcess({STREAM: 2, JOURNAL: 2}, unlimited=False)
        emulator.start()
        spark = start_spark(log)
    try:
        client = _client(emulator.endpoint_url)
        producer = Producer(client, STREAM, ledger, options.seed)
        shards, journal_shards = Shards(client, STREAM), Shards(client, JOURNAL)
        queries = Queries(spark, emulator.endpoint_url, (STREAM, JOURNAL), folder, ledger)
        with Screen(console, PHASES, ledger, producer, queries, shards) as screen:
            story = Story(screen, ledger, queries, shards, journal_shards, 2 if options.short else 8)
            story.tell(producer)
            screen.next_phase()
            journal = queries.read_journal()
        return Outcome(shards.changes + journal_shards.changes, journal)
    finally:
        spark.stop()
        emulator.stop()


def _client(endpoint_url: str) -> object:
    # A second attempt could put a record twice, in AWS as well as here.
    return boto3.client(
        "kinesis",
        endpoint_url=endpoint_url,
        region_name=REGION,
        aws_access_key_id=ACCESS_KEY_ID,
        aws_secret_access_key=SECRET_KEY,
        config=Config(retries={"total_max_attempts": 1}),
    )


def _prove(console: Console, ledger: Ledger, outcome: Outcome) -> int:
    """Compare both halves with what was put; returns the exit status."""
    found = ledger.compare(outcome.journal)
    show_counts(console, ledger)
    show_copies(console, ledger.total_put, found, next(iter(outcome.journal), None))
    is_counted = judge_counts(console, ledger, outcome.changes)
    is_copied = judge_copies(console, ledger.total_put, found)
    show_next(console)
    return 0 if is_counted and is_copied else 1


if __name__ == "__main__":
    sys.exit(main())
