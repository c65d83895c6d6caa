"""numba is loaded when a kernel is first called, and small work is done without it."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from consilience.kernels.compile import IS_COMPILED, at_hand, inner, instruction, kernel

pytestmark = pytest.mark.skipif(not IS_COMPILED, reason="nothing is compiled")


@kernel
def total(values):
    """The sum of squares."""
    found = 0.0
    for value in values:
        found += _squared(value)
    return found


@inner
def _squared(value):
    return value * value


def test_what_a_kernel_of_another_module_calls_is_made_with_it():
    below, above = {"kernel": kernel}, {}
    exec("@kernel\ndef tail(): ...\n@kernel\ndef rise(): tail()", below)
    above = {"kernel": kernel, "rise": below["rise"]}
    exec("@kernel\ndef top(): rise()", above)
    above["top"].signatures  # noqa: B018 - nothing is compiled, but all is handed to numba
    assert {type(one[name]) for one, name in ((below, "tail"), (above, "rise"))} == {
        type(above["top"])
    }


def _twice():
    from numba.core import types
    from numba.extending import intrinsic

    def doubled(_, value):
        return types.float64(types.float64), lambda _c, b, _s, args: b.fadd(args[0], args[0])

    return intrinsic(doubled)


@instruction(_twice)
def doubled(value):
    return value + value


@kernel
def doubled_all(values):
    for i in range(len(values)):
        values[i] = doubled(values[i])


def test_a_kernel_and_the_loops_it_calls_are_the_same_in_python_and_compiled():
    plain, kept = at_hand(total, is_small=True), total
    assert plain(np.array([1.0, 2.0])) == 5.0
    assert kept(np.array([1.0, 2.0])) == 5.0
    assert plain(np.array([3.0])) == 9.0  # what it calls is now compiled elsewhere, not here
    assert at_hand(kept, is_small=True)(np.array([3.0])) == 9.0
    assert (kept.__name__, kept.__doc__) == ("total", "The sum of squares.")


def test_a_small_loop_that_is_asked_for_again_and_again_is_left_to_numba(monkeypatch):
    monkeypatch.setattr("consilience.kernels.compile.PATIENCE", 2)
    minus_one = _module("alone", "@kernel\ndef minus_one(x):\n    return x - 1")["minus_one"]
    found = [at_hand(minus_one, is_small=True) for _ in range(3)]
    assert [one is minus_one for one in found] == [False, False, True]
    assert [one(3) for one in found] == [2, 2, 2]


def test_an_instruction_is_made_with_its_module():
    values = np.array([1.5, -2.0])
    at_hand(doubled_all, is_small=True)(values)
    doubled_all(values)
    np.testing.assert_array_equal(values, [6.0, -8.0])


def test_threads_may_be_the_first_to_call():
    @kernel
    def plus_one(x):
        return x + 1

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(plus_one, range(32))) == list(range(1, 33))


def test_a_question_about_a_small_network_loads_neither_numba_nor_scipy_nor_pyarrow(tmp_path):
    code = (
        "import sys, consilience as cs;"
        "a, b = cs.Variable('a', ('n', 'y')), cs.Variable('b', ('n', 'y'));"
        "net = cs.Network.of([cs.Categorical(a, (), [0.5, 0.5]),"
        " cs.Categorical(b, (a,), [[0.9, 0.1], [0.2, 0.8]])]);"
        f"path = {str(tmp_path / 'net.json')!r}; cs.save(net, path); net = cs.load(path);"
        "net.query('a', given={'b': 'y'});"
        "print({'numba', 'scipy', 'pyarrow', 'pandas'} & set(sys.modules))"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout == "set()\n"


def _module(name, text, **taken):
    held = {"__name__": name, "kernel": kernel, "inner": inner, **taken}
    exec(text, held)
    return held


@pytest.mark.parametrize("is_small", [True, False])
def test_a_kernel_may_call_one_of_another_module_that_calls_its_own(is_small):
    hidden = "@inner\ndef _hidden(x):\n    return {} * x\n\n"
    there = hidden.format(2.0) + "@kernel\ndef shown(x):\n    return _hidden(x) + 1.0"
    here = hidden.format(-1.0) + "@kernel\ndef called(x):\n    return shown(_hidden(x))"
    shown = _module("there", there)["shown"]
    called = _module("here", here, shown=shown)["called"]
    assert at_hand(called, is_small=is_small)(3.0) == -5.0
    assert shown(3.0) == 7.0
