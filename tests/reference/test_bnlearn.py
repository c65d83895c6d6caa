"""Numbers of the R package bnlearn for its own data sets."""

from __future__ import annotations

import numpy as np
import pytest

import consilience as cs

pytestmark = pytest.mark.data

LEARNING_TEST = "[A][C][F][B|A][D|A:C][E|B:F]"
ASIA = "[A][S][T|A][L|S][B|S][D|B:E][E|T:L][X|E]"


@pytest.mark.parametrize(
    ("file", "model", "log_likelihood", "n_parameters"),
    [
        ("learning.test.csv", LEARNING_TEST, -23832.131772074124, 41),
        ("asia.csv", ASIA, -11033.087133770858, 18),
    ],
)
def test_log_likelihood_and_parameters(data_dir, file, model, log_likelihood, n_parameters):
    table = cs.read(data_dir / "bnlearn" / file)
    net = cs.fit(cs.DAG.parse(model), table, cs.MLE())
    assert net.log_likelihood(table).sum() == pytest.approx(log_likelihood, rel=1e-9)
    assert net.n_parameters == n_parameters


def test_a_table_of_learning_test(data_dir):
    table = cs.read(
        data_dir / "bnlearn" / "learning.test.csv", states={"A": list("abc"), "B": list("abc")}
    )
    net = cs.fit(cs.DAG.parse(LEARNING_TEST), table, cs.MLE())
    np.testing.assert_allclose(net["B"].table[0], [0.85611511, 0.02517986, 0.11870504], atol=5e-9)


def test_entropy_of_the_fitted_network(data_dir):
    table = cs.read(data_dir / "bnlearn" / "learning.test.csv")
    net = cs.fit(cs.DAG.parse(LEARNING_TEST), table, cs.MLE())
    assert cs.entropy(net) == pytest.approx(4.766240230168938, rel=1e-9)
