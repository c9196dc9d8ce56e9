"""
The memory of a reader under one limit: the bytes of calls under way, of pages that wait, and of the page that its caller has.

`accounts` counts, and decides who gets bytes next. `byte_budget` lets threads wait for them. `receiving` connects a thread with its
share, so that the calls that it makes, and the bodies that it receives, count there.
"""

from kinesis_core.budget.accounts import ByteAccounts
from kinesis_core.budget.byte_budget import IN_FLIGHT, LARGEST_BODY, ByteBudget, ByteShare, NoRoomError
from kinesis_core.budget.receiving import admit, receiving, release, reserve

__all__ = [
    "ByteAccounts",
    "ByteBudget",
    "ByteShare",
    "IN_FLIGHT",
    "LARGEST_BODY",
    "NoRoomError",
    "admit",
    "receiving",
    "release",
    "reserve",
]
