"""Puts sightings of cities into the stream: single records by plain boto3, and KPL aggregates."""

from __future__ import annotations

import json
import random
import threading
import time
from collections import Counter
from typing import Any

from aws_kinesis_agg.aggregator import RecordAggregator
from botocore.exceptions import BotoCoreError, ClientError

from demo.ledger import Cell, Ledger, window_of

CITIES = (
    *("Accra", "Bergen", "Cusco", "Dakar", "Essen", "Fukuoka"),
    *("Galway", "Hanoi", "Izmir", "Jaipur", "Kyiv", "Lagos"),
)
TICK_S = 0.1
SINGLES, AGGREGATES, AGGREGATED = 60, 4, 20
"""Of each tick: records put one by one; aggregates, and the user records in each."""

Entry = tuple[dict[str, Any], Counter[Cell], bool]
"""A PutRecords entry, the cells that its records count for, and whether it is an aggregate."""


class Producer(threading.Thread):
    """Puts until it is told to stop; a record counts as put when Kinesis has acknowledged it."""

    def __init__(self, client: Any, stream: str, ledger: Ledger, seed: int) -> None:
        super().__init__(name="producer", daemon=True)
        self._client = client
        self._stream = stream
        self._ledger = ledger
        self._chance = random.Random(seed)
        self._finished = threading.Event()
        self.error: Exception | None = None
        self.singles = 0
        self.aggregated = 0
        self.by_shard: Counter[str] = Counter()

    def run(self) -> None:
        try:
            while not self._finished.wait(TICK_S):
                self._put(self._make_entries(time.time_ns() // 1_000_000))
        except (ClientError, BotoCoreError) as error:
            self.error = error

    def finish(self) -> None:
        """Return when the last record is acknowledged."""
        self._finished.set()
        self.join()

    def _make_entries(self, now_ms: int) -> list[Entry]:
        entries = [self._single(self._chance.choice(CITIES), now_ms) for _ in range(SINGLES)]
        # An aggregate of one key only: all of it belongs into one shard, whatever shards there are.
        entries += [self._aggregate(self._chance.choice(CITIES), now_ms) for _ in range(AGGREGATES)]
        return entries

    def _single(self, city: str, event_ms: int) -> Entry:
        data = json.dumps({"city": city, "at": event_ms}).encode()
        return {"Data": data, "PartitionKey": city}, Counter([(city, window_of(event_ms))]), False

    def _aggregate(self, city: str, now_ms: int) -> Entry:
        aggregator = RecordAggregator()
        cells: Counter[Cell] = Counter()
        for _ in range(AGGREGATED):
            event_ms = now_ms - self._chance.randrange(3000)
            aggregator.add_user_record(city, json.dumps({"city": city, "at": event_ms}))
            cells[city, window_of(event_ms)] += 1
        _, _, data = aggregator.clear_and_get().get_contents()
        return {"Data": data, "PartitionKey": city}, cells, True

    def _put(self, entries: list[Entry]) -> None:
        """Put *entries*, and those again that Kinesis refused for now."""
        while entries:
            records = [entry for entry, _, _ in entries]
            answers = self._client.put_records(StreamName=self._stream, Records=records)["Records"]
            for (_, cells, is_aggregate), answer in zip(entries, answers, strict=True):
                if "SequenceNumber" in answer:
                    self._note(cells, is_aggregate, answer["ShardId"])
            entries = [
                e for e, answer in zip(entries, answers, strict=True) if "SequenceNumber" not in answer
            ]
            if entries:
                self._finished.wait(TICK_S)

    def _note(self, cells: Counter[Cell], is_aggregate: bool, shard_id: str) -> None:
        self._ledger.add_put(cells)
        count = cells.total()
        self.by_shard[shard_id] += count
        if is_aggregate:
            self.aggregated += count
        else:
            self.singles += count
