"""What a user may set about reading by subscription."""

from __future__ import annotations

from attrs import frozen


@frozen
class FanOutSettings:
    """How long a subscription is tried for, and whether what it does not bring is polled."""

    fallback_to_polling: bool = True
    timeout_s: float = 60.0
    """Without an event."""
    retries: int = 10
    """Further subscriptions after one that brought no event."""
    over_http2: bool = False
