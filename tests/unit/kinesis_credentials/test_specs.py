"""Specs pickle, compare, and never show their secrets."""

from __future__ import annotations

import pickle

import pytest

from kinesis_credentials import DefaultChain, IncompleteKeysError, Profile, StaticKeys

KEYS = StaticKeys("AKIDEXAMPLE123456789", "s3cr3t/invented", "t0ken-invented")


@pytest.mark.parametrize("spec", [KEYS, Profile("team"), DefaultChain()])
def test_pickles(spec: object) -> None:
    """A spec is the same on an executor as on the driver."""
    assert pickle.loads(pickle.dumps(spec)) == spec  # noqa: S301 - our own bytes


def test_repr_hides() -> None:
    """The repr has no secret or token, and only the end of the key id."""
    assert repr(KEYS) == "StaticKeys(access_key_id='****6789')"
    assert repr(pickle.loads(pickle.dumps(KEYS))) == repr(KEYS)  # noqa: S301 - our own bytes


def test_repr_of_short_key_id() -> None:
    """A key id that is too short to show its end is masked completely."""
    assert repr(StaticKeys("short", "secret")) == "StaticKeys(access_key_id='****')"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("AKIDEXAMPLE", ""), "The access key id needs the secret key beside it."),
        (("", "s3cr3t"), "The secret key needs the access key id beside it."),
        (("", "", "t0ken"), "The session token needs the access key id and secret key beside it."),
        (("AKIDEXAMPLE", "", "t0ken"), "The access key id needs the secret key beside it."),
    ],
)
def test_incomplete_keys(arguments: tuple[str, ...], message: str) -> None:
    """The error names the missing part and shows no part."""
    with pytest.raises(IncompleteKeysError) as caught:
        StaticKeys(*arguments)
    assert str(caught.value) == message


@pytest.mark.parametrize("damage", ["\n", " ", "\t", "\x00", "\x7f", "\u00a0", "\u20ac"])
@pytest.mark.parametrize(("part", "name"), [(0, "access key id"), (1, "secret key"), (2, "session token")])
def test_keys_that_cannot_be_sent(part: int, name: str, damage: str) -> None:
    """The error names the part that cannot be sent, and shows no part."""
    parts = ["AKIDEXAMPLE", "s3cr3t", "t0ken"]
    parts[part] += damage
    with pytest.raises(IncompleteKeysError) as caught:
        StaticKeys(*parts)
    assert str(caught.value) == (
        f"The {name} has white space, a control character or a letter outside ASCII in it; copy it again without it."
    )
