"""
The declarations of the events that this package logs, and the name of its logger. They are for the reference page, and for the
tests that compare log calls with them.
"""

from kinesis_core.events.calls import CALLS
from kinesis_core.events.leases import LEASES
from kinesis_core.events.planning import PLANNING
from kinesis_core.events.reading import READING
from kinesis_core.events.writing import WRITING

__all__ = ["EVENTS", "LOGGER"]

LOGGER = "kinesis_core"
EVENTS = tuple(sorted((*CALLS, *LEASES, *PLANNING, *READING, *WRITING), key=lambda event: event.name))
