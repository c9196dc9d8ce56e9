"""
Native parts of kinesis-core: the same results as its Python functions, faster, and with Python's lock released.

Programs do not import this package. kinesis-core uses it when it is installed: `pip install 'kinesis-core[native]'`.
"""

from kinesis_native._native import (
    AggregateBuilder,
    Batch,
    Page,
    PutEntries,
    PutRows,
    decode_cbor_page,
    decode_page,
)
from kinesis_native.version import __version__

__all__ = [
    "AggregateBuilder",
    "Batch",
    "Page",
    "PutEntries",
    "PutRows",
    "__version__",
    "decode_cbor_page",
    "decode_page",
]
