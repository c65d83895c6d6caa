"""First-seen codes of texts, for columns with few different ones.

The texts of a column lie end to end in one array of bytes. The first eight bytes of a text and its
length are hashed as one word into a small table with linear probing; only longer texts are compared
byte by byte. One pass costs about 5 ns a text where a general hash of strings costs 25. A column
with more different texts than the limit is given up as soon as that is seen.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from consilience._typing import Codes, Integers, Words
from consilience.kernels.compile import kernel

__all__ = ["LIMIT", "encode_texts"]

VERSION = (
    "0.1.0"  # numba's cache does not see edits elsewhere; a release must not meet an old cache
)

LIMIT = 1024
"""Largest number of different texts that :func:`encode_texts` codes."""

_HASH_BITS = 12
_SPREAD = np.uint64(0x9E3779B97F4A7C15)  # 2^64 over the golden ratio: Fibonacci hashing


@kernel
def encode_texts(
    offsets: Integers,
    data: npt.NDArray[np.uint8],
    words: Words,
    valid: npt.NDArray[np.uint8],
    first_bit: int,
    codes: Codes,
    first_rows: Integers,
) -> int:
    """Fill codes and first rows; the number of different texts, or -1 beyond the limit.

    Text ``i`` is ``data[offsets[i]:offsets[i + 1]]``; ``words[a]`` are the eight bytes from
    ``data[a]`` on. Row ``i`` is missing (code -1) if ``valid`` is not empty and its bit ``first_bit
    + i`` is not set.
    """
    limit = len(first_rows)
    slots = np.full(1 << _HASH_BITS, -1, dtype=np.int32)
    keys = np.empty(limit, dtype=np.uint64)
    lengths = np.empty(limit, dtype=np.int64)
    last = len(words) - 1
    n_texts = 0
    for row in range(len(codes)):
        bit = first_bit + row
        if len(valid) > 0 and (valid[bit >> 3] >> (bit & 7)) & 1 == 0:
            codes[row] = -1
            continue
        start = offsets[row]
        length = offsets[row + 1] - start
        at = min(start, last)  # near the end, the last eight bytes shifted; no branch to mispredict
        key = words[at] >> np.uint64(8 * min(start - at, 7))
        if length < 8:
            key &= (np.uint64(1) << np.uint64(8 * length)) - np.uint64(1)
        slot = np.int64(((key ^ np.uint64(length)) * _SPREAD) >> np.uint64(64 - _HASH_BITS))
        while True:
            code = slots[slot]
            if code < 0:
                if n_texts == limit:
                    return -1
                slots[slot] = n_texts
                keys[n_texts] = key
                lengths[n_texts] = length
                first_rows[n_texts] = row
                codes[row] = n_texts
                n_texts += 1
                break
            if keys[code] == key and lengths[code] == length:
                other = offsets[first_rows[code]]
                k = 8
                while k < length and data[other + k] == data[start + k]:
                    k += 1
                if k >= length:
                    codes[row] = code
                    break
            slot = (slot + 1) & ((1 << _HASH_BITS) - 1)
    return n_texts
