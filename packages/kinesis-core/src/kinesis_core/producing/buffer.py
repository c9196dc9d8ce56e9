"""The memory that one producer, or several of them, may hold."""

from __future__ import annotations

from attrs import define


@define(eq=False)
class Buffer:
    """What the producers that share a buffer hold together."""

    held_bytes: int = 0
    """Data and keys of user records that are put and not yet written."""
    open_aggregate_bytes: int = 0
    """A part of them: those in open aggregates, which are not batches yet."""
    producers: int = 0
    """How many producers share it."""

    @property
    def share(self) -> float:
        """The part of a limit for all of them that each of them may use."""
        return 1 / max(1, self.producers)
