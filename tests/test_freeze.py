from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from consilience import _freeze


@dataclass(frozen=True, slots=True, weakref_slot=True, eq=False)
class Noun:
    numbers: np.ndarray

    def __post_init__(self) -> None:
        _freeze.own(self)


class Other:
    pass


def test_the_slot_of_weak_references_is_left_alone(monkeypatch):
    # Python 3.11.0 to 3.11.2 give such a class the descriptor of another one, which cannot be read.
    monkeypatch.setattr(Noun, "__weakref__", Other.__dict__["__weakref__"])
    assert not Noun(np.zeros(2)).numbers.flags.writeable
