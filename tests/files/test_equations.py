"""Continuous nodes as equations in XDSL."""

import numpy as np
import pytest
from hypothesis import given, strategies as st

from consilience.data.variable import Variable
from consilience.distributions import Categorical, LinearGaussian, Logistic
from consilience.errors import FormatError, ModelError
from consilience.files.equations import equation_of, read_equation
from consilience.files.xdsl import parse, write
from consilience.network.network import Network

DRUG, SEX = Variable("drug", ("a", "b b", "c")), Variable("sex", ("F", "M"))
AGE, DOSE, EFFECT = Variable("age"), Variable("the dose"), Variable("effect")
NUMBERS = st.floats(-1e6, 1e6, allow_nan=False)


def test_a_regression_is_a_sum_inside_normal() -> None:
    local = LinearGaussian(EFFECT, (AGE, DOSE), 1.5, [0.25, -2.0], 3.0)
    assert equation_of(local) == "effect=Normal(1.5+0.25*age-2.0*cs__the_20_dose,3.0)"


def test_discrete_parents_choose_between_formulas() -> None:
    local = LinearGaussian(EFFECT, (DRUG,), [1.0, 2.0, 3.0], np.zeros((3, 0)), [1.0, 0.0, 2.0])
    text = 'effect=If(drug="a",Normal(1.0,1.0),If(drug="cs__b_20_b",2.0,Normal(3.0,2.0)))'
    assert equation_of(local) == text


@given(numbers=st.lists(NUMBERS, min_size=24, max_size=24))
def test_an_equation_comes_back_with_all_digits(numbers: list[float]) -> None:
    values = np.array(numbers).reshape(3, 2, 4)
    local = LinearGaussian(
        EFFECT, (AGE, DRUG, SEX, DOSE), values[..., 0], values[..., 1:3], np.abs(values[..., 3])
    )
    again = read_equation(equation_of(local), EFFECT, local.given, "net.xdsl", line=1)
    assert again.parameters.tolist() == local.parameters.tolist()
    assert again.parents == local.parents


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("effect = Normal( 2*age + 1 , .5 )", [1.0, 2.0, 0.5]),
        ("effect=age*2-1", [-1.0, 2.0, 0.0]),
        ("effect=-age+3-1e1+age*0.5", [-7.0, -0.5, 0.0]),
        ("effect=1-2*age", [1.0, -2.0, 0.0]),
    ],
)
def test_linear_formulas_are_read_however_they_are_written(text: str, wanted: list[float]) -> None:
    local = read_equation(text, EFFECT, (AGE,), "net.xdsl", line=1)
    assert local.parameters.tolist() == wanted


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("effect=age*age", "expected a number, found 'age'"),
        ("effect=Normal(age,age)", "the sd of Normal as a number, found 'age'"),
        ("effect=Uniform(0,1)", "a number or a continuous parent, found 'Uniform'"),
        ("effect=1+", "found the end"),
        ("effect=1)", "expected the end, found '\\)'"),
        ("other=1", "expected 'effect', found 'other'"),
        ('effect=If(drug="z",1,2)', "a state of 'drug' in quotation marks, found '\"z\"'"),
        ('effect=If(age="z",1,2)', "a discrete parent, found 'age'"),
        ("effect=" + 'If(drug="a",' * 300, "only 200 deep"),
    ],
)
def test_what_is_not_linear_is_named(text: str, message: str) -> None:
    with pytest.raises(FormatError, match=f"^net.xdsl, line 7: in an equation, .*{message}"):
        read_equation(text, EFFECT, (AGE, DRUG), "net.xdsl", line=7)


def mixed() -> Network:
    return Network.of(
        [
            Categorical(DRUG, (), [0.2, 0.3, 0.5]),
            LinearGaussian(DOSE, (DRUG,), [1.0, 2, 3], np.zeros((3, 0)), [1.0, 0.5, 2.0]),
            LinearGaussian(EFFECT, (DOSE, DRUG), [1.0, 2, 3], [[0.1], [0.2], [-0.3]], [1.0, 1, 2]),
        ]
    )


def test_a_mixed_network_goes_to_a_file_and_back() -> None:
    again = parse(write(mixed()), "net.xdsl")
    assert again.variables == mixed().variables
    for name, local in mixed().distributions.items():
        assert again[name].parents == local.parents
        assert again[name].parameters.tolist() == local.parameters.tolist()


def test_bounds_are_six_sd_around_the_mean() -> None:
    net = Network.of([LinearGaussian(AGE, (), 50.0, np.zeros(0), 10.0)])
    assert '<definition lower="-10.0" upper="110.0">age=Normal(50.0,10.0)<' in write(net)


def test_a_logistic_node_cannot_be_written() -> None:
    ill = Logistic(SEX, (AGE,), [0.0, 1.0], [[0.0], [1.0]])
    net = Network.of([LinearGaussian(AGE, (), 50.0, np.zeros(0), 10.0), ill])
    with pytest.raises(ModelError, match="XDSL: 'sex' is discrete and has a continuous parent"):
        write(net)


def test_a_table_below_an_equation_is_refused() -> None:
    text = write(mixed()).replace(
        "<cpt",
        '<cpt id="x"><state id="y" /><parents>effect</parents>'
        "<probabilities>1</probabilities></cpt><cpt",
        1,
    )
    with pytest.raises(FormatError, match="'x' is a table and has the continuous parent 'effect'"):
        parse(text, "net.xdsl")


def test_a_parent_may_have_many_states() -> None:
    site = Variable("site", tuple(f"s{k}" for k in range(500)))
    local = LinearGaussian(EFFECT, (site,), np.arange(500.0), np.zeros((500, 0)), np.ones(500))
    read = read_equation(equation_of(local), EFFECT, (site,), "model.xdsl", line=1)
    np.testing.assert_array_equal(read.intercept, local.intercept)
