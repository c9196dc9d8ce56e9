"""
Read a stream with Spark while its shards split and merge and the query is restarted; then prove the counts.

    python3 noxfile.py -s demo
    python3 noxfile.py -s demo -- --short

Exits with 1 when a record was counted twice or not at all.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import boto3  # type: ignore[import-untyped]
from botocore.config import Config
from pyspark.sql.streaming.query import StreamingQuery
from rich.console import Console
from rich.panel import Panel
from rich.table import Table

from demo.ledger import Ledger
from demo.producer import Producer
from demo.query import ACCESS_KEY_ID, REGION, SECRET_KEY, count_cities, start_query, start_spark
from demo.screen import Screen
from demo.shards import Shards
from kinesis_emulator import EmulatorProcess

STREAM = "sightings"
PHASES = (
    "A query counts records per city and window of 10 s",
    "Shards split while it reads them",
    "The query stops; records keep coming, shards split and merge",
    "The query starts again from its checkpoint",
    "Shards merge while it reads them",
    "The producer stops; the query reads what is left",
)
CATCH_UP_S = 60
NEXT = (
    ("Read how it works", "docs/concepts.md"),
    ("Write a query of your own", "docs/howto/first-query.md, on the same local Kinesis"),
    ("Test a job of your own", "docs/howto/local-testing.md"),
    ("Run the tests", "python3 noxfile.py -s tests"),
)


def main() -> int:
    options = _parse()
    console = Console()
    with tempfile.TemporaryDirectory(prefix="kinesis-demo-") as made:
        log = Path(made) / "spark.log"
        ledger = Ledger()
        try:
            changes = _run(console, Path(made), log, ledger, options)
        except BaseException:
            if log.exists():
                console.out(
                    "Spark said:", log.read_text(errors="replace")[-4000:], style="dim", highlight=False
                )
            raise
    return _prove(console, ledger, changes)


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="demo", description=__doc__.splitlines()[1] if __doc__ else "")
    parser.add_argument("--short", action="store_true", help="2 s for each phase, not 8")
    parser.add_argument("--seed", type=int, default=1, help="of what the producer makes up; default: 1")
    return parser.parse_args()


def _run(console: Console, folder: Path, log: Path, ledger: Ledger, options: argparse.Namespace) -> int:
    """Go through all phases; returns how often shards were split or merged."""
    with console.status("Starting a local Kinesis (2 shards, AWS's limits) and Spark ..."):
        emulator = EmulatorProcess({STREAM: 2}, unlimited=False)
        emulator.start()
        spark = start_spark(log)
    try:
        client = _client(emulator.endpoint_url)
        producer, shards = Producer(client, STREAM, ledger, options.seed), Shards(client, STREAM)
        counts = count_cities(spark, emulator.endpoint_url, STREAM)
        with Screen(console, PHASES, ledger, producer, shards) as screen:
            story = Story(screen, ledger, shards, lambda: start_query(counts, folder / "checkpoint", ledger))
            story.seconds = 2 if options.short else 8
            story.tell(producer)
        return shards.changes
    finally:
        spark.stop()
        emulator.stop()


class Story:
    """What happens in each phase, of which each lasts at least `seconds`."""

    seconds: float = 8

    def __init__(
        self, screen: Screen, ledger: Ledger, shards: Shards, start: Callable[[], StreamingQuery]
    ) -> None:
        self._screen = screen
        self._ledger = ledger
        self._shards = shards
        self._start = start

    def tell(self, producer: Producer) -> None:
        self._screen.next_phase()
        producer.start()
        self._screen.query = self._start()
        self._watch_batches()

        self._screen.next_phase()
        self._shards.split_widest()
        self._shards.split_widest()
        self._watch_batches()

        self._screen.next_phase()
        self._screen.query.stop()
        self._shards.split_widest()
        self._screen.watch(self.seconds / 2)
        self._shards.merge_narrowest()
        self._screen.watch(self.seconds / 2)

        self._screen.next_phase()
        self._screen.query = self._start()
        self._watch_batches()

        self._screen.next_phase()
        self._shards.merge_narrowest()
        self._watch_batches()
        self._shards.merge_narrowest()
        self._watch_batches()

        self._screen.next_phase()
        producer.finish()
        self._screen.watch(CATCH_UP_S, until=lambda: self._ledger.total_counted >= self._ledger.total_put)
        self._screen.query.processAllAvailable()  # whatever would come twice has come by now
        self._screen.watch(1)
        self._screen.query.stop()

    def _watch_batches(self) -> None:
        """Go on when the phase has lasted long enough and the query has run a batch in it."""
        before = self._ledger.batches
        self._screen.watch(self.seconds)
        self._screen.watch(CATCH_UP_S, until=lambda: self._ledger.batches > before)


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


def _prove(console: Console, ledger: Ledger, changes: int) -> int:
    """Show both sides for each key and compare them for each key and window; returns the exit status."""
    table = Table(title="put against counted", title_justify="left")
    table.add_column("city")
    for heading in ("put", "counted", "windows", "that agree"):
        table.add_column(heading, justify="right")
    for city, windows, agreeing, put, counted in ledger.by_key():
        style = "" if windows == agreeing else "bold red"
        table.add_row(city, f"{put:,}", f"{counted:,}", str(windows), str(agreeing), style=style)
    console.print(table)
    wrong = ledger.differences()
    for (city, start_s), put, counted in wrong[:20]:
        console.print(f"{city}, window {start_s}: {put} put, {counted} counted", style="red")
    if wrong or not ledger.total_put:
        console.print(Panel(f"NOT exactly once: {len(wrong)} counts differ.", style="bold red"))
        return 1
    proof = (
        f"[bold green]All {ledger.total_put:,} records were counted exactly once[/], in {ledger.batches} batches, "
        f"across {changes} splits and merges and a restart."
    )
    console.print(Panel(proof, style="green"))
    table = Table.grid(padding=(0, 3))
    for what, where in NEXT:
        table.add_row(what, f"[bold]{where}[/]")
    console.print(Panel(table, title="what to try next", title_align="left"))
    return 0


if __name__ == "__main__":
    sys.exit(main())
