"""
The frequent calls without botocore's parts that take most of the time: HTTP, signatures, JSON and CBOR by hand.

botocore makes the first request of each kind, and everything that this room does not recognise.
"""

from typing import TYPE_CHECKING

from kinesis_credentials.lazy import lazy_names

if TYPE_CHECKING:
    from kinesis_core.aws.fast.fast_path import (
        BODY as BODY,
        SUMMARY as SUMMARY,
        FastPath as FastPath,
        install_raw_bodies as install_raw_bodies,
        install_raw_listing as install_raw_listing,
        install_whole_summary as install_whole_summary,
    )
    from kinesis_core.aws.fast.wire import decode_event as decode_event, decode_shards as decode_shards
    from kinesis_core.aws.fast.wire_format import Wire as Wire, find_wire as find_wire

lazy_names(
    __name__,
    {
        "kinesis_core.aws.fast.fast_path": "BODY SUMMARY FastPath install_raw_bodies install_raw_listing install_whole_summary",
        "kinesis_core.aws.fast.wire": "decode_event decode_shards",
        "kinesis_core.aws.fast.wire_format": "Wire find_wire",
    },
)
