from __future__ import annotations

import time

import numpy as np
import pytest
from scipy.stats import chi2

pytest.importorskip("cryptography", reason="secure sums need the extra 'sites': cryptography")

from consilience.errors import FormatError
from consilience.sites.masks import SiteKey, stream_key, sum_of

KEYS = [SiteKey(bytes([i]) * 32) for i in range(1, 6)]


def masked(key: SiteKey, counts: np.ndarray, info: bytes = b"1") -> np.ndarray:
    shared = [(one.public, key.shared(one.public)) for one in KEYS if one is not key]
    return counts.view("<u8") + key.mask(counts.size, shared, b"study", info)


def tables(n_cells: int = 1000) -> list[np.ndarray]:
    rng = np.random.default_rng(1)
    return [rng.integers(0, 50, n_cells).astype("<i8") for _ in KEYS]


def test_the_sum_of_masked_counts_is_exact():
    counts = tables()
    sent = [masked(key, one) for key, one in zip(KEYS, counts, strict=True)]
    assert (sum_of(sent) == sum(counts)).all()


def test_the_sum_is_exact_for_counts_that_fill_the_range():
    counts = [np.full(3, 2**61, "<i8"), *[np.zeros(3, "<i8")] * 4]
    sent = [masked(key, one) for key, one in zip(KEYS, counts, strict=True)]
    assert (sum_of(sent) == 2**61).all()


def test_without_one_site_the_sum_is_noise():
    counts = tables()
    sent = [masked(key, one) for key, one in zip(KEYS, counts, strict=True)]
    assert (np.abs(sum_of(sent[:4])) > 2**40).mean() > 0.99


def test_the_bytes_of_a_reply_are_uniform_and_tell_nothing_of_the_counts():
    counts = tables(2000)[0]
    sent = np.stack([masked(KEYS[0], counts, b"round %d" % i) for i in range(100)])
    seen = np.bincount(sent.view(np.uint8).ravel(), minlength=256)
    expected = seen.sum() / 256
    assert chi2.sf(((seen - expected) ** 2 / expected).sum(), 255) > 0.001
    with_counts = np.corrcoef(np.tile(counts, 100), sent.ravel().astype(float))[0, 1]
    assert abs(with_counts) < 4 / np.sqrt(sent.size)


@pytest.mark.parametrize("other", [b"2", b"1 ", b""])
def test_another_request_has_another_stream(other):
    zeros = np.zeros(1000, "<i8")
    assert (masked(KEYS[0], zeros, b"1") != masked(KEYS[0], zeros, other)).all()


def test_no_two_requests_share_a_key():
    secret = KEYS[0].shared(KEYS[1].public)
    asked = [(salt, info) for salt in (b"a", b"b") for info in (b"1", b"2", b"12")]
    assert len({stream_key(secret, *one) for one in asked}) == len(asked)


def test_the_same_request_gives_the_same_bytes():
    counts = tables()[0]
    assert (masked(KEYS[0], counts) == masked(KEYS[0], counts)).all()


def test_both_sides_share_one_secret():
    assert KEYS[0].shared(KEYS[1].public) == KEYS[1].shared(KEYS[0].public)


@pytest.mark.parametrize("public", ["", "zz", "00" * 31, "00" * 32])
def test_what_is_no_public_key_is_refused(public):
    with pytest.raises(FormatError):
        KEYS[0].shared(public)


def test_masks_are_quick():
    shared = [(one.public, KEYS[0].shared(one.public)) for one in KEYS[1:]]
    took = []
    for i in range(20):
        begin = time.process_time()
        KEYS[0].mask(20_000, shared, b"study", b"%d" % i)
        took.append(time.process_time() - begin)
    assert np.median(took) < 0.02  # ten times what is promised: machines of tests are busy


def test_a_key_file_is_private_and_stays(tmp_path):
    path = tmp_path / "site.key"
    assert SiteKey.at(path) == SiteKey.at(path)
    assert path.stat().st_mode & 0o077 == 0
