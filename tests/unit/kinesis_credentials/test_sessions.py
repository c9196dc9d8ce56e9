"""Sessions take their credentials from the source that the spec names, and from no other."""

from __future__ import annotations

import multiprocessing
import pickle
import threading
import traceback
from pathlib import Path

import botocore
import pytest
from botocore.exceptions import UnknownServiceError
from botocore.session import Session

from kinesis_credentials import (
    Advice,
    CredentialsError,
    CredentialSpec,
    DefaultChain,
    InstanceProfile,
    NoCredentialsError,
    Profile,
    ProfileNotFoundError,
    SourceFailedError,
    StaticKeys,
    cached_session,
    ensure_credentials,
    open_session,
    safe_message,
)
from kinesis_credentials.failures import cause_of
from kinesis_credentials.keys import Keys, MalformedKeysError
from support.waiting import PATIENCE_S

KEYS = StaticKeys("AKIDEXAMPLE", "s3cr3t-invented", "t0ken-invented")


def read_keys(session: Session) -> tuple[str | None, str | None, str | None]:
    credentials = session.get_credentials()
    assert credentials is not None
    frozen = credentials.get_frozen_credentials()
    return frozen.access_key, frozen.secret_key, frozen.token


def test_static_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    """Explicit keys have precedence over the environment."""
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "other")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "other")
    session = open_session(KEYS, "eu-west-1")
    ensure_credentials(session)
    assert read_keys(session) == ("AKIDEXAMPLE", "s3cr3t-invented", "t0ken-invented")
    assert session.create_client("kinesis").meta.region_name == "eu-west-1"


def test_profile(aws_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A named profile has precedence over the keys of the environment."""
    (aws_home / "credentials").write_text("[team]\naws_access_key_id=one\naws_secret_access_key=two\n")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "other")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "other")
    assert read_keys(open_session(Profile("team"))) == ("one", "two", None)


def test_profile_without_credentials(aws_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A named profile without credentials never falls back to the environment, a container or the machine's role."""
    (aws_home / "config").write_text("[profile team]\nregion=eu-west-1\n")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "other")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "other")
    with pytest.raises(NoCredentialsError) as caught:
        ensure_credentials(open_session(Profile("team")))
    sources = [attempt.source for attempt in caught.value.attempts]
    assert "shared-credentials-file" in sources
    assert not {"env", "container-role", "iam-role"} & set(sources)
    assert "profile 'team' has no role_arn" in str(caught.value)


def test_default_chain(monkeypatch: pytest.MonkeyPatch) -> None:
    """The default chain begins with the environment."""
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "one")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "two")
    assert read_keys(open_session(DefaultChain())) == ("one", "two", None)


def test_no_credentials(aws_home: Path) -> None:
    """Without credentials the error lists the sources tried, the reason of each, and what to do."""
    with pytest.raises(NoCredentialsError) as caught:
        ensure_credentials(open_session(DefaultChain()))
    message = str(caught.value)
    assert message.startswith(f"No AWS credentials were found. {Advice.GIVE_CREDENTIALS.value} [tried=env: ")
    assert "tried=env: " in caught.value.without_advice()
    assert "env: AWS_ACCESS_KEY_ID is not set" in message
    assert f"no keys of profile 'default' in {aws_home / 'credentials'}" in message
    assert "iam-role: AWS_EC2_METADATA_DISABLED is true" in message
    assert str(pickle.loads(pickle.dumps(caught.value))) == message  # noqa: S301 - our own bytes


def test_half_of_a_source(monkeypatch: pytest.MonkeyPatch) -> None:
    """A source with a missing part stops the search. The error does not show the other part."""
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE")
    with pytest.raises(SourceFailedError, match="missing: AWS_SECRET_ACCESS_KEY") as caught:
        ensure_credentials(open_session(DefaultChain()))
    assert "AKIDEXAMPLE" not in str(caught.value)


VARIABLES = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN")


@pytest.mark.parametrize("name", VARIABLES)
def test_keys_that_cannot_be_sent(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A variable with a newline at its end is named before any request is sent. Its value is not shown."""
    for variable in VARIABLES:
        monkeypatch.setenv(variable, "s3cr3t-invented\n" if variable == name else "clean")
    with pytest.raises(SourceFailedError, match=f"^{name} has white space.*set it again without") as caught:
        ensure_credentials(open_session(DefaultChain()))
    assert "s3cr3t" not in f"{caught.value!r} {caught.value}"
    assert not caught.value.retryable


def test_a_profile_with_keys_that_cannot_be_sent(aws_home: Path) -> None:
    """For keys of another source the error names the part and the source."""
    (aws_home / "credentials").write_text("[default]\naws_access_key_id=one\naws_secret_access_key=t wo\n")
    with pytest.raises(
        SourceFailedError, match=r"^The secret key that shared-credentials-file gives has white"
    ):
        ensure_credentials(open_session(DefaultChain()))


@pytest.mark.parametrize("name", ["AccessKeyId", "SecretAccessKey", "SessionToken"])
def test_a_response_with_keys_that_cannot_be_sent(name: str) -> None:
    """For keys in a response of STS or of a provider class the error uses the response's name, and shows no key."""
    response = {"AccessKeyId": "one", "SecretAccessKey": "two", "SessionToken": "three", name: "s3cr3t\n"}
    with pytest.raises(MalformedKeysError, match=f"^'{name}' has white space") as caught:
        Keys.read(response)
    assert "s3cr3t" not in str(caught.value)


@pytest.mark.parametrize(
    ("process", "message"),
    [
        ("/no/such/program", "No such file"),
        ("echo s3cr3t-invented", "gave a response that is not JSON"),
    ],
)
def test_broken_process(aws_home: Path, process: str, message: str) -> None:
    """A credential process that fails raises an error of this package. Its output is not shown."""
    (aws_home / "config").write_text(f"[default]\ncredential_process={process}\n")
    with pytest.raises(SourceFailedError, match=message) as caught:
        ensure_credentials(open_session(DefaultChain()))
    assert "s3cr3t" not in str(caught.value)


def test_unknown_profile() -> None:
    """A profile that is not configured is an error at once, with its name."""
    with pytest.raises(ProfileNotFoundError, match="The AWS configuration has no profile 'team'"):
        open_session(Profile("team"))


def test_unknown_profile_in_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """When AWS_PROFILE is wrong, the error names the variable."""
    monkeypatch.setenv("AWS_PROFILE", "team")
    with pytest.raises(ProfileNotFoundError, match="AWS_PROFILE names profile 'team'"):
        open_session(KEYS)


def test_unreadable_configuration(aws_home: Path) -> None:
    """A configuration file that cannot be parsed raises an error of this package."""
    (aws_home / "config").write_text("no section\n")
    with pytest.raises(CredentialsError, match="The AWS configuration cannot be read"):
        open_session(DefaultChain())


@pytest.mark.parametrize("spec", [DefaultChain(), InstanceProfile()])
@pytest.mark.parametrize(
    ("name", "value", "reason"),
    [
        ("AWS_METADATA_SERVICE_TIMEOUT", "soon", "invalid literal for int"),
        (
            "AWS_EC2_METADATA_SERVICE_ENDPOINT",
            "nonsense",
            "Invalid endpoint EC2 Instance Metadata endpoint: nonsense",
        ),
        ("AWS_EC2_METADATA_SERVICE_ENDPOINT_MODE", "ipv5", "endpoint mode: ipv5"),
    ],
)
def test_a_configuration_that_botocore_refuses(
    spec: CredentialSpec, name: str, value: str, reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """botocore reads the settings of all sources before it tries the first."""
    monkeypatch.setenv(name, value)
    with pytest.raises(SourceFailedError, match=f"^The AWS configuration cannot be used: .*{reason}"):
        ensure_credentials(open_session(spec, "eu-west-1"))


HIDDEN = "s3cr3t"
PROFILE = "role_arn=arn:aws:iam::123456789012:role/reader\nsource_profile=base\n"


@pytest.mark.parametrize(
    ("spec", "name", "value"),
    [
        (InstanceProfile(), "AWS_EC2_METADATA_SERVICE_ENDPOINT", "http://user:s3cr3t@127.0.0.1:x/"),
        (InstanceProfile(), "AWS_EC2_METADATA_SERVICE_ENDPOINT", "user:s3cr3t@127.0.0.1 1"),
        (DefaultChain(), "AWS_EC2_METADATA_SERVICE_ENDPOINT", "user:s3cr3t@127.0.0.1 1"),
        (InstanceProfile(), "AWS_EC2_METADATA_SERVICE_ENDPOINT", "http://user:s3cr3t@127.0.0.1:1/"),
        (
            DefaultChain(),
            "AWS_CONTAINER_CREDENTIALS_FULL_URI",
            "http://user:s3cr3t@127.0.0.1:1/keys?t=s3cr3t",
        ),
        (DefaultChain(), "AWS_CONTAINER_CREDENTIALS_FULL_URI", "http://127.0.0.1:1/keys?t=s3cr3t"),
        (Profile("team"), "AWS_ENDPOINT_URL_STS", "http://user:s3cr3t@127.0.0.1:1"),
        (Profile("team"), "AWS_ENDPOINT_URL_STS", "http://127.0.0.1:1/?t=s3cr3t"),
        (Profile("team"), "AWS_ENDPOINT_URL_STS", "s3cr3t@127.0.0.1 1"),
    ],
)
def test_urls_of_sources_show_no_secret(
    spec: CredentialSpec, name: str, value: str, aws_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """botocore's errors show a URL whole. Neither our text nor the traceback, which Spark logs, repeats it."""
    (aws_home / "config").write_text(
        f"[profile team]\n{PROFILE}[profile base]\naws_access_key_id=A\naws_secret_access_key=B\n"
    )
    monkeypatch.setenv("AWS_METADATA_SERVICE_NUM_ATTEMPTS", "1")
    monkeypatch.setenv(name, value)
    with pytest.raises(CredentialsError) as caught:
        ensure_credentials(open_session(spec, "eu-west-1"))
    assert HIDDEN not in "".join(traceback.format_exception(caught.value))


def test_a_line_that_cannot_be_read_is_not_shown(aws_home: Path) -> None:
    """It may be a key without an equals sign. The parser's own error shows it."""
    (aws_home / "credentials").write_text("[default]\naws_secret_access_key s3cr3t\n")
    with pytest.raises(
        CredentialsError, match=r"cannot be read: Unable to parse config file: .*credentials"
    ) as caught:
        ensure_credentials(open_session(DefaultChain(), "eu-west-1"))
    assert HIDDEN not in "".join(traceback.format_exception(caught.value))


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (
            'to the endpoint URL: "http://user:s3cr3t@host:1/x?t=s3cr3t"',
            'to the endpoint URL: "****@host:1/x"',
        ),
        ("Invalid endpoint: user:s3cr3t/s3cr3t@host", "Invalid endpoint: ****@host"),
        ("https://host/#s3cr3t is not there. Is it right?", "https://host/ is not there. Is it right?"),
        (
            "Unable to parse config file: /home/jane@corp/.aws/config",
            "Unable to parse config file: /home/jane@corp/.aws/config",
        ),
    ],
)
def test_what_is_shown_of_an_error(text: str, shown: str) -> None:
    """The user, the password and the query of a URL are left out, and the error is then no cause of another one."""
    error = ValueError(text)
    assert safe_message(error) == shown
    assert cause_of(error) is (error if text == shown else None)


def test_cached() -> None:
    """One process has one session per spec and region, however many threads call."""
    found: list[Session] = []
    threads = [
        threading.Thread(target=lambda: found.append(cached_session(KEYS, "eu-west-1"))) for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 8
    assert len({id(session) for session in found}) == 1
    assert cached_session(KEYS, "eu-west-2") is not found[0]


def test_cache_follows_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keys that are corrected in the environment are used by the next session of the same process."""
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "one")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "two")
    assert read_keys(cached_session(DefaultChain())) == ("one", "two", None)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "three")
    assert read_keys(cached_session(DefaultChain())) == ("one", "three", None)


def test_cache_forgets_failures(aws_home: Path) -> None:
    """Keys that are added to the configuration after a failed check are found. Other sessions are kept."""
    other = cached_session(KEYS)
    with pytest.raises(NoCredentialsError):
        ensure_credentials(cached_session(DefaultChain()))
    assert cached_session(KEYS) is other
    (aws_home / "config").write_text("[default]\naws_access_key_id=one\naws_secret_access_key=two\n")
    assert read_keys(cached_session(DefaultChain())) == ("one", "two", None)


def test_cache_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """The sessions that were used last are kept."""
    monkeypatch.setattr("kinesis_credentials.sessions._MOST_SESSIONS", 5)
    specs = [StaticKeys(f"AKID{number}", "s3cr3t-invented") for number in range(6)]
    first, last = [cached_session(spec) for spec in specs][:: len(specs) - 1]
    assert cached_session(specs[-1]) is last
    assert cached_session(specs[0]) is not first


@pytest.mark.skipif(
    "fork" not in multiprocessing.get_all_start_methods(), reason="the platform does not fork"
)
def test_forked_child() -> None:
    """A child that is forked while a session is being opened opens its own."""
    from kinesis_credentials import sessions

    parent = cached_session(KEYS)
    context = multiprocessing.get_context("fork")
    responses = context.SimpleQueue()
    with sessions._lock:
        child = context.Process(target=lambda: responses.put(cached_session(KEYS) is parent))
        child.start()
    child.join(PATIENCE_S)
    assert child.exitcode == 0
    assert responses.get() is False


def test_services_are_listed_by_their_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A session knows all services of botocore, and those in the folder of AWS_DATA_PATH. It looks into no folder for that."""
    (tmp_path / "inhouse").mkdir()
    monkeypatch.setenv("AWS_DATA_PATH", str(tmp_path))
    ours, plain = (session.get_component("data_loader") for session in (open_session(KEYS), Session()))
    assert ours.search_paths == plain.search_paths
    services = set(ours.list_available_services("service-2"))
    assert {"inhouse", *plain.list_available_services("service-2")} <= services
    with pytest.raises(UnknownServiceError):
        open_session(KEYS, "eu-west-1").create_client("kinesys")


@pytest.mark.parametrize(
    "name", ["endpoints", "partitions", "kinesis/2013-12-02/service-2", "sts/no-such-file"]
)
def test_data_is_read_as_botocore_reads_it(name: str) -> None:
    """A session reads the same data, also where it is compressed or missing."""
    ours, plain = (session.get_component("data_loader") for session in (open_session(KEYS), Session()))
    path = Path(botocore.__path__[0], "data", name)
    assert ours.file_loader.load_file(str(path)) == plain.file_loader.load_file(str(path))
