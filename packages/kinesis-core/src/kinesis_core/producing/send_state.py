"""The send state of a batch: when it is due, the flush that waits for it, and its failed attempts."""

from __future__ import annotations

from attrs import evolve, frozen


@frozen
class SendState:
    """When the oldest user record of a batch is due, and the result of earlier attempts to send the batch."""

    due_s: float
    """When the batch is sent even if a request has room for more."""
    generation: int
    """The flush that waits for the batch."""
    reason: str = ""
    """AWS's error code of the last failed attempt."""
    detail: str = ""
    """The error message of the last failed attempt."""
    is_unsure: bool = False
    """Whether the last attempt had no response, so that the batch may be in the stream already."""
    may_be_written: bool = False
    """Whether that is so after any of the attempts."""
    attempts: int = 0
    """Number of failed attempts."""

    def after_failure(self, reason: str, detail: str, *, is_unsure: bool) -> SendState:
        """Return the state for the next attempt, which is due at once."""
        attempts = self.attempts + 1
        return evolve(
            self,
            due_s=0.0,
            reason=reason,
            detail=detail,
            is_unsure=is_unsure,
            may_be_written=self.may_be_written or is_unsure,
            attempts=attempts,
        )
