r"""Secure sums: masks that two sites share and that cancel in the sum over all sites.

Sites :math:`i` and :math:`j` agree on a secret by X25519; HKDF makes of it a key that is bound to
the study, the set of sites, the round and the hash of the whole request; ChaCha20 with that key
gives one stream :math:`m_{ij}` of 64-bit words. What a site sends of its counts :math:`N_i` is

.. math:: N_i + \sum_{j : k_i < k_j} m_{ij} - \sum_{j : k_j < k_i} m_{ij} \pmod{2^{64}}

with :math:`k` the public keys. Each stream is added once and subtracted once, so the sum over all
sites is exact, and each reply alone is uniformly distributed. A key serves one request only: one
stream under two requests would give away their difference (Bonawitz et al. 2017).

References
----------
K. Bonawitz and others (2017). Practical secure aggregation for privacy-preserving machine learning.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from consilience import _check, _write
from consilience._typing import Integers, Words
from consilience.errors import FormatError

__all__ = ["SiteKey", "stream_key", "sum_of", "write_private"]

PURPOSE = "a secure sum"


@dataclass(frozen=True)
class SiteKey:
    """The private key of a site; the public one is what the others know it by.

    Parameters
    ----------
    secret
        32 bytes.
    """

    secret: bytes

    @classmethod
    def new(cls) -> SiteKey:
        """A key that nobody has."""
        return cls(os.urandom(32))

    @classmethod
    def at(cls, path: Path) -> SiteKey:
        """The key that a file holds; it is made if there is none, readable by its owner alone."""
        if not path.exists():
            write_private(path, cls.new().secret.hex().encode("ascii") + b"\n")
        try:
            secret = bytes.fromhex(path.read_text(encoding="ascii").strip())
        except ValueError as problem:
            raise FormatError(f"{path}: this is no key of a site.", file=str(path)) from problem
        if len(secret) != 32:
            raise FormatError(f"{path}: a key of a site has 32 bytes.", file=str(path))
        return cls(secret)

    @cached_property
    def public(self) -> str:
        """The public key, as text."""
        return bytes(self._private.public_key().public_bytes_raw()).hex()

    @cached_property
    def _private(self) -> Any:
        x25519 = _check.extra(f"{ASYMMETRIC}.x25519", "sites", PURPOSE)
        return x25519.X25519PrivateKey.from_private_bytes(self.secret)

    def shared(self, public: str) -> bytes:
        """The secret that this site shares with the one of that public key."""
        x25519 = _check.extra(f"{ASYMMETRIC}.x25519", "sites", PURPOSE)
        try:
            theirs = x25519.X25519PublicKey.from_public_bytes(bytes.fromhex(public))
            return bytes(self._private.exchange(theirs))
        except ValueError as problem:  # not hexadecimal, not 32 bytes, or a point of low order
            raise FormatError(f"{public!r:.80} is no public key of a site.") from problem

    def mask(
        self, n_cells: int, shared: Sequence[tuple[str, bytes]], salt: bytes, info: bytes
    ) -> Words:
        """The sum of the streams that this site shares with the others, each with its sign.

        Parameters
        ----------
        n_cells
            Length of the mask.
        shared
            For each other site its public key and the secret shared with it.
        salt, info
            What the streams are bound to: the study with its set of sites, and the request.
        """
        total = np.zeros(n_cells, "<u8")
        for public, secret in shared:
            stream = _stream(stream_key(secret, salt, info), n_cells)
            if self.public < public:
                total += stream
            else:
                total -= stream
        return total


ASYMMETRIC = "cryptography.hazmat.primitives.asymmetric"


def stream_key(secret: bytes, salt: bytes, info: bytes) -> bytes:
    """The key of one stream."""
    hashes = _check.extra("cryptography.hazmat.primitives.hashes", "sites", PURPOSE)
    hkdf = _check.extra("cryptography.hazmat.primitives.kdf.hkdf", "sites", PURPOSE)
    derived = hkdf.HKDF(hashes.SHA256(), 32, hashlib.sha256(salt).digest(), info).derive(secret)
    return bytes(derived)


def write_private(path: Path, data: bytes) -> None:
    """A new file that its owner alone can read."""
    with _write.told(path):
        how = os.O_CREAT | os.O_WRONLY | os.O_TRUNC
        with os.fdopen(os.open(path, how, 0o600), "wb") as stream:
            stream.write(data)


def sum_of(masked: Sequence[Words]) -> Integers:
    """The sum of the counts of all sites from what each of them sent."""
    total = np.zeros_like(masked[0])
    for one in masked:
        total = total + one
    return total.view(np.int64)


def _stream(key: bytes, n_cells: int) -> Words:
    ciphers = _check.extra("cryptography.hazmat.primitives.ciphers", "sites", PURPOSE)
    # A key is used for one stream, so the counter may begin at zero.
    cipher = ciphers.Cipher(ciphers.algorithms.ChaCha20(key, bytes(16)), mode=None)
    return np.frombuffer(cipher.encryptor().update(bytes(8 * n_cells)), "<u8")
