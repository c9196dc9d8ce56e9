"""The phases of the demo."""

from __future__ import annotations

from attrs import frozen

from demo.commands import CommandLine
from demo.counts import Counts
from demo.producer import Producer
from demo.query import CHECKPOINT, Queries
from demo.screen import Screen
from demo.shards import Shards

PHASES = (
    "One query counts sightings, one copies them to a second stream",
    "Shards of both streams split while the queries run",
    "Both queries stop; records keep coming, shards split and merge",
    "Both start again from their checkpoints",
    "Shards merge while the queries run",
    "The producer stops; the queries read the remaining records",
    "The second stream is read back",
)
CATCH_UP_S = 60


@frozen
class Story:
    """Runs the phases. Each one lasts at least *seconds*."""

    _screen: Screen
    _counts: Counts
    _queries: Queries
    _shards: Shards
    _journal: Shards
    _commands: CommandLine
    _seconds: float

    def run(self, producer: Producer) -> None:
        """Run all phases but the last one."""
        self._screen.next_phase()
        producer.start()
        self._queries.start()
        self._watch_batches()

        self._screen.next_phase()
        self._shards.split_widest()
        self._shards.split_widest()
        self._journal.split_widest()
        self._watch_batches()

        self._screen.next_phase()
        self._queries.stop()
        self._shards.split_widest()
        self._screen.watch(self._seconds / 2)
        self._shards.merge_narrowest()
        self._screen.watch(self._seconds / 2)
        lag = ("lag", self._shards.stream, "--checkpoint", CHECKPOINT)
        self._commands.run("While the queries were stopped", *lag)

        self._screen.next_phase()
        self._queries.start()
        self._watch_batches()

        self._screen.next_phase()
        self._shards.merge_narrowest()
        self._watch_batches()
        self._shards.merge_narrowest()
        self._watch_batches()

        self._screen.next_phase()
        producer.finish()
        self._screen.watch(CATCH_UP_S, until=self._is_all_read)
        for query in self._queries.both:
            query.processAllAvailable()  # a record that is read twice shows by now
        self._screen.watch(1)
        self._queries.stop()
        self._commands.run("At the end", *lag)
        self._commands.run(
            "The last records of the second stream", "tail", self._journal.stream, "-n", "3", "--no-follow"
        )

    def _watch_batches(self) -> None:
        """Wait until the phase has lasted long enough and each query has run a batch in it."""
        counts, copies = self._batches()
        self._screen.watch(self._seconds)
        self._screen.watch(
            CATCH_UP_S, until=lambda: self._batches()[0] > counts and self._batches()[1] > copies
        )

    def _batches(self) -> tuple[int, int]:
        return self._counts.batches, self._queries.copied()[1]

    def _is_all_read(self) -> bool:
        return min(self._counts.total_counted, self._queries.copied()[0]) >= self._counts.total_put
