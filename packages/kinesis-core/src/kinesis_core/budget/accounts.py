"""Bytes under a limit: who holds how many, and who gets more next. No threads, no clock."""

from __future__ import annotations

from attrs import define, field


@define
class ByteAccounts:
    """
    Holders, by number, with the bytes of each, and the line of those that wait for more.

    The bytes together stay within the limit, with one exception: if nobody would give bytes back before the first in line has its
    own, it gets them. So a limit that is smaller than one page slows reading down, and never stops it. The limit is exceeded by what
    one holder asks for at most.

    Those that hold bytes already wait before those that hold nothing: they are in the middle of a call.
    """

    limit_bytes: int
    used_bytes: int = field(default=0, init=False)
    """What all holders have together."""
    _held: dict[int, int] = field(factory=dict, init=False)
    _asked: dict[int, int] = field(factory=dict, init=False)
    """What each of those in line wants to have in all."""

    def held(self, holder: int) -> int:
        """Return the bytes of *holder*."""
        return self._held.get(holder, 0)

    def is_waiting(self, holder: int) -> bool:
        return holder in self._asked

    def has_room(self, holder: int, size_bytes: int) -> bool:
        """Return whether *holder* could have *size_bytes* in all at once."""
        if size_bytes <= self.held(holder):
            return True
        return not (self._asked.keys() - {holder}) and self._fits(holder, size_bytes)

    def ask(self, holder: int, size_bytes: int) -> None:
        """Let *holder* have *size_bytes* in all: now, or in its turn."""
        if size_bytes <= self.held(holder):
            self.put(holder, size_bytes)
        else:
            self._asked[holder] = size_bytes
            self._grant()

    def put(self, holder: int, size_bytes: int) -> None:
        """Let *holder* have *size_bytes* at once, whatever the limit: they are in memory already. It no longer waits."""
        self._asked.pop(holder, None)
        self._hold(holder, size_bytes)
        self._grant()

    def withdraw(self, holder: int) -> None:
        """Let *holder* wait no longer. It keeps what it has."""
        self.put(holder, self.held(holder))

    def _grant(self) -> None:
        while self._asked:
            first = next((holder for holder in self._asked if holder in self._held), next(iter(self._asked)))
            if not self._fits(first, self._asked[first]):
                return
            self._hold(first, self._asked.pop(first))

    def _fits(self, holder: int, size_bytes: int) -> bool:
        if self.used_bytes - self.held(holder) + size_bytes <= self.limit_bytes:
            return True
        return all(other in self._asked or other == holder for other in self._held)

    def _hold(self, holder: int, size_bytes: int) -> None:
        self.used_bytes += size_bytes - self._held.pop(holder, 0)
        if size_bytes:
            self._held[holder] = size_bytes
