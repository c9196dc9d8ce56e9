"""
The only package that calls AWS; only it imports botocore.

It exports StreamApi and PutApi for one stream, ConsumerApi and SubscribeApi for enhanced fan-out. It handles retries, rate limits,
signing and AWS's errors.
"""

from typing import TYPE_CHECKING

from kinesis_credentials.lazy import lazy_names

if TYPE_CHECKING:
    from kinesis_core.aws.calls import read_text as read_text
    from kinesis_core.aws.client import BotoStreamApi as BotoStreamApi
    from kinesis_core.aws.clients import (
        consumer_client as consumer_client,
        find_session as find_session,
        list_streams as list_streams,
        make_client as make_client,
        stream_client as stream_client,
        subscription_client as subscription_client,
        tables_client as tables_client,
    )
    from kinesis_core.aws.connection import (
        Connection as Connection,
        StreamRef as StreamRef,
        verify_endpoint as verify_endpoint,
    )
    from kinesis_core.aws.dry_runs import (
        check_reading as check_reading,
        check_writing as check_writing,
        dry_run_client as dry_run_client,
    )
    from kinesis_core.aws.permissions import (
        CALLS as CALLS,
        KEY as KEY,
        KEY_USES as KEY_USES,
        ApiCall as ApiCall,
        Location as Location,
        Purpose as Purpose,
        Resource as Resource,
    )
    from kinesis_core.aws.rate_limits import ReadRateLimiter as ReadRateLimiter
    from kinesis_core.aws.retry import (
        RetryBudget as RetryBudget,
        RetryPolicy as RetryPolicy,
        Throttles as Throttles,
        call_with_retries as call_with_retries,
        log_renewal as log_renewal,
        log_retry as log_retry,
    )
    from kinesis_core.aws.service_errors import (
        ADVICE_BY_CODE as ADVICE_BY_CODE,
        CALL_ERRORS as CALL_ERRORS,
        MALFORMED as MALFORMED,
        class_of as class_of,
        is_retryable as is_retryable,
        malformed as malformed,
        translate as translate,
    )
    from kinesis_core.aws.stream_api import (
        RESUBSCRIBE_S as RESUBSCRIBE_S,
        Consumer as Consumer,
        ConsumerApi as ConsumerApi,
        PutApi as PutApi,
        StreamApi as StreamApi,
        SubscribeApi as SubscribeApi,
    )
    from kinesis_core.aws.transport import (
        FanOutTransport as FanOutTransport,
        Transport as Transport,
        check_http2 as check_http2,
    )
    from kinesis_core.aws.wire_choice import WireFormat as WireFormat, check_cbor as check_cbor

lazy_names(
    __name__,
    {
        "kinesis_core.aws.calls": "read_text",
        "kinesis_core.aws.client": "BotoStreamApi",
        "kinesis_core.aws.clients": (
            "consumer_client find_session list_streams make_client stream_client subscription_client tables_client"
        ),
        "kinesis_core.aws.connection": "Connection StreamRef verify_endpoint",
        "kinesis_core.aws.dry_runs": "check_reading check_writing dry_run_client",
        "kinesis_core.aws.permissions": "CALLS KEY KEY_USES ApiCall Location Purpose Resource",
        "kinesis_core.aws.rate_limits": "ReadRateLimiter",
        "kinesis_core.aws.retry": (
            "RetryBudget RetryPolicy Throttles call_with_retries log_renewal log_retry"
        ),
        "kinesis_core.aws.service_errors": (
            "ADVICE_BY_CODE CALL_ERRORS MALFORMED class_of is_retryable malformed translate"
        ),
        "kinesis_core.aws.stream_api": "RESUBSCRIBE_S Consumer ConsumerApi PutApi StreamApi SubscribeApi",
        "kinesis_core.aws.transport": "FanOutTransport Transport check_http2",
        "kinesis_core.aws.wire_choice": "WireFormat check_cbor",
    },
)
