"""linear: closed forms, complex numbers, only the work that is needed, and what it refuses."""

import itertools

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.autograd.graph import saved_tensors_hooks
from torch.nn import functional as F
from torch.testing import assert_close

from backpass.functions import linear
from helpers import Operations, exactly

sizes = st.integers(0, 3)


def leaf(*shape, dtype=torch.float64):
    return torch.randn(shape, dtype=dtype).requires_grad_()


@pytest.fixture(autouse=True)
def _seed():
    torch.manual_seed(0)


def test_one_product_of_numbers_has_the_gradients_of_a_product():
    x, w, b = (torch.tensor(v, dtype=torch.float64) for v in ([2.0], [[3.0]], [5.0]))
    leaves = [t.requires_grad_() for t in (x, w, b)]
    y = linear(*leaves)
    assert y.item() == 11
    assert [g.item() for g in torch.autograd.grad(y, leaves)] == [3, 2, 1]


@given(st.lists(sizes, max_size=3), sizes, sizes, st.booleans())
def test_every_shape_is_treated_as_torch_does(leading, inputs, outputs, biased):
    leaves = [leaf(*leading, inputs), leaf(outputs, inputs)] + [leaf(outputs)] * biased
    y, expected = linear(*leaves), F.linear(*leaves)
    assert_close(y, expected)
    g = torch.randn_like(y)
    assert_close(torch.autograd.grad(y, leaves, g), torch.autograd.grad(expected, leaves, g))


def test_one_output_feature_has_a_bias_gradient_of_one_element():
    x, w, b = leaf(4, 3), leaf(1, 3), leaf(1)
    (grad,) = torch.autograd.grad(linear(x, w, b).sum(), b)
    assert_close(grad, torch.full((1,), 4.0, dtype=torch.float64))


def test_complex_gradients_are_those_of_torch():
    leaves = [leaf(4, 3, dtype=torch.complex128), leaf(2, 3, dtype=torch.complex128)]
    g = torch.randn(4, 2, dtype=torch.complex128)
    actual = torch.autograd.grad(linear(*leaves), leaves, g)
    assert_close(actual, torch.autograd.grad(F.linear(*leaves), leaves, g))


@given(st.integers(0, 2**16))
def test_the_gradient_is_the_adjoint_of_the_map(seed):
    """The inner product of (A x) with g equals that of x with (A* g)."""
    torch.manual_seed(seed)
    x, w = leaf(5, 3, dtype=torch.complex128), leaf(2, 3, dtype=torch.complex128)
    y = linear(x, w)
    g = torch.randn_like(y)
    (adjoint,) = torch.autograd.grad(y, x, g)
    assert_close(torch.vdot(g.flatten(), y.flatten()), torch.vdot(adjoint.flatten(), x.flatten()))


@pytest.mark.parametrize("needed", [n for n in itertools.product((0, 1), repeat=3) if any(n)])
def test_the_backward_runs_and_the_forward_keeps_only_what_is_needed(needed):
    x, w, b = leaf(4, 3), leaf(2, 3), leaf(2)
    for t, n in zip((x, w, b), needed, strict=True):
        t.requires_grad_(bool(n))
    kept = []
    with saved_tensors_hooks(lambda t: kept.append(t.data_ptr()) or t, lambda t: t):
        y = linear(x, w, b)
    with Operations() as operations:
        y.sum().backward()
    for_input, for_weight, _ = needed
    assert operations.products == for_input + for_weight
    assert kept == [x.data_ptr()] * for_weight + [w.data_ptr()] * for_input
    assert [t.grad is not None for t in (x, w, b)] == [bool(n) for n in needed]


def test_the_counter_sees_all_products_of_torch_too():
    leaves = leaf(4, 3), leaf(2, 3), leaf(2)
    y = F.linear(*leaves).sum()
    with Operations() as operations:
        y.backward()
    assert operations.products == 2


def test_grad_fn_gives_none_for_the_bias_that_is_absent():
    x, w = leaf(4, 3), leaf(2, 3)
    g = torch.ones(4, 2, dtype=torch.float64)
    grad_input, grad_weight, grad_bias = linear(x, w).grad_fn.apply(g)
    assert_close((grad_input, grad_weight), (g @ w, g.mT @ x))
    assert grad_bias is None


FAULTS = {
    "linear: expected input of shape (*, in_features), got ()": ((), (2, 3), None),
    "linear: expected weight of shape (out_features, 3), got (4, 2)": ((5, 3), (4, 2), None),
    "linear: expected weight of shape (out_features, 3), got (3,)": ((5, 3), (3,), None),
    "linear: expected weight of shape (out_features, 3), got (1, 2, 3)": ((5, 3), (1, 2, 3), None),
    "linear: expected bias of shape (2,), got (3,)": ((5, 3), (2, 3), (3,)),
    "linear: expected bias of shape (2,), got ()": ((5, 3), (2, 3), ()),
    "linear: expected bias of shape (2,), got (1, 2)": ((5, 3), (2, 3), (1, 2)),
}


@pytest.mark.parametrize("message", FAULTS)
def test_a_shape_that_does_not_fit_is_refused(message):
    arguments = [None if shape is None else leaf(*shape) for shape in FAULTS[message]]
    with pytest.raises(ValueError, match=exactly(message)):
        linear(*arguments)


@pytest.mark.parametrize("position", range(3))
def test_a_dtype_that_is_not_a_field_is_refused(position):
    arguments = [leaf(4, 3), leaf(2, 3), leaf(2)]
    arguments[position] = arguments[position].long()
    name = ("input", "weight", "bias")[position]
    message = (
        f"linear: expected {name} of a floating-point or complex dtype, got torch.int64; "
        f"convert it, for example with {name}.to(torch.float32)"
    )
    with pytest.raises(TypeError, match=exactly(message)):
        linear(*arguments)


@pytest.mark.parametrize("position", [1, 2])
def test_dtypes_that_differ_are_refused(position):
    arguments = [leaf(4, 3), leaf(2, 3), leaf(2)]
    arguments[position] = arguments[position].float()
    name = ("input", "weight", "bias")[position]
    message = (
        f"linear: expected {name} of dtype torch.float64 as input, got torch.float32; "
        "convert one of them with .to()"
    )
    with pytest.raises(TypeError, match=exactly(message)):
        linear(*arguments)


def test_devices_that_differ_are_refused():
    message = "linear: expected weight on cpu as input, got meta; move one of them with .to()"
    with pytest.raises(ValueError, match=exactly(message)):
        linear(leaf(4, 3), torch.empty(2, 3, dtype=torch.float64, device="meta"))


def test_what_is_not_a_tensor_is_refused():
    message = "linear: expected bias to be a torch.Tensor, got bool; wrap it in torch.as_tensor"
    with pytest.raises(TypeError, match=exactly(message)):
        linear(leaf(4, 3), leaf(2, 3), True)
