"""An authority of one's own for a study, and the certificates that it signs.

Hospitals and companies have authorities; a study among friends, a test or a demonstration makes one
here. Each name gets ``NAME.pem`` and ``NAME.key``; ``authority.pem`` goes to everybody, and
``authority.key`` to nobody.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path
from typing import Any

from consilience import _check, _write
from consilience.sites.masks import write_private

__all__ = ["certify"]

PURPOSE = "making certificates"


def certify(
    folder: str | os.PathLike[str],
    names: Iterable[str],
    *,
    hosts: Sequence[str] = ("localhost", "127.0.0.1"),
    days: int = 365,
) -> None:
    """Make an authority and certificates for these names, which are valid for the hosts.

    Parameters
    ----------
    folder
        Where the files go; it is made if need be.
    names
        Of the sites and of ``coordinator``.
    hosts
        Where the sites are: host names and addresses.
    days
        How long the certificates are valid.
    """
    _check.names("certify", names=names, hosts=hosts)
    _check.whole("certify", at_least=1, days=days)
    path = Path(folder)
    path.mkdir(parents=True, exist_ok=True)
    x509 = _check.extra("cryptography.x509", "sites", PURPOSE)
    ec = _check.extra("cryptography.hazmat.primitives.asymmetric.ec", "sites", PURPOSE)
    authority = ec.generate_private_key(ec.SECP256R1())
    signed = _signed(x509, "consilience authority", authority, None, hosts=(), days=days)
    _save(path / "authority", signed, authority)
    for name in names:
        key = ec.generate_private_key(ec.SECP256R1())
        made = _signed(x509, name, key, (signed, authority), hosts=hosts, days=days)
        _save(path / name, made, key)


def _signed(x509: Any, name: str, key: Any, by: Any, *, hosts: Sequence[str], days: int) -> Any:
    hashes = _check.extra("cryptography.hazmat.primitives.hashes", "sites", PURPOSE)
    subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
    issuer, signer = (subject, key) if by is None else (by[0].subject, by[1])
    now = datetime.now(UTC)
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + timedelta(days=days))
        .add_extension(x509.BasicConstraints(ca=by is None, path_length=None), critical=True)
        .add_extension(_key_usage(x509, is_authority=by is None), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_public_key(signer.public_key()),
            critical=False,
        )
    )
    if hosts:
        others = x509.SubjectAlternativeName([_host(x509, host) for host in hosts])
        builder = builder.add_extension(others, critical=False)
    return builder.sign(signer, hashes.SHA256())


def _key_usage(x509: Any, *, is_authority: bool) -> Any:
    return x509.KeyUsage(
        digital_signature=True,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=is_authority,
        crl_sign=is_authority,
        encipher_only=False,
        decipher_only=False,
    )


def _host(x509: Any, host: str) -> Any:
    try:
        return x509.IPAddress(ip_address(host))
    except ValueError:
        return x509.DNSName(host)


def _save(stem: Path, certificate: Any, key: Any) -> None:
    serialization = _check.extra("cryptography.hazmat.primitives.serialization", "sites", PURPOSE)
    pem = serialization.Encoding.PEM
    private = key.private_bytes(
        pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    with _write.written(stem.with_name(f"{stem.name}.pem")) as stream:
        stream.write(certificate.public_bytes(pem))
    write_private(stem.with_name(f"{stem.name}.key"), private)
