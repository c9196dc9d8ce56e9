"""All events of this package, and the name of its logger."""

from __future__ import annotations

from kinesis_core.events.calls import CALLS
from kinesis_core.events.leases import LEASES
from kinesis_core.events.planning import PLANNING
from kinesis_core.events.reading import READING
from kinesis_core.events.writing import WRITING

LOGGER = "kinesis_core"
EVENTS = tuple(sorted((*CALLS, *LEASES, *PLANNING, *READING, *WRITING), key=lambda event: event.name))
