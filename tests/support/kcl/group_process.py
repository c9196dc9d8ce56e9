"""
One worker of a consumer group, which does and prints what the worker of the KCL in the tests does and prints.

Arguments are name=value. It prints events as JSON lines, obeys the commands on its standard input, and ends at once when that ends.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from typing import Any

from attrs import define, field

from kinesis_consumer import Batch, Callbacks, ConsumerGroup, DynamoLeases, GroupSettings, LeaseLostError
from kinesis_credentials import StaticKeys

_printing = threading.Lock()


def show(event: str, **facts: Any) -> None:
    line = json.dumps({"event": event, "at": time.monotonic_ns(), **facts})
    with _printing:
        sys.stdout.write(line + "\n")
        sys.stdout.flush()


@define(eq=False)
class Program:
    """What it does with its batches, and what it has in hand."""

    commits: str
    is_paused: bool
    group: ConsumerGroup = field(init=False)
    _held: dict[str, Batch] = field(factory=dict)
    """Batches that wait for the command to commit them, by their shard."""
    _changed: threading.Condition = field(factory=threading.Condition)

    def callbacks(self) -> Callbacks:
        return Callbacks(
            lease_gained=lambda _, shard: show("initialized", shard=shard),
            hand_over_requested=lambda _, shard: self._asked(shard),
            lease_lost=lambda _, shard: show("leaseLost", shard=shard),
            shard_ended=lambda _, shard: show("shardEnded", shard=shard),
        )

    def run(self) -> None:
        with self.group:
            show("started")
            for batch in self.group:
                self._process(batch)
            show("stopping")
            if self.commits == "command":  # as in the KCL, records are committed before an orderly end
                self._commit()
        show("stopped")

    def obey(self) -> None:
        for line in sys.stdin:
            command, _, shard = line.strip().partition(" ")
            match command:
                case "checkpoint":
                    self._commit(shard)
                case "pause" | "resume":
                    with self._changed:
                        self.is_paused = command == "pause"
                        self._changed.notify_all()
                case "graceful":
                    self.group.stop()  # as SIGTERM does
            show("obeyed", command=command)
        os._exit(1)  # the test has ended

    def _process(self, batch: Batch) -> None:
        with self._changed:
            self._changed.wait_for(lambda: not self.is_paused)
        if not batch.is_ours:  # a pause may be long
            return
        records = [
            [each.sequence_number, each.sub_sequence_number, each.partition_key, each.data.decode()]
            for each in batch.records()
        ]
        with self._changed:  # whoever reads of the batch can commit it
            show("records", shard=batch.shard_id, batch=str(batch.id), records=records)
            self._held[batch.shard_id] = batch
        if self.commits == "batch":
            self._commit(batch.shard_id)

    def _asked(self, shard: str) -> None:
        show("shutdownRequested", shard=shard)
        if self.commits == "command":
            self._commit(shard)

    def _commit(self, wanted: str = "") -> None:
        with self._changed:
            shards = [shard for shard in self._held if wanted in ("", shard)]
            batches = [self._held.pop(shard) for shard in shards]
        for batch in batches:
            try:
                batch.commit()
            except LeaseLostError as error:
                show("checkpointRefused", shard=batch.shard_id, error="LeaseLostError", message=str(error))
            else:
                end = [batch.end.number, batch.end.sub_sequence_number]
                show("checkpointed", shard=batch.shard_id, batch=str(batch.id), checkpoint=end)


def main(arguments: list[str]) -> None:
    options = dict(argument.split("=", 1) for argument in arguments)
    program = Program(options["checkpoint"], options["paused"] == "true")
    program.group = ConsumerGroup.open(
        options["stream"],
        options["application"],
        leases=DynamoLeases(endpoint_url=options["dynamodb"], add_index=True),
        region=options["region"],
        endpoint_url=options["kinesis"],
        credentials=StaticKeys("key", "secret"),
        start=options["position"],
        settings=GroupSettings(**json.loads(options["settings"])),
        callbacks=program.callbacks(),
        worker=options["worker"],
    )
    threading.Thread(target=program.obey, daemon=True).start()
    program.run()


if __name__ == "__main__":
    main(sys.argv[1:])
