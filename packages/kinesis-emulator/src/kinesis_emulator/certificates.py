"""Certificates for one server: an authority, and what it signs. This module needs the package cryptography."""

from __future__ import annotations

import ipaddress
from datetime import datetime, timedelta, timezone
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

AUTHORITY, OWN, KEY = "ca.pem", "certificate.pem", "key.pem"
"""The files in a folder: what clients must trust, the server's certificate, and its key."""
_LIFE = timedelta(days=365)
_EARLIER = timedelta(days=1)
"""A certificate is also valid for a client whose clock is behind."""


def write_certificates(folder: Path, names: list[str]) -> None:
    """Write an authority's certificate, and a certificate for *names* with its key. The authority's key is forgotten."""

    def named(text: str) -> x509.Name:
        return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])

    authority_key, own_key = (ec.generate_private_key(ec.SECP256R1()) for _ in range(2))
    issuer = named("kinesis-emulator authority")
    authority = (
        _begin(issuer, issuer, authority_key, authority_key)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_usage(signs_certificates=True), critical=True)
    )
    own = (
        _begin(named("kinesis-emulator"), issuer, own_key, authority_key)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_usage(signs_certificates=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(x509.SubjectAlternativeName(_general_names(names)), critical=False)
    )
    for file, builder in ((AUTHORITY, authority), (OWN, own)):
        signed = builder.sign(authority_key, hashes.SHA256())
        Path(folder, file).write_bytes(signed.public_bytes(serialization.Encoding.PEM))
    key = own_key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    Path(folder, KEY).write_bytes(key)  # the folder is its owner's only


def _begin(
    subject: x509.Name, issuer: x509.Name, key: EllipticCurvePrivateKey, issuer_key: EllipticCurvePrivateKey
) -> x509.CertificateBuilder:
    now = datetime.now(timezone.utc)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _EARLIER)
        .not_valid_after(now + _LIFE)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_public_key(issuer_key.public_key()), critical=False
        )
    )


def _usage(*, signs_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not signs_certificates,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        encipher_only=False,
        decipher_only=False,
    )


def _general_names(names: list[str]) -> list[x509.GeneralName]:
    found: list[x509.GeneralName] = []
    for name in dict.fromkeys(filter(None, names)):
        try:
            found.append(x509.IPAddress(ipaddress.ip_address(name)))
        except ValueError:
            found.append(x509.DNSName(name))
    return found
