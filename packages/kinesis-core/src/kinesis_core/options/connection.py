"""How to reach the streams, from the options that source and sink share."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

from attrs import field, frozen

from kinesis_core.errors import OptionError
from kinesis_core.options.catalog import (
    AWS_ACCESS_KEY_ID,
    AWS_PROFILE,
    AWS_SECRET_KEY,
    AWS_USE_INSTANCE_PROFILE,
    CREDENTIAL_PROVIDER_CLASS,
    CREDENTIAL_PROVIDER_PARAM,
    ENDPOINT_URL,
    MAX_RETRIES,
    MAX_RETRY_INTERVAL,
    PROXY_ADDRESS,
    PROXY_PASSWORD,
    PROXY_PORT,
    PROXY_URL,
    PROXY_USERNAME,
    REGION,
    RETRY_INTERVAL,
    SESSION_TOKEN,
    STREAM_ARN,
    STREAM_NAME,
    STS_ENDPOINT_URL,
    STS_EXTERNAL_ID,
    STS_ROLE_ARN,
    STS_SESSION_NAME,
)
from kinesis_core.options.option import Option
from kinesis_core.options.table import Values
from kinesis_credentials import (
    AssumeRole,
    CredentialsError,
    CredentialSpec,
    DefaultChain,
    IncompleteKeysError,
    InstanceProfile,
    Profile,
    ProviderClass,
    StaticKeys,
    find_arn_region,
    resolve_region,
)

_DEFAULT_CREDENTIALS = DefaultChain()
_KEY_PARTS = (AWS_ACCESS_KEY_ID, AWS_SECRET_KEY, SESSION_TOKEN)


@frozen
class StreamRef:
    """A stream as the user named it."""

    name: str
    arn: str | None = None

    @property
    def region(self) -> str | None:
        """The region that its ARN tells."""
        return None if self.arn is None else find_arn_region(self.arn)


@frozen
class ConnectionOptions:
    """Everything needed to call Kinesis. It pickles, and its repr shows no secret."""

    streams: tuple[StreamRef, ...]
    region: str
    """Where streams are that are named without an ARN, and where STS is asked."""
    endpoint_url: str | None = None
    credentials: CredentialSpec = _DEFAULT_CREDENTIALS
    max_retries: int = MAX_RETRIES.default
    retry_interval_s: float = RETRY_INTERVAL.default
    max_retry_interval_s: float = MAX_RETRY_INTERVAL.default
    proxy_url: str | None = field(default=None, repr=False)
    """It may hold a password."""

    @staticmethod
    def from_values(values: Values, *, needs_stream: bool = True) -> ConnectionOptions:
        """
        Return what the shared options in *values* say; calls nothing over the network.

        Raises:
            OptionError: No stream is named, two options contradict each other, keys are incomplete, or no region
                is found.
        """
        streams = _read_streams(values)
        if needs_stream and not streams:
            hint = " What load() is given names no stream." if values.path is not None else ""
            raise OptionError(f"Option 'streamName' or 'streamARN' is required.{hint}")
        credentials = _read_credentials(values)
        retry_s, max_retry_s = _read_retry_intervals(values)
        return ConnectionOptions(
            streams=streams,
            region=_read_region(values, credentials),
            endpoint_url=values[ENDPOINT_URL],
            credentials=credentials,
            max_retries=values[MAX_RETRIES],
            retry_interval_s=retry_s,
            max_retry_interval_s=max_retry_s,
            proxy_url=_read_proxy(values),
        )


def _read_streams(values: Values) -> tuple[StreamRef, ...]:
    names, arns = values[STREAM_NAME], values[STREAM_ARN]
    if not arns:
        return tuple(StreamRef(name) for name in names)
    streams = tuple(StreamRef(arn.rpartition("/")[2], arn) for arn in arns)
    found = [stream.name for stream in streams]
    if names and set(names) != set(found):
        raise OptionError(
            f"{values.label(STREAM_NAME)} names {', '.join(names)}, and {values.label(STREAM_ARN)} names "
            f"{', '.join(found)}. Keep one of them."
        )
    return streams


def _read_credentials(values: Values) -> CredentialSpec:
    """Return where credentials come from: what one option or another says, else botocore's chain; and a role on top."""
    base = _read_base_credentials(values)
    role_arn, session_name = values[STS_ROLE_ARN], values[STS_SESSION_NAME]
    if role_arn is None:
        return base
    if session_name is None:
        raise OptionError(f"{values.label(STS_ROLE_ARN)} needs '{STS_SESSION_NAME.name}' beside it.")
    return AssumeRole(base, role_arn, session_name, values[STS_EXTERNAL_ID], values[STS_ENDPOINT_URL])


def _read_base_credentials(values: Values) -> CredentialSpec:
    found = list(_list_sources(values))
    if len(found) > 1:
        first, second = (values.label(option) for option, _ in found[:2])
        raise OptionError(f"{first} and {second} are two sources of credentials. Keep one of them.")
    return found[0][1] if found else _DEFAULT_CREDENTIALS


def _list_sources(values: Values) -> Iterator[tuple[Option[Any], CredentialSpec]]:
    """Yield each source that the options name, with the option to call it by."""
    profile, class_path = values[AWS_PROFILE], values[CREDENTIAL_PROVIDER_CLASS]
    if any(values[part] is not None for part in _KEY_PARTS):
        yield next(part for part in _KEY_PARTS if values[part] is not None), _read_keys(values)
    if profile is not None:
        yield AWS_PROFILE, Profile(profile)
    if values[AWS_USE_INSTANCE_PROFILE]:
        yield AWS_USE_INSTANCE_PROFILE, InstanceProfile()
    if class_path is not None:
        yield CREDENTIAL_PROVIDER_CLASS, ProviderClass(class_path, values[CREDENTIAL_PROVIDER_PARAM])


def _read_keys(values: Values) -> StaticKeys:
    key_id, secret, token = values[AWS_ACCESS_KEY_ID], values[AWS_SECRET_KEY], values[SESSION_TOKEN]
    if key_id is None or secret is None:
        have = next(part for part in _KEY_PARTS if values[part] is not None)
        missing = " and ".join(f"'{part.name}'" for part in _KEY_PARTS[:2] if values[part] is None)
        raise OptionError(f"{values.label(have)} needs {missing} beside it.")
    try:
        return StaticKeys(key_id, secret, token)
    except IncompleteKeysError as error:
        raise OptionError(f"{values.label(AWS_ACCESS_KEY_ID)} and its like are damaged. {error}") from None


def _read_proxy(values: Values) -> str | None:
    """Return the proxy's URL, which may also be given in its parts."""
    url, address, user, password = (
        values[option] for option in (PROXY_URL, PROXY_ADDRESS, PROXY_USERNAME, PROXY_PASSWORD)
    )
    if address is None:
        return url
    if password is not None and user is None:
        raise OptionError(f"{values.label(PROXY_PASSWORD)} needs '{PROXY_USERNAME.name}' beside it.")
    login = "" if user is None else quote(user, safe="")
    login += "" if password is None else f":{quote(password, safe='')}"
    combined = f"http://{login}{'@' if login else ''}{address}:{values[PROXY_PORT]}"
    if url not in (None, combined):
        raise OptionError(
            f"{values.label(PROXY_URL)} and {values.label(PROXY_ADDRESS)} name two proxies. Keep one of them."
        )
    return combined


def _read_region(values: Values, credentials: CredentialSpec) -> str:
    try:
        return resolve_region(
            credentials,
            region=values[REGION],
            arns=values[STREAM_ARN],
            endpoint_url=values[ENDPOINT_URL],
        )
    except CredentialsError as error:
        raise OptionError(str(error)) from error


def _read_retry_intervals(values: Values) -> tuple[float, float]:
    """Return both intervals; where only one is given, the other one's default gives way to it."""
    first_s, longest_s = values[RETRY_INTERVAL], values[MAX_RETRY_INTERVAL]
    if first_s <= longest_s:
        return first_s, longest_s
    if not values.is_given(MAX_RETRY_INTERVAL):
        return first_s, first_s
    if not values.is_given(RETRY_INTERVAL):
        return longest_s, longest_s
    raise OptionError(
        f"{values.label(RETRY_INTERVAL)} accepts at most the longest wait, {longest_s:g} s; got {first_s:g} s."
    )
