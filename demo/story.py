"""What happens, phase by phase."""

from __future__ import annotations

from demo.ledger import Ledger
from demo.producer import Producer
from demo.query import Queries
from demo.screen import Screen
from demo.shards import Shards

PHASES = (
    "One query counts sightings, one copies them to a second stream",
    "Shards of both streams split while the queries run",
    "Both queries stop; records keep coming, shards split and merge",
    "Both start again from their checkpoints",
    "Shards merge while the queries run",
    "The producer stops; the queries read what is left",
    "The second stream is read back",
)
CATCH_UP_S = 60


class Story:
    """Goes through the phases, of which each lasts at least *seconds*."""

    def __init__(
        self,
        screen: Screen,
        ledger: Ledger,
        queries: Queries,
        shards: Shards,
        journal: Shards,
        seconds: float,
    ) -> None:
        self._screen = screen
        self._ledger = ledger
        self._queries = queries
        self._shards = shards
        self._journal = journal
        self._seconds = seconds

    def tell(self, producer: Producer) -> None:
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
            query.processAllAvailable()  # whatever would come twice has come by now
        self._screen.watch(1)
        self._queries.stop()

    def _watch_batches(self) -> None:
        """Go on when the phase has lasted long enough and each query has run a batch in it."""
        counts, copies = self._batches()
        self._screen.watch(self._seconds)
        self._screen.watch(
            CATCH_UP_S, until=lambda: self._batches()[0] > counts and self._batches()[1] > copies
        )

    def _batches(self) -> tuple[int, int]:
        return self._ledger.batches, self._queries.copied()[1]

    def _is_all_read(self) -> bool:
        return min(self._ledger.total_counted, self._queries.copied()[0]) >= self._ledger.total_put
