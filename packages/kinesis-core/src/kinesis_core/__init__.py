"""
Amazon Kinesis Data Streams for plain Python, without Spark.

`Stream` reads a stream in exact batches, `Producer` writes to one. All errors are subclasses of `KinesisError`.
"""

from typing import TYPE_CHECKING

from kinesis_credentials.lazy import lazy_names

if TYPE_CHECKING:
    from kinesis_core.aws import FanOutTransport, WireFormat
    from kinesis_core.batch import Batch
    from kinesis_core.errors import (
        AccessDeniedError,
        DataLossError,
        InvalidRecordError,
        InvalidRequestError,
        KinesisError,
        MalformedResponseError,
        OffsetError,
        OptionError,
        ProcessLimit,
        ProcessLimitError,
        PutError,
        ResourceInUseError,
        ServiceError,
        StaleListingError,
        StreamNotFoundError,
        StreamNotReadyError,
        StreamRecreatedError,
        TableLayoutError,
        TableNotFoundError,
        ThrottledError,
        UnavailableError,
        WireFormatError,
    )
    from kinesis_core.model import (
        After,
        At,
        AtTimestamp,
        Cut,
        EndingPosition,
        ForeignCheckpoint,
        KclApplication,
        Latest,
        ListedShard,
        PerShard,
        PerStream,
        ShardEnd,
        StartingPosition,
        TrimHorizon,
    )
    from kinesis_core.native import Runtime, runtime
    from kinesis_core.planning import Limits, PlanSettings
    from kinesis_core.producing import Producer, ProducerSettings, Totals
    from kinesis_core.reading import FanOutSettings, ReadSettings, UserRecord
    from kinesis_core.stream import Start, Stream
    from kinesis_core.version import __version__
else:
    __getattr__, __dir__ = lazy_names(
        __name__,
        {
            "kinesis_core.aws": "FanOutTransport WireFormat",
            "kinesis_core.batch": "Batch",
            "kinesis_core.errors": (
                "AccessDeniedError DataLossError InvalidRecordError InvalidRequestError KinesisError "
                "MalformedResponseError OffsetError OptionError ProcessLimit ProcessLimitError PutError "
                "ResourceInUseError ServiceError StaleListingError StreamNotFoundError StreamNotReadyError "
                "StreamRecreatedError "
                "TableLayoutError TableNotFoundError ThrottledError UnavailableError WireFormatError"
            ),
            "kinesis_core.model": (
                "After At AtTimestamp Cut EndingPosition ForeignCheckpoint KclApplication Latest "
                "ListedShard PerShard PerStream ShardEnd StartingPosition TrimHorizon"
            ),
            "kinesis_core.native": "Runtime runtime",
            "kinesis_core.planning": "Limits PlanSettings",
            "kinesis_core.producing": "Producer ProducerSettings Totals",
            "kinesis_core.reading": "FanOutSettings ReadSettings UserRecord",
            "kinesis_core.stream": "Start Stream",
            "kinesis_core.version": "__version__",
        },
    )

__all__ = [
    "AccessDeniedError",
    "After",
    "At",
    "AtTimestamp",
    "Batch",
    "Cut",
    "DataLossError",
    "EndingPosition",
    "FanOutSettings",
    "FanOutTransport",
    "ForeignCheckpoint",
    "InvalidRecordError",
    "InvalidRequestError",
    "KclApplication",
    "KinesisError",
    "Latest",
    "Limits",
    "ListedShard",
    "MalformedResponseError",
    "OffsetError",
    "OptionError",
    "PerShard",
    "PerStream",
    "PlanSettings",
    "ProcessLimit",
    "ProcessLimitError",
    "Producer",
    "ProducerSettings",
    "PutError",
    "ReadSettings",
    "ResourceInUseError",
    "Runtime",
    "ServiceError",
    "ShardEnd",
    "StaleListingError",
    "Start",
    "StartingPosition",
    "Stream",
    "StreamNotFoundError",
    "StreamNotReadyError",
    "StreamRecreatedError",
    "TableLayoutError",
    "TableNotFoundError",
    "ThrottledError",
    "Totals",
    "TrimHorizon",
    "UnavailableError",
    "UserRecord",
    "WireFormat",
    "WireFormatError",
    "__version__",
    "runtime",
]
