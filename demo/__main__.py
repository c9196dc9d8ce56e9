"""
Run stream to Spark to stream, while shards split and merge and queries restart, and prove that no record is lost.

    python3 noxfile.py -s demo
    python3 noxfile.py -s demo -- --short

The exit status is 1 if a record was not counted exactly once, or is not in the second stream as it was put.
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

from demo.commands import CommandLine
from demo.counts import Copy, Counts
from demo.producer import Producer
from demo.proof import judge_copies, judge_counts, show_copies, show_counts, show_next
from demo.query import ACCESS_KEY_ID, REGION, SECRET_KEY, Queries
from demo.screen import Screen
from demo.session import start_spark
from demo.shards import Shards
from demo.story import PHASES, Story
from kinesis_emulator import EmulatorProcess
from kinesis_emulator.client_settings import environment

STREAM, JOURNAL = "sightings", "journal"


@frozen
class Outcome:
    """The results of a run."""

    changes: int
    """The number of splits and merges."""
    journal: Counter[Copy]
    """The records of the second stream, with the number of times that each is there."""


def main() -> int:
    options = _parse()
    console = Console()
    with tempfile.TemporaryDirectory(prefix="kinesis-demo-") as made:
        log = Path(made) / "spark.log"
        counts = Counts()
        try:
            outcome = _run(console, Path(made), log, counts, options)
        except BaseException:
            if log.exists():
                _show_log(console, log.read_text(errors="replace"))
            raise
    return _prove(console, counts, outcome)


def _show_log(console: Console, log: str) -> None:
    causes = "\n".join(dict.fromkeys(line for line in log.splitlines() if line.startswith("Caused by: ")))
    parts = ("The log of Spark ends with:", log[-4000:], "Causes in it:", causes)
    console.out(*parts, sep="\n", style="dim", highlight=False)


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="demo", description=__doc__.splitlines()[1] if __doc__ else "")
    parser.add_argument("--short", action="store_true", help="2 s per phase instead of 8 s")
    parser.add_argument("--seed", type=int, default=1, help="seed of the producer's records; default: 1")
    return parser.parse_args()


def _run(console: Console, folder: Path, log: Path, counts: Counts, options: argparse.Namespace) -> Outcome:
    """Run all phases."""
    with console.status("Starting a local Kinesis (two streams, AWS's limits) and Spark ..."):
        emulator = EmulatorProcess({STREAM: 2, JOURNAL: 2}, unlimited=False)
        emulator.start()
        spark = start_spark(log)
    try:
        client = _client(emulator.endpoint_url)
        producer = Producer(client, STREAM, counts, options.seed)
        shards, journal_shards = Shards(client, STREAM), Shards(client, JOURNAL)
        commands = CommandLine(environment(emulator.endpoint_url, REGION), folder, console.width)
        queries = Queries(spark, emulator.endpoint_url, STREAM, JOURNAL, folder, counts)
        with Screen(console, PHASES, counts, producer, queries, shards) as screen:
            seconds = 2 if options.short else 8
            story = Story(screen, counts, queries, shards, journal_shards, commands, seconds)
            story.run(producer)
            screen.next_phase()
            journal = queries.read_journal()
        commands.show(console)
        return Outcome(shards.changes + journal_shards.changes, journal)
    finally:
        spark.stop()
        emulator.stop()


def _client(endpoint_url: str) -> object:
    # A retry of boto3 could put a record twice, in AWS as well.
    return boto3.client(
        "kinesis",
        endpoint_url=endpoint_url,
        region_name=REGION,
        aws_access_key_id=ACCESS_KEY_ID,
        aws_secret_access_key=SECRET_KEY,
        config=Config(retries={"total_max_attempts": 1}),
    )


def _prove(console: Console, counts: Counts, outcome: Outcome) -> int:
    """Compare both queries' results with the records that were put. Return the exit status."""
    found = counts.compare(outcome.journal)
    show_counts(console, counts)
    show_copies(console, counts.total_put, found, next(iter(outcome.journal), None))
    is_counted = judge_counts(console, counts, outcome.changes)
    is_copied = judge_copies(console, counts.total_put, found)
    show_next(console)
    return 0 if is_counted and is_copied else 1


if __name__ == "__main__":
    sys.exit(main())
