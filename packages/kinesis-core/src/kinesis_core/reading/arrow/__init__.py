"""Pages as Arrow record batches. The only room that needs pyarrow, so nobody else imports it."""

from kinesis_core.reading.arrow.batch_builder import BatchBuilder

__all__ = [
    "BatchBuilder",
]
