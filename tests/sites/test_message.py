from __future__ import annotations

import random
import tracemalloc

import numpy as np
import pytest

from consilience.errors import ConsilienceError, FormatError
from consilience.sites.message import Reply, Request

REQUEST = Request(
    "counts", "heart-1", 3, "ab", "cd", (("x", "y"), ("z",)), "a search", {"k": [1, 2]}
)
REPLY = Reply(
    "counts",
    "heart-1",
    3,
    "ef",
    "policy",
    100,
    {1: "hidden"},
    content={"last": 3},
    arrays={"counts": np.arange(12, dtype="<i8"), "low": np.zeros((2, 3), "<f8")},
)


def test_a_request_comes_back_as_it_was():
    assert Request.from_bytes(REQUEST.to_bytes()) == REQUEST


def test_a_reply_comes_back_as_it_was():
    back = Reply.from_bytes(REPLY.to_bytes())
    assert (back.kind, back.rows, dict(back.withheld)) == ("counts", 100, {1: "hidden"})
    assert back.arrays["counts"].tolist() == list(range(12))
    assert back.arrays["low"].shape == (2, 3)


def test_the_same_request_gives_the_same_bytes():
    again = Request.from_bytes(REQUEST.to_bytes())
    assert again.to_bytes() == REQUEST.to_bytes()


def test_the_first_line_can_be_read_by_a_person():
    line, _, rest = REPLY.to_bytes().partition(b"\n")
    assert b'"kind":"counts"' in line
    assert len(rest) == 8 * 12 + 8 * 6


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b'"version":1', b'"version":2'),
        (b'"kind":"counts"', b'"kind":"pickle"'),
        (b'"round":3', b'"round":-3'),
        (b'"round":3', b'"round":true'),
        (b'["x","y"]', b'["x","x"]'),
        (b'"message":"request"', b'"message":"reply"'),
        (b'"families":', b'"Families":'),
    ],
)
def test_a_request_that_is_none_is_a_format_error(old, new):
    with pytest.raises(FormatError):
        Request.from_bytes(REQUEST.to_bytes().replace(old, new))


@pytest.mark.parametrize("shape", [b"[1000000000000]", b"[-1]", b"[13]", b'["a"]', b"[2,6.0]"])
def test_a_reply_that_announces_another_size_is_refused(shape):
    with pytest.raises(FormatError):
        Reply.from_bytes(REPLY.to_bytes().replace(b"[12]", shape))


@pytest.mark.parametrize("cut", [1, 8, 200])
def test_a_reply_that_is_cut_or_longer_is_refused(cut):
    with pytest.raises(FormatError):
        Reply.from_bytes(REPLY.to_bytes()[:-cut])
    with pytest.raises(FormatError):
        Reply.from_bytes(REPLY.to_bytes() + b"x" * cut)


def mutated(data: bytes, rng: random.Random) -> bytes:
    """A message with bytes changed, cut, doubled, moved, or numbers blown up."""
    changed = bytearray(data)
    for _ in range(rng.randint(1, 4)):
        place = rng.randrange(len(changed) + 1)
        way = rng.randrange(5)
        if way == 0 and place < len(changed):
            changed[place] = rng.randrange(256)
        elif way == 1:
            del changed[place : place + rng.randint(1, 30)]
        elif way == 2:
            changed[place:place] = changed[place : place + rng.randint(1, 30)]
        elif way == 3:
            changed[place:place] = rng.choice(
                [b"9" * 20, b"[" * 3000, b"null", b"1e999", b"-1", b'"', b"\n", b"{}", b"NaN"]
            )
        else:
            other = rng.randrange(len(changed) + 1)
            changed[min(place, other) : max(place, other)] = b""
    return bytes(changed)


@pytest.mark.parametrize(
    ("kind", "data"), [(Request, REQUEST.to_bytes()), (Reply, REPLY.to_bytes())]
)
def test_mutated_messages_raise_our_errors_only_and_allocate_little(kind, data):
    rng = random.Random(7)
    for i in range(5000):
        changed = mutated(data, rng)
        if i == 4500:
            tracemalloc.start()
        try:
            kind.from_bytes(changed)
        except ConsilienceError:
            continue
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 4 << 20
