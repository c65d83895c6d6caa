r"""The protocol between a coordinator and sites: :class:`Request` and :class:`Reply`, plain data.

A message is one line of JSON, which a person can read, and the raw little-endian arrays that this
header lists, one after the other::

    {"format": "consilience site", "message": "request", "version": 1, "kind": "counts", ...}
    <arrays>

No code travels: a site runs its own library and answers the kinds of :data:`KINDS` only. The header
says the size of every array, so the size of a message is checked before anything is made of it;
what is longer or shorter than announced is refused. A refusal is a reply of the kind ``refusal``
with a code and a reason.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from math import prod
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from consilience import _check, _freeze
from consilience.data.variable import Variable
from consilience.errors import FormatError, InputError
from consilience.files.native import loaded
from consilience.files.objects import Content

__all__ = [
    "KINDS",
    "MODES",
    "MOST_BYTES",
    "MOST_HEADER",
    "Reply",
    "Request",
    "canonical",
    "digest",
    "variables_from",
    "variables_to",
]

FORMAT = "consilience site"
VERSION = 1

KINDS = ("schema", "study", "counts", "moments", "expected counts", "confusion counts", "graph")
"""What a site can be asked for."""

MODES = ("secure", "intervals", "exact")
"""How a site gives counts: masked, small cells as ranges, or as they are."""

MOST_HEADER = 1 << 24
"""Bytes of the JSON of a message."""

MOST_BYTES = 1 << 30
"""Bytes of a whole message."""

DTYPES = ("<i8", "<u8", "<f8")
MOST_AXES = 8

Array: TypeAlias = npt.NDArray[Any]


@dataclass(frozen=True, slots=True)
class Request:
    """What a coordinator asks of a site.

    Parameters
    ----------
    kind
        One of :data:`KINDS`.
    study, round
        The study, and the number of the question in it. A number is used once: under an old one
        a site answers the old question again, and no other.
    site_set, schema
        Hashes of the sites and of the variables that the study was agreed on; empty before that.
    families
        Variables whose joint counts are asked for, set by set.
    purpose
        Why, in words, for the site's ledger.
    content
        What else the kind needs, as JSON: a network, names, a choice.
    """

    kind: str
    study: str
    round: int = 0
    site_set: str = ""
    schema: str = ""
    families: tuple[tuple[str, ...], ...] = ()
    purpose: str = ""
    content: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        _freeze.own(self)

    def to_bytes(self) -> bytes:
        """The message; the same request gives the same bytes."""
        header = {
            "message": "request",
            "kind": self.kind,
            "study": self.study,
            "round": self.round,
            "site_set": self.site_set,
            "schema": self.schema,
            "families": [list(one) for one in self.families],
            "purpose": self.purpose,
            "content": dict(self.content),
        }
        return _packed(header, {})

    @classmethod
    def from_bytes(cls, data: bytes) -> Request:
        """The request of a message, refused with a :class:`FormatError` if it is none."""
        header, _ = _unpacked(data, "request")
        kind = header.take("kind", str)
        if kind not in KINDS:
            raise header.fault(f"'kind' must be one of {_check.listed(KINDS)}, found {kind!r:.80}")
        number = header.take("round", int)
        if not 0 <= number < 2**63:
            raise header.fault("'round' must be a whole number of at least zero")
        return cls(
            kind,
            _name(header, "study"),
            number,
            header.take("site_set", str),
            header.take("schema", str),
            _families(header),
            header.take("purpose", str),
            header.take("content", dict),
        )


@dataclass(frozen=True, slots=True, eq=False)
class Reply:
    """What a site answers.

    Parameters
    ----------
    kind
        That of the request, or ``refusal``.
    study, round, request
        What is answered: study, round and hash of the request.
    policy
        Hash of the site's policy.
    rows
        Rows that the answer is about, in the units of the study.
    withheld
        For places in the request's families, why they are not answered.
    code, reason
        Of a refusal.
    content, arrays
        The answer.
    """

    kind: str
    study: str
    round: int
    request: str
    policy: str
    rows: int = 0
    withheld: Mapping[int, str] = field(default_factory=dict)
    code: str = ""
    reason: str = ""
    content: Mapping[str, Any] = field(default_factory=dict)
    arrays: Mapping[str, Array] = field(default_factory=dict)

    def __post_init__(self) -> None:
        _freeze.own(self)

    def to_bytes(self) -> bytes:
        """The message."""
        header = {
            "message": "reply",
            "kind": self.kind,
            "study": self.study,
            "round": self.round,
            "request": self.request,
            "policy": self.policy,
            "rows": self.rows,
            "withheld": [[place, why] for place, why in self.withheld.items()],
            "code": self.code,
            "reason": self.reason,
            "content": dict(self.content),
        }
        return _packed(header, self.arrays)

    @classmethod
    def from_bytes(cls, data: bytes) -> Reply:
        """The reply of a message, refused with a :class:`FormatError` if it is none."""
        header, arrays = _unpacked(data, "reply")
        kind = header.take("kind", str)
        if kind not in (*KINDS, "refusal"):
            raise header.fault(f"'kind' must be one of {_check.listed(KINDS)} or 'refusal'")
        return cls(
            kind,
            header.take("study", str),
            header.take("round", int),
            header.take("request", str),
            header.take("policy", str),
            header.take("rows", int),
            _withheld(header),
            header.take("code", str),
            header.take("reason", str),
            header.take("content", dict),
            arrays,
        )


def digest(data: bytes) -> str:
    """The hash of bytes, as text."""
    return hashlib.sha256(data).hexdigest()


def canonical(content: Any) -> bytes:
    """JSON as bytes that depend on what it says only."""
    return json.dumps(
        content, ensure_ascii=True, sort_keys=True, separators=(",", ":"), allow_nan=False
    ).encode("ascii")


def variables_to(variables: Mapping[str, Variable]) -> list[dict[str, Any]]:
    """Variables as JSON."""
    return [
        {
            "name": one.name,
            "states": None if one.states is None else list(one.states),
            "ordered": one.ordered,
            "cuts": None if one.cuts is None else list(one.cuts),
        }
        for one in variables.values()
    ]


def variables_from(content: Content, key: str) -> dict[str, Variable]:
    """Variables from JSON, refused if they are none."""
    found: dict[str, Variable] = {}
    for fields in content.take(key, list):
        one = Content.of(fields, content.file, key)
        name = one.take("name", str)
        states = None if one.fields.get("states") is None else tuple(one.texts("states"))
        cuts = None if one.fields.get("cuts") is None else tuple(one.floats("cuts").tolist())
        if name in found:
            raise one.fault(f"the variable {name!r} stands twice")
        try:
            found[name] = Variable(name, states, one.take("ordered", bool), cuts)
        except InputError as problem:
            raise one.fault(str(problem).rstrip(".")) from problem
    return found


def _packed(header: Mapping[str, Any], arrays: Mapping[str, Array]) -> bytes:
    listed = [[name, one.dtype.str, list(one.shape)] for name, one in arrays.items()]
    head = canonical({"format": FORMAT, "version": VERSION, **header, "arrays": listed})
    parts = (np.ascontiguousarray(one).tobytes() for one in arrays.values())
    return b"".join([head, b"\n", *parts])


def _unpacked(data: bytes, wanted: str) -> tuple[Content, dict[str, Array]]:
    """The header and the arrays of a message of one kind, its size checked first."""
    if len(data) > MOST_BYTES:
        raise FormatError(f"message: {_check.bytes_text(len(data))} are more than a message has.")
    end = data.find(b"\n", 0, MOST_HEADER)
    if end < 0:
        raise FormatError("message: the line of JSON that every message begins with has no end.")
    try:
        text = data[:end].decode("ascii")
    except UnicodeDecodeError as problem:
        raise FormatError("message: the first line is not plain JSON.") from problem
    header = Content.of(loaded(text, "message"), "message", wanted)
    if header.take("format", str) != FORMAT or header.take("message", str) != wanted:
        raise header.fault(f"this is no {wanted} of a {FORMAT}")
    if (version := header.take("version", int)) != VERSION:
        raise header.fault(f"version {version} is not spoken here; version {VERSION} is")
    return header, _arrays(header, data, end + 1)


def _arrays(header: Content, data: bytes, start: int) -> dict[str, Array]:
    """The arrays that the header lists; views of the message, nothing is copied."""
    listed: list[tuple[str, str, tuple[int, ...]]] = []
    for one in header.take("arrays", list):
        if not (isinstance(one, list) and len(one) == 3 and isinstance(one[0], str)):
            raise header.fault("'arrays' must list name, type and shape of each")
        name, dtype, shape = one
        if dtype not in DTYPES:
            raise header.fault(f"arrays must be of type {_check.listed(DTYPES)}")
        is_shape = isinstance(shape, list) and len(shape) <= MOST_AXES
        if not is_shape or not all(type(n) is int and 0 <= n <= MOST_BYTES for n in shape):
            raise header.fault(f"the array {name!r:.80} has no shape that can be read")
        listed.append((name, dtype, tuple(shape)))
    if len({name for name, _, _ in listed}) < len(listed):
        raise header.fault("an array stands twice")
    announced = sum(8 * prod(shape) for _, _, shape in listed)
    if announced != len(data) - start:
        raise header.fault(
            f"{announced} bytes of arrays were announced, and {len(data) - start} came"
        )
    found: dict[str, Array] = {}
    for name, dtype, shape in listed:
        found[name] = np.frombuffer(data, dtype, prod(shape), start).reshape(shape)
        start += 8 * prod(shape)
    return found


def _name(header: Content, key: str) -> str:
    name: str = header.take(key, str)
    if not 0 < len(name) <= 200 or not name.isprintable():
        raise header.fault(f"{key!r} must be a name of 1 to 200 letters")
    return name


def _families(header: Content) -> tuple[tuple[str, ...], ...]:
    families = header.take("families", list)
    for one in families:
        is_list = isinstance(one, list) and bool(one)
        if not is_list or not all(isinstance(name, str) for name in one):
            raise header.fault("'families' must be lists of names")
        if len(set(one)) < len(one):
            raise header.fault("a family names a variable twice")
    return tuple(map(tuple, families))


def _withheld(header: Content) -> dict[int, str]:
    found: dict[int, str] = {}
    for one in header.take("withheld", list):
        is_pair = isinstance(one, list) and len(one) == 2
        if not is_pair or type(one[0]) is not int or not isinstance(one[1], str):
            raise header.fault("'withheld' must list places and reasons")
        found[one[0]] = one[1]
    return found
