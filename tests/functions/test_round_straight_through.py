"""round_straight_through: ties, limits, the surrogate at every cotangent, and what it refuses."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.testing import assert_close

from backpass.functions import round_straight_through
from helpers import exactly

floats = st.floats(width=64, allow_nan=True, allow_infinity=True)
pairs = st.lists(st.tuples(floats, floats), max_size=6)


def test_halves_go_to_the_even_neighbour():
    x = torch.tensor([-1.5, -0.5, 0.5, 1.5, 2.5], dtype=torch.float64)
    assert_close(round_straight_through(x), x.new_tensor([-2, 0, 0, 2, 2]))


@given(pairs)
def test_the_gradient_is_the_cotangent_bit_for_bit(values):
    x = torch.tensor([v for v, _ in values], dtype=torch.float64, requires_grad=True)
    g = torch.tensor([c for _, c in values], dtype=torch.float64)
    y = round_straight_through(x)
    assert_close(y, x.round(), rtol=0, atol=0, equal_nan=True)
    (grad,) = torch.autograd.grad(y, x, g)
    assert torch.equal(grad.view(torch.int64), g.view(torch.int64))


@given(pairs)
def test_rounding_twice_is_rounding_once(values):
    x = torch.tensor([v for v, _ in values], dtype=torch.float64)
    once = round_straight_through(x)
    assert_close(round_straight_through(once), once, rtol=0, atol=0, equal_nan=True)


def test_a_parameter_before_the_rounding_learns_where_torch_round_teaches_nothing():
    learned = {}
    for function in (torch.round, round_straight_through):
        p = torch.tensor(0.0, dtype=torch.float64, requires_grad=True)
        for _ in range(20):
            (slope,) = torch.autograd.grad((function(p) - 3) ** 2, p)
            p = (p - 0.1 * slope).detach().requires_grad_()
        learned[function] = function(p).item()
    assert learned == {torch.round: 0.0, round_straight_through: 3.0}


# 2026-12, torch 2.13: dynamo's warning, as in contract.check_compile.
@pytest.mark.filterwarnings("ignore:.*should not be instantiated:DeprecationWarning")
@pytest.mark.xfail(
    raises=AssertionError, reason="pytorch/pytorch#193279: a compiled func.grad drops the backward"
)
def test_a_compiled_func_grad_passes_the_gradient():
    torch._dynamo.reset()
    gradient = torch.func.grad(lambda x: round_straight_through(x).sum())
    compiled = torch.compile(gradient, backend="eager", fullgraph=True)
    assert_close(compiled(torch.zeros(1)), torch.ones(1))


def test_what_is_not_a_tensor_is_refused():
    message = (
        "round_straight_through: expected input to be a torch.Tensor, got float; "
        "wrap it in torch.as_tensor"
    )
    with pytest.raises(TypeError, match=exactly(message)):
        round_straight_through(math.pi)


@pytest.mark.parametrize("dtype", [torch.int32, torch.bool, torch.complex128])
def test_a_dtype_that_has_nothing_to_round_is_refused(dtype):
    message = (
        f"round_straight_through: expected input of a real floating-point dtype, got {dtype}; "
        "convert it, for example with input.to(torch.float32)"
    )
    with pytest.raises(TypeError, match=exactly(message)):
        round_straight_through(torch.ones(2, dtype=dtype))
