"""A limit of bytes that threads share: they wait until there is room."""

from __future__ import annotations

import math
import time
from itertools import count
from threading import Condition

from attrs import define, field

from kinesis_core.budget.accounts import ByteAccounts

IN_FLIGHT = 2
"""A body counts this often while it is received and decoded: there are the body, and the page that is made of it."""
LARGEST_BODY = 16 * 1024 * 1024
"""What a body of GetRecords may have: 10 MiB of data in base64, and 10,000 records around it."""


class NoRoomError(Exception):
    """
    There was no room for a body. The call was given up before the body was received.

    Attributes:
        body_bytes: The length of the body.
    """

    def __init__(self, body_bytes: int) -> None:
        super().__init__(f"There is no room for a response of {body_bytes} bytes.")
        self.body_bytes = body_bytes


class ClosedError(Exception):
    """Nobody reads any more."""


@define(eq=False)
class ByteBudget:
    """The bytes that the threads of one reader may hold together. Thread-safe. What the limit means is in `ByteAccounts`."""

    limit_bytes: int
    _accounts: ByteAccounts = field(init=False)
    _changed: Condition = field(factory=Condition, init=False)
    _numbers: count[int] = field(factory=count, init=False)
    _is_closed: bool = field(default=False, init=False)

    def __attrs_post_init__(self) -> None:
        self._accounts = ByteAccounts(self.limit_bytes)

    @property
    def used_bytes(self) -> int:
        """What all shares have together."""
        return self._accounts.used_bytes

    def share(
        self,
        first_bytes: int = 0,
        patience_s: float = math.inf,
        reserve_s: float = math.inf,
        unknown_bytes: int = LARGEST_BODY,
    ) -> ByteShare:
        """
        Return a share without bytes.

        *first_bytes*: about how long its first body is, as nothing is known of it.
        *patience_s*: for how long a call waits for room while it is under way, in seconds.
        *reserve_s*: the same before a call.
        *unknown_bytes*: what a body counts whose length is not known.
        """
        return ByteShare(self, self.next_number(), first_bytes, patience_s, reserve_s, unknown_bytes)

    def next_number(self) -> int:
        """Return a number that no other share has."""
        return next(self._numbers)

    def close(self) -> None:
        """Let nobody wait for room any more: who does, and who asks for it later, gets an error. Idempotent."""
        with self._changed:
            self._is_closed = True
            self._changed.notify_all()

    def is_waiting(self, share: ByteShare) -> bool:
        """Return whether a thread waits for room for *share*."""
        return self._accounts.is_waiting(share.number)

    def held(self, number: int) -> int:
        """Return the bytes of a share."""
        return self._accounts.held(number)

    def has_room(self, number: int, size_bytes: int) -> bool:
        """Return whether a share could have *size_bytes* in all at once."""
        with self._changed:
            return self._accounts.has_room(number, size_bytes)

    def ask(self, number: int, size_bytes: int, patience_s: float) -> bool:
        """Let a share have *size_bytes* in all when there is room. Returns False if there was none in time."""
        until_s = time.monotonic() + patience_s
        with self._changed:
            accounts = self._accounts
            accounts.ask(number, size_bytes)
            self._changed.notify_all()  # that this share waits may let another one go first
            while accounts.is_waiting(number) and not self._is_closed:
                left_s = until_s - time.monotonic()
                if left_s <= 0:
                    break
                self._changed.wait(None if left_s == math.inf else left_s)
            is_granted = not accounts.is_waiting(number)
            accounts.withdraw(number)
            self._changed.notify_all()
            if self._is_closed:
                raise ClosedError
            return is_granted

    def put(self, number: int, size_bytes: int) -> None:
        """Let a share have *size_bytes* at once."""
        with self._changed:
            self._accounts.put(number, size_bytes)
            self._changed.notify_all()


@define(eq=False)
class ByteShare:
    """What one thread holds of a budget, or one page."""

    _budget: ByteBudget
    number: int
    _first_bytes: int
    _patience_s: float
    _reserve_s: float
    _unknown_bytes: int

    @property
    def size_bytes(self) -> int:
        return self._budget.held(self.number)

    def reserve(self, body_bytes: int | None) -> None:
        """
        Wait until there is room for a response whose body has about *body_bytes*; None if nothing is known of it.

        Raises:
            NoRoomError: There was none in time.
            ClosedError: The budget is closed.
        """
        self._ask(self._first_bytes if body_bytes is None else body_bytes, self._reserve_s)

    def admit(self, body_bytes: int | None) -> None:
        """
        Wait until there is room for a body of *body_bytes* that is about to be received; None if its length is not known.

        Raises:
            NoRoomError: There was none in time.
            ClosedError: The budget is closed.
        """
        self._ask(self._unknown_bytes if body_bytes is None else body_bytes, self._patience_s)

    def hand_over(self, body_bytes: int) -> ByteShare:
        """Return a share with the page that was decoded from a body of *body_bytes*. This one has nothing afterwards."""
        self.hold(body_bytes)
        page, self.number = self.number, self._budget.next_number()
        return ByteShare(self._budget, page, 0, self._patience_s, self._reserve_s, self._unknown_bytes)

    def release(self) -> None:
        """Give all bytes back. Idempotent."""
        self.hold(0)

    def hold(self, size_bytes: int) -> None:
        """Have *size_bytes* in all, at once: they are in memory already."""
        self._budget.put(self.number, size_bytes)

    def _ask(self, body_bytes: int, patience_s: float) -> None:
        size_bytes = IN_FLIGHT * body_bytes
        if size_bytes > self.size_bytes and not self._budget.ask(self.number, size_bytes, patience_s):
            raise NoRoomError(body_bytes)
