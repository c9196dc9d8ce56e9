"""Arrow record batches from pages. The only folder that needs pyarrow; import it only where pyarrow is installed."""

from kinesis_core.reading.arrow.batch_builder import BatchBuilder

__all__ = [
    "BatchBuilder",
]
