"""Writing to a stream: aggregated or not, several requests at once, nothing dropped."""

from kinesis_core.producing.producer import Producer
from kinesis_core.producing.settings import ProducerSettings
from kinesis_core.producing.totals import Totals

__all__ = [
    "Producer",
    "ProducerSettings",
    "Totals",
]
