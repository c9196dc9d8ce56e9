"""
AWS credentials for drivers and executors: a picklable spec names the source, a botocore session refreshes the keys.

`open_session` or `cached_session` turns a spec into a session. All errors are subclasses of `CredentialsError`.
"""

from typing import TYPE_CHECKING

from kinesis_credentials.lazy import lazy_names

if TYPE_CHECKING:
    from kinesis_credentials.advice import (
        Advice as Advice,
        Advices as Advices,
        Setting as Setting,
        Vocabulary as Vocabulary,
    )
    from kinesis_credentials.base import KinesisError as KinesisError
    from kinesis_credentials.credentials import Now as Now, RenewableCredentials as RenewableCredentials
    from kinesis_credentials.endpoints import find_endpoint_region as find_endpoint_region
    from kinesis_credentials.errors import (
        Attempt as Attempt,
        CredentialsError as CredentialsError,
        IncompleteKeysError as IncompleteKeysError,
        NoCredentialsError as NoCredentialsError,
        ProfileNotFoundError as ProfileNotFoundError,
        ProviderClassError as ProviderClassError,
        RegionError as RegionError,
        RoleRefusedError as RoleRefusedError,
        SourceFailedError as SourceFailedError,
        SourceUnavailableError as SourceUnavailableError,
    )
    from kinesis_credentials.expiry import Retried as Retried, renew_expired as renew_expired
    from kinesis_credentials.failures import safe_message as safe_message
    from kinesis_credentials.regions import (
        find_arn_region as find_arn_region,
        resolve_region as resolve_region,
    )
    from kinesis_credentials.sessions import (
        cached_session as cached_session,
        ensure_credentials as ensure_credentials,
        forget_sessions as forget_sessions,
        get_credentials as get_credentials,
        open_session as open_session,
    )
    from kinesis_credentials.specs import (
        AssumeRole as AssumeRole,
        CredentialSpec as CredentialSpec,
        DefaultChain as DefaultChain,
        InstanceProfile as InstanceProfile,
        Profile as Profile,
        ProviderClass as ProviderClass,
        StaticKeys as StaticKeys,
    )
    from kinesis_credentials.version import __version__ as __version__

lazy_names(
    __name__,
    {
        "kinesis_credentials.advice": "Advice Advices Setting Vocabulary",
        "kinesis_credentials.base": "KinesisError",
        "kinesis_credentials.credentials": "Now RenewableCredentials",
        "kinesis_credentials.endpoints": "find_endpoint_region",
        "kinesis_credentials.errors": (
            "Attempt CredentialsError IncompleteKeysError NoCredentialsError ProfileNotFoundError "
            "ProviderClassError RegionError RoleRefusedError SourceFailedError SourceUnavailableError"
        ),
        "kinesis_credentials.expiry": "Retried renew_expired",
        "kinesis_credentials.failures": "safe_message",
        "kinesis_credentials.regions": "find_arn_region resolve_region",
        "kinesis_credentials.sessions": (
            "cached_session ensure_credentials forget_sessions get_credentials open_session"
        ),
        "kinesis_credentials.specs": (
            "AssumeRole CredentialSpec DefaultChain InstanceProfile Profile ProviderClass StaticKeys"
        ),
        "kinesis_credentials.version": "__version__",
    },
)
