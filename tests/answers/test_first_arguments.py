"""Verbs that ask a network refuse what is none, and say how to get one."""

from __future__ import annotations

import pytest

import consilience as cs
from consilience.errors import InputError

VERBS = {
    "intervals": lambda net: cs.intervals(net, "a"),
    "sensitivity": lambda net: cs.sensitivity(net, "a"),
    "information_value": lambda net: cs.information_value(net, "a"),
    "conflict": lambda net: cs.conflict(net, {"a": "1"}),
    "explain": lambda net: cs.explain(net, "a", {"b": "1"}),
    "differences": cs.differences,
    "entropy": cs.entropy,
    "expected_counts": lambda net: cs.expected_counts(net, {"a": ["1", "2"]}),
    "draws": lambda net: next(iter(cs.draws(net, 1))),
    "log_probability": lambda net: cs.log_probability(net, {"a": "1"}),
    "kl_divergence": lambda net: cs.kl_divergence(net, net),
}


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("wrong", ["model.json", None, cs.DAG([("a", "b")])])
def test_what_is_no_network_is_refused_with_how_to_get_one(verb, wrong):
    with pytest.raises(InputError, match=rf"{verb}: (net|p) must be a Network.*cs\.load\(path\)"):
        VERBS[verb](wrong)
