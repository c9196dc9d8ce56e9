"""A producer of aiokpl, which puts what lines on its standard input say, and shows how each user record ended."""

from __future__ import annotations

import asyncio

from aiokpl import Config, Producer

from support.witnesses.printing import options, show, wanted_puts


async def main() -> None:
    given = options()
    async with Producer(Config(region=given["region"], record_max_buffered_time_ms=100)) as producer:
        async for records in wanted_puts():
            outcomes = [
                await producer.put_record(stream=given["stream"], partition_key=key, data=data.encode())
                for data, key in records.items()
            ]
            results = [await outcome.wait() for outcome in outcomes]
            attempts = sum(len(result.attempts) for result in results)
            show("results", succeeded=sum(result.success for result in results), attempts=attempts)


asyncio.run(main())
