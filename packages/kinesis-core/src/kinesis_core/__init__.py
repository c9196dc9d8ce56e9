"""
Amazon Kinesis Data Streams for plain Python, without Spark.

`Stream` reads a stream in exact batches, `Producer` writes to one. All errors are subclasses of `KinesisError`.
"""

from typing import TYPE_CHECKING

from kinesis_credentials.lazy import lazy_names

if TYPE_CHECKING:
    from kinesis_core.aws import FanOutTransport as FanOutTransport, WireFormat as WireFormat
    from kinesis_core.batch import Batch as Batch
    from kinesis_core.errors import (
        AccessDeniedError as AccessDeniedError,
        DataLossError as DataLossError,
        InvalidRecordError as InvalidRecordError,
        InvalidRequestError as InvalidRequestError,
        KinesisError as KinesisError,
        MalformedResponseError as MalformedResponseError,
        OffsetError as OffsetError,
        OptionError as OptionError,
        ProcessLimit as ProcessLimit,
        ProcessLimitError as ProcessLimitError,
        ProducerClosedError as ProducerClosedError,
        PutError as PutError,
        ResourceInUseError as ResourceInUseError,
        ServiceError as ServiceError,
        StaleListingError as StaleListingError,
        StreamNotFoundError as StreamNotFoundError,
        StreamNotReadyError as StreamNotReadyError,
        StreamRecreatedError as StreamRecreatedError,
        TableLayoutError as TableLayoutError,
        TableNotFoundError as TableNotFoundError,
        ThrottledError as ThrottledError,
        UnavailableError as UnavailableError,
        WireFormatError as WireFormatError,
    )
    from kinesis_core.follow import Follow as Follow
    from kinesis_core.model import (
        After as After,
        At as At,
        AtTimestamp as AtTimestamp,
        Cut as Cut,
        EndingPosition as EndingPosition,
        ForeignCheckpoint as ForeignCheckpoint,
        KclApplication as KclApplication,
        Latest as Latest,
        ListedShard as ListedShard,
        PerShard as PerShard,
        PerStream as PerStream,
        ShardEnd as ShardEnd,
        StartingPosition as StartingPosition,
        TrimHorizon as TrimHorizon,
    )
    from kinesis_core.native import Runtime as Runtime, runtime as runtime
    from kinesis_core.planning import Limits as Limits, PlanSettings as PlanSettings
    from kinesis_core.producing import (
        Producer as Producer,
        ProducerSettings as ProducerSettings,
        Totals as Totals,
    )
    from kinesis_core.reading import (
        FanOutSettings as FanOutSettings,
        ReadSettings as ReadSettings,
        UserRecord as UserRecord,
    )
    from kinesis_core.stream import Start as Start, Stream as Stream
    from kinesis_core.version import __version__ as __version__

lazy_names(
    __name__,
    {
        "kinesis_core.aws": "FanOutTransport WireFormat",
        "kinesis_core.batch": "Batch",
        "kinesis_core.errors": (
            "AccessDeniedError DataLossError InvalidRecordError InvalidRequestError KinesisError "
            "MalformedResponseError OffsetError OptionError ProcessLimit ProcessLimitError ProducerClosedError "
            "PutError ResourceInUseError ServiceError StaleListingError StreamNotFoundError StreamNotReadyError "
            "StreamRecreatedError TableLayoutError TableNotFoundError ThrottledError UnavailableError "
            "WireFormatError"
        ),
        "kinesis_core.follow": "Follow",
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
