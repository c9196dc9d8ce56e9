"""Puts sightings of cities into the stream: single records by plain boto3, and KPL aggregates."""

from __future__ import annotations

import random
import threading
import time
from collections import Counter
from itertools import count
from typing import Any

from attrs import frozen
from aws_kinesis_agg.aggregator import RecordAggregator
from botocore.exceptions import BotoCoreError, ClientError

from demo.counts import Counts, Sighting

CITIES = (
    *("Accra", "Bergen", "Cusco", "Dakar", "Essen", "Fukuoka"),
    *("Galway", "Hanoi", "Izmir", "Jaipur", "Kyiv", "Lagos"),
)
TICK_S = 0.1
SINGLES, AGGREGATES, AGGREGATED = 60, 4, 20
"""Per tick: plain records, aggregates, and the user records in each aggregate."""
LATE_MS = 3000
"""The maximum age of a sighting in an aggregate."""


@frozen
class Entry:
    """One record of a PutRecords call, and the sightings in it."""

    data: bytes
    sightings: list[Sighting]

    def request(self) -> dict[str, Any]:
        return {"Data": self.data, "PartitionKey": self.sightings[0].city}


class Producer(threading.Thread):
    """Puts records until `finish`. A record counts as put when Kinesis has acknowledged it."""

    def __init__(self, client: Any, stream: str, counts: Counts, seed: int) -> None:
        super().__init__(name="producer", daemon=True)
        self._client = client
        self._stream = stream
        self._counts = counts
        self._chance = random.Random(seed)
        self._numbers = count(1)
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
        """Stop, and return when the last record is acknowledged."""
        self._finished.set()
        self.join()

    def _make_entries(self, now_ms: int) -> list[Entry]:
        entries = [self._single(self._chance.choice(CITIES), now_ms) for _ in range(SINGLES)]
        # An aggregate has one key, so that all of it belongs to one shard, whichever shards there are.
        entries += [self._aggregate(self._chance.choice(CITIES), now_ms) for _ in range(AGGREGATES)]
        return entries

    def _single(self, city: str, now_ms: int) -> Entry:
        sighting = Sighting(next(self._numbers), city, now_ms)
        return Entry(sighting.to_json().encode(), [sighting])

    def _aggregate(self, city: str, now_ms: int) -> Entry:
        late_ms = self._chance.choices(range(LATE_MS), k=AGGREGATED)
        sightings = [Sighting(next(self._numbers), city, now_ms - late) for late in late_ms]
        aggregator = RecordAggregator()
        for sighting in sightings:
            aggregator.add_user_record(city, sighting.to_json())
        _, _, data = aggregator.clear_and_get().get_contents()
        return Entry(data, sightings)

    def _put(self, entries: list[Entry]) -> None:
        """Put *entries*, and retry those that Kinesis refuses for now."""
        while entries:
            records = [entry.request() for entry in entries]
            responses = self._client.put_records(StreamName=self._stream, Records=records)["Records"]
            refused = []
            for entry, response in zip(entries, responses, strict=True):
                if "SequenceNumber" in response:
                    self._note(entry.sightings, response)
                else:
                    refused.append(entry)
            entries = refused
            if entries:
                self._finished.wait(TICK_S)

    def _note(self, sightings: list[Sighting], response: dict[str, str]) -> None:
        self._counts.add_put(sightings, response["SequenceNumber"])
        self.by_shard[response["ShardId"]] += len(sightings)
        if len(sightings) > 1:
            self.aggregated += len(sightings)
        else:
            self.singles += 1
