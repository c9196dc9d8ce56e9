"""Calls that block, made by tasks of asyncio."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress


async def in_thread(call: Callable[[], None]) -> None:
    """Make *call* in a thread. A task that is cancelled during the call waits for its end, so that it is not left half done."""
    running = asyncio.ensure_future(asyncio.to_thread(call))
    try:
        await asyncio.shield(running)
    except asyncio.CancelledError:
        while not running.done():
            with suppress(asyncio.CancelledError):
                await asyncio.wait([running])
        raise asyncio.CancelledError from running.exception()
