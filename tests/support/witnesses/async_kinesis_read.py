"""A consumer of async-kinesis, which shows its records and checkpoints in DynamoDB after each batch."""

from __future__ import annotations

import asyncio

from kinesis import Consumer, StringProcessor
from kinesis.dynamodb import DynamoDBCheckPointer

from support.witnesses.printing import obey, options, show


async def main() -> None:
    given = options()
    checkpointer = DynamoDBCheckPointer(
        given["application"], id=given["worker"], session_timeout=10, heartbeat_frequency=2
    )
    async with Consumer(given["stream"], checkpointer=checkpointer, processor=StringProcessor()) as consumer:
        while True:  # it stops when nothing came for two seconds
            async for record in consumer:
                show("record", data=record)
            show("idle", shards=sorted(checkpointer.get_all_checkpoints()))


obey()
asyncio.run(main())
