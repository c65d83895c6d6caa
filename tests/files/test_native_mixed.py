"""Continuous and logistic nodes in the library's own format, and what other formats say of them."""

import json

import numpy as np
import pytest

from consilience.data.variable import Variable
from consilience.distributions import Categorical, LinearGaussian, Logistic
from consilience.errors import FormatError, ModelError
from consilience.files.native import parse, write
from consilience.files.registry import FORMATS
from consilience.network.network import Network

DRUG = Variable("drug", ("a", "b", "c"))
ILL = Variable("ill", ("no", "yes"))
AGE, DOSE = Variable("age"), Variable("dose")


def mixed() -> Network:
    return Network.of(
        [
            Categorical(DRUG, (), [0.2, 0.3, 0.5]),
            LinearGaussian(AGE, (), 50.0, np.zeros(0), 1 / 3),
            LinearGaussian(DOSE, (AGE, DRUG), [1.0, 2, 3], [[0.1], [0.2], [0.3]], [1.0, 0.0, 2.0]),
            Logistic(ILL, (DRUG, DOSE), np.zeros((3, 2)), np.arange(6.0).reshape(3, 2, 1) / 7),
        ]
    )


def test_everything_comes_back_with_all_digits() -> None:
    net, again = mixed(), parse(write(mixed()), "net.json")
    assert again.variables == net.variables
    for name, local in net.distributions.items():
        assert type(again[name]) is type(local)
        assert again[name].parents == local.parents
        assert again[name].parameters.tolist() == local.parameters.tolist()
    assert write(again) == write(net)


@pytest.mark.parametrize(
    ("node", "field", "value", "message"),
    [
        (2, "sd", [1.0], "node 3: 'sd' needs 3 numbers, found 1"),
        (2, "sd", [1.0, -1.0, 1.0], "node 3: the sd of 'dose' must be zero or more"),
        (2, "coefficients", None, "node 3: 'coefficients' must be of type list"),
        (2, "parents", ["age", "drag"], "node 3: unknown parent 'drag'; known: 'drug'"),
        (3, "intercept", [0.0], "node 4: 'intercept' needs 6 numbers, found 1"),
        (1, "ordered", None, "node 2: 'ordered' must be of type bool"),
    ],
)
def test_a_mistake_in_a_continuous_node_is_named(
    node: int, field: str, value: object, message: str
) -> None:
    data = json.loads(write(mixed()))
    data["nodes"][node][field] = value
    with pytest.raises(FormatError, match=f"^net.json: {message}"):
        parse(json.dumps(data), "net.json")


@pytest.mark.parametrize("extension", [".bif", ".xmlbif", ".net"])
def test_formats_of_tables_refuse_continuous_nodes_by_name(extension: str) -> None:
    with pytest.raises(ModelError, match="node 'age' is continuous"):
        FORMATS[extension].write(mixed())
