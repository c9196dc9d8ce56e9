"""Nothing that a query leaves behind contains a secret."""

from __future__ import annotations

import base64
import os
import subprocess
import sys
from pathlib import Path

from kinesis_emulator import Emulator
from spark_kinesis_sink.options import SINK_OPTIONS
from spark_kinesis_source.options import SOURCE_OPTIONS
from support import key_services, python_starts
from support.callers import Callers
from support.key_services import KeyServices
from support.paths import python_path
from support.recording_proxy import RecordingProxy
from support.streams import StreamUnderTest

JOB = Path(__file__).parent / "jobs" / "talkative_job.py"
LOG4J = """\
rootLogger.level = debug
rootLogger.appenderRef.file.ref = file
appender.file.type = File
appender.file.name = file
appender.file.fileName = {file}
appender.file.layout.type = PatternLayout
appender.file.layout.pattern = %d %p %c: %m%n%ex
"""
DEFAULTS = """\
spark.driver.bindAddress 127.0.0.1
spark.driver.host 127.0.0.1
spark.driver.extraJavaOptions -Dlog4j2.configurationFile=file:{log4j}
spark.eventLog.dir file:{events}
spark.eventLog.enabled true
spark.sql.maxMetadataStringLength 100000
spark.sql.redaction.options.regex {hidden}
spark.sql.shuffle.partitions 2
spark.ui.enabled false
"""
HIDDEN = "(?i)url|stsExternalId|proxyUsername"
"""The setting of Spark that docs/howto/credentials.md gives. Spark shows these two otherwise."""
SECRET_OPTIONS = {
    option.name for table in (SOURCE_OPTIONS, SINK_OPTIONS) for option in table.options if option.is_secret
}
VAULT_KEY, VAULT_WORD, URL_WORD = "AKIAOFTHEVAULTXXXXXX", "OpenSesameNobodyMaySee", "UrlWordNobodyMaySee"
KEYS_AND_LOGIN = {
    "awsAccessKeyId": "AKIAKEYIDTHATISSECRET",
    "awsSecretKey": "SecretKeyNobodyMaySee",
    "sessionToken": "SessionTokenNobodyMaySee",
    "proxyAddress": "127.0.0.1",
    "proxyUsername": "ClerkNobodyMaySee",
    "proxyPassword": "ProxyWordNobodyMaySee",
}
CLASS_AND_ROLE = {
    "credentialProviderClass": "support.vault.Vault",
    "credentialProviderParam": f"{VAULT_KEY}:{VAULT_WORD}",
    "stsRoleArn": "arn:aws:iam::210987654321:role/reader",
    "stsSessionName": "tests",
    "stsExternalId": "ExternalIdNobodyMaySee",
    "proxyUrl": f"http://porter:{URL_WORD}@127.0.0.1",
}
IN_ENVIRONMENT = {
    "AWS_ACCESS_KEY_ID": "AKIAOFTHEENVIRONMENT",
    "AWS_SECRET_ACCESS_KEY": "SecretOfTheEnvironment",
}
"""Keys that must not be used, because the options give others."""


def _run_job(emulator: Emulator, options: dict[str, str], left: Path) -> subprocess.CompletedProcess[str]:
    """Run the job, which leaves all its files in the folder *left*."""
    (left / "events").mkdir(parents=True)
    conf = left.with_name("conf")
    conf.mkdir()
    (conf / "log4j2.properties").write_text(LOG4J.format(file=left / "spark.log"))
    (conf / "spark-defaults.conf").write_text(
        DEFAULTS.format(log4j=conf / "log4j2.properties", events=left / "events", hidden=HIDDEN)
    )
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith("AWS_")},
        **IN_ENVIRONMENT,
        "AWS_CONFIG_FILE": os.devnull,
        "ENDPOINT_URL": emulator.endpoint_url,
        "PYSPARK_PYTHON": sys.executable,
        "PYTHONPATH": python_path(),
        "SECRET_OPTIONS": "\n".join(f"{name}={value}" for name, value in options.items()),
        "SPARK_CONF_DIR": str(conf),
        "SPARK_LOCAL_IP": "127.0.0.1",
    }
    return python_starts.run(
        [sys.executable, JOB, left],
        env=environment,
        stderr=subprocess.STDOUT,
    )


def _check(emulator: Emulator, options: dict[str, str], secrets: dict[str, str], folder: Path) -> str:
    """
    Run the job with *options*, and return its output.

    Check that nothing it leaves contains a secret option, one of *secrets*, or the keys of the environment.
    """
    orders = StreamUnderTest(emulator.endpoint_url, "orders", 2)
    StreamUnderTest(emulator.endpoint_url, "copies", 2)
    orders.put_numbers(50)
    emulator.settings.fault = callers = Callers()
    left = folder / "left"
    ran = _run_job(emulator, options, left)
    assert ran.returncode == 0, ran.stdout
    assert IN_ENVIRONMENT["AWS_ACCESS_KEY_ID"] not in callers.keys()  # noqa: SIM118 # not a mapping
    files = {str(file.relative_to(left)): file.read_bytes() for file in left.rglob("*") if file.is_file()}
    assert {name.split("/")[0] for name in files} == {"spark.log", "events", "looked", "copied"}
    everything = {"what the job printed": ran.stdout.encode(), **files}
    searched = {name: value for name, value in options.items() if name in SECRET_OPTIONS}
    searched |= {**secrets, **IN_ENVIRONMENT}
    found = {
        (source, name)
        for source, content in everything.items()
        for name, secret in searched.items()
        if secret.encode() in content
    }
    assert not found
    return ran.stdout


def _authorization(login: str) -> str:
    return base64.b64encode(login.encode()).decode()


def test_every_secret_option_is_set() -> None:
    """The two jobs together set every option that is declared as a secret."""
    assert {*KEYS_AND_LOGIN, *CLASS_AND_ROLE} >= SECRET_OPTIONS


def test_keys(emulator: Emulator, tmp_path: Path) -> None:
    """Logs of driver and workers, event log, plans, progress, checkpoints, errors and reprs show no key and no proxy's login."""
    user, password = KEYS_AND_LOGIN["proxyUsername"], KEYS_AND_LOGIN["proxyPassword"]
    secrets = {"proxy's authorization": _authorization(f"{user}:{password}")}
    with RecordingProxy() as proxy:
        options = {**KEYS_AND_LOGIN, "proxyPort": str(proxy.port)}
        assert "****CRET" in _check(emulator, options, secrets, tmp_path)  # options were shown
        sent = {(asked.target, asked.authorization) for asked in proxy.asked}
    assert sent == {(f"{emulator.endpoint_url}/", f"Basic {_authorization(f'{user}:{password}')}")}


def test_everything_else(emulator: Emulator, tmp_path: Path) -> None:
    """The same show no class's parameter, no role's external id or session, and no password in a proxy's URL."""
    secrets = {
        "key id": VAULT_KEY,
        "parameter": VAULT_WORD,
        "secret of the class": "SecretOfTheVault",
        "proxy's password": URL_WORD,
        "proxy's authorization": _authorization(f"porter:{URL_WORD}"),
        "session's key id": "ASIAKEYIDOFASESSIONX",
        "session's secret": key_services.SECRET,
        "session's token": key_services.TOKEN,
    }
    external_id = CLASS_AND_ROLE["stsExternalId"]
    with (
        KeyServices(name_key=lambda _: secrets["session's key id"], external_id=external_id) as sts,
        RecordingProxy() as proxy,
    ):
        url = f"{CLASS_AND_ROLE['proxyUrl']}:{proxy.port}"
        options = {**CLASS_AND_ROLE, "stsEndpointUrl": sts.url, "proxyUrl": url}
        assert "support.vault.Vault" in _check(emulator, options, secrets, tmp_path)  # options were shown
        passed = {asked.target for asked in proxy.asked}
    assert passed == {f"{sts.url}/", f"{emulator.endpoint_url}/"}
