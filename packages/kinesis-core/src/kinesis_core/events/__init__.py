"""
The declarations of the events that this package logs, for the reference page and for the tests that compare log calls with
them.
"""

from kinesis_core.events.registry import EVENTS, LOGGER

__all__ = [
    "EVENTS",
    "LOGGER",
]
