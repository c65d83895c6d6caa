"""Numbers for the data sets of the R package bnlearn; NML with exact normalisers."""

from __future__ import annotations

import pytest

import consilience as cs

pytestmark = pytest.mark.data

LEARNING_TEST = "[A][C][F][B|A][D|A:C][E|B:F]"
ASIA = "[A][S][T|A][L|S][B|S][D|B:E][E|T:L][X|E]"
LIZARDS = "[Species][Diameter|Species][Height|Species]"


@pytest.mark.parametrize(
    ("score", "learning_test", "asia"),
    [
        (cs.BIC(), -24006.73423249815, -11109.741872493603),
        (cs.AIC(), -23873.131772074124, -11051.087133770858),
        (cs.scores.K2(), -23958.695337811474, -11110.151719274094),
        (cs.BDeu(ess=1), -24028.09477835351, -11095.824182995653),
        (cs.BDeu(ess=10), -23967.649625401093, -11142.014366338779),
        (cs.scores.BDJ(), -23967.52652537942, -11098.674392431443),
        (cs.scores.FNML(), -23968.61000500677, -11097.852967858682),
        (cs.scores.QNML(), -23964.143048683723, -11101.30224235255),
    ],
    ids=repr,
)
def test_scores_of_known_graphs(data_dir, score, learning_test, asia):
    known = {"learning.test": LEARNING_TEST, "asia": ASIA}
    found = [
        cs.score(cs.DAG.parse(graph), cs.read(data_dir / "bnlearn" / f"{name}.csv"), score)
        for name, graph in known.items()
    ]
    assert found == pytest.approx([learning_test, asia], rel=1e-9)


def test_the_lizards(data_dir):
    table = cs.read(data_dir / "bnlearn" / "lizards.csv")
    assert cs.score(cs.DAG.parse(LIZARDS), table, cs.BIC()) == pytest.approx(
        -817.2471969195103, rel=1e-9
    )
