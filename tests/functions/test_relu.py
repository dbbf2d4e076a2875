"""relu at its limits, where it must do what torch does, and what it refuses."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.nn import functional as F
from torch.testing import assert_close

from backpass.functions import relu
from helpers import exactly

INFINITY = math.inf

numbers = st.lists(st.floats(width=32, allow_nan=True, allow_infinity=True), max_size=6)


def gradient(function, x, cotangent):
    x = x.clone().requires_grad_()
    (grad,) = torch.autograd.grad(function(x), x, cotangent)
    return grad


def test_the_gradient_is_zero_at_the_kink():
    x = torch.tensor([-1.0, 0.0, -0.0, 2.0], dtype=torch.float64)
    assert_close(gradient(relu, x, torch.ones_like(x)), x.new_tensor([0, 0, 0, 1]))


@pytest.mark.parametrize("cotangent", [1.0, 0.0, INFINITY, -INFINITY, math.nan])
@pytest.mark.parametrize("value", [math.nan, INFINITY, -INFINITY, 0.0, -0.0, 1e-45, -1e-45, 3.0])
def test_limits_are_those_of_torch(value, cotangent):
    x, g = torch.tensor([value]), torch.tensor([cotangent])
    assert_close(relu(x), F.relu(x), equal_nan=True, rtol=0, atol=0)
    assert_close(gradient(relu, x, g), gradient(F.relu, x, g), equal_nan=True, rtol=0, atol=0)


def test_an_infinite_cotangent_is_blocked_without_nan():
    x, g = torch.tensor([-1.0, 0.0, 1.0]), torch.full((3,), INFINITY)
    assert_close(gradient(relu, x, g), torch.tensor([0.0, 0.0, INFINITY]))


@given(numbers)
def test_every_float_is_treated_as_torch_does(values):
    x = torch.tensor(values)
    assert torch.equal(relu(x).view(torch.int32), F.relu(x).view(torch.int32))


@given(numbers)
def test_the_positive_and_the_negative_part_add_up(values):
    x = torch.tensor(values).nan_to_num()
    assert_close(relu(x) - relu(-x), x, rtol=0, atol=0)


def test_the_second_derivative_is_zero_and_connected():
    x = torch.tensor([-1.0, 2.0], dtype=torch.float64, requires_grad=True)
    g = torch.ones_like(x, requires_grad=True)
    (first,) = torch.autograd.grad(relu(x), x, g, create_graph=True)
    second, through = torch.autograd.grad(first.sum(), (x, g))
    assert_close(second, torch.zeros_like(x))
    assert_close(through, torch.tensor([0.0, 1.0], dtype=torch.float64))


# 2026-12, torch 2.13: dynamo's warning, as in contract.check_compile.
@pytest.mark.filterwarnings("ignore:.*should not be instantiated:DeprecationWarning")
@pytest.mark.xfail(
    raises=AssertionError, reason="pytorch/pytorch#193279: a compiled func.grad drops the backward"
)
def test_a_compiled_func_grad_is_zero_at_the_kink():
    torch._dynamo.reset()
    slope = torch.compile(torch.func.grad(lambda x: relu(x).sum()), backend="eager", fullgraph=True)
    assert_close(slope(torch.zeros(1)), torch.zeros(1))


def test_what_is_not_a_tensor_is_refused():
    message = "relu: expected input to be a torch.Tensor, got list; wrap it in torch.as_tensor"
    with pytest.raises(TypeError, match=exactly(message)):
        relu([1.0])


@pytest.mark.parametrize("dtype", [torch.int64, torch.bool, torch.complex64])
def test_a_dtype_without_a_positive_part_is_refused(dtype):
    message = (
        f"relu: expected input of a real floating-point dtype, got {dtype}; "
        "convert it, for example with input.to(torch.float32)"
    )
    with pytest.raises(TypeError, match=exactly(message)):
        relu(torch.ones(2, dtype=dtype))
