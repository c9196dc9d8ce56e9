"""A worker of kcl-rs, which prints what the worker of Java's KCL in the tests prints. It checkpoints after each batch."""

from __future__ import annotations

from typing import Any

from kcl_rs import CheckpointError, Scheduler

from support.witnesses.printing import obey, options, show


class Processor:
    """Of one shard."""

    shard: str

    def initialize(self, given: Any) -> None:
        self.shard = given.shard_id
        show("initialized", shard=self.shard)

    def process_records(self, given: Any) -> None:
        records = [
            [each.sequence_number, each.sub_sequence_number, each.partition_key, each.binary_data.decode()]
            for each in given.records
        ]
        if records:
            show("records", shard=self.shard, records=records)
            self._checkpoint(given.checkpointer, records[-1][:2])

    def lease_lost(self, _: object) -> None:
        show("leaseLost", shard=self.shard)

    def shard_ended(self, given: Any) -> None:
        show("shardEnded", shard=self.shard)
        self._checkpoint(given.checkpointer, ["SHARD_END", 0])

    def shutdown_requested(self, _: object) -> None:
        show("shutdownRequested", shard=self.shard)

    def _checkpoint(self, checkpointer: Any, position: list[Any]) -> None:
        try:
            checkpointer.checkpoint()
        except CheckpointError as error:
            show("checkpointRefused", shard=self.shard, error=error.value)
        else:
            show("checkpointed", shard=self.shard, checkpoint=position)


def main() -> None:
    given = options()
    scheduler = Scheduler(
        stream_name=given["stream"],
        application_name=given["application"],
        record_processor_factory=Processor,
        worker_identifier=given["worker"],
        region=given["region"],
        initial_position=given["position"],
        retrieval_mode=given["retrieval"],
    )
    obey(graceful=scheduler.shutdown)
    scheduler.run()
    show("stopped")


if __name__ == "__main__":
    main()
