"""
A worker of a consumer group in a process of its own. It prints a line for each batch, and ends in order with SIGTERM.

    python -m tools.group_bench.worker application stream kinesis_url dynamodb_url name
"""

from __future__ import annotations

import json
import sys

from kinesis_consumer import ConsumerGroup, DynamoLeases
from support.streams import connection_to


def main(application: str, stream: str, kinesis_url: str, dynamodb_url: str, name: str) -> None:
    group = ConsumerGroup.open(
        stream,
        application,
        leases=DynamoLeases(endpoint_url=dynamodb_url),
        **connection_to(kinesis_url),
        start="TRIM_HORIZON",
        worker=name,
    )
    with group:
        for batch in group:
            count = sum(1 for _ in batch.records())
            sys.stdout.write(json.dumps({"shard": batch.shard_id, "records": count}) + "\n")
            sys.stdout.flush()
            batch.commit()


if __name__ == "__main__":
    main(*sys.argv[1:])
