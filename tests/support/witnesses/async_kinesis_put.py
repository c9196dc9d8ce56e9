"""A producer of async-kinesis, which puts what lines on its standard input say."""

from __future__ import annotations

import asyncio

from kinesis import Producer, StringProcessor

from support.witnesses.printing import options, wanted_puts


async def main() -> None:
    async with Producer(options()["stream"], processor=StringProcessor()) as producer:
        async for records in wanted_puts():
            for data, key in records.items():
                await producer.put(data, partition_key=key)
            await producer.flush()


asyncio.run(main())
