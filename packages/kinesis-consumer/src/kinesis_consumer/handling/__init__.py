"""Functions of the user that process batches: how often they are tried, and in which threads or tasks they run."""

from kinesis_consumer.handling.running import Run
from kinesis_consumer.handling.steps import Handler, Handling, OnFailure, SendTo, Unit

__all__ = [
    "Handler",
    "Handling",
    "OnFailure",
    "Run",
    "SendTo",
    "Unit",
]
