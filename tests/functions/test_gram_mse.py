"""gram_mse: closed forms, a right second derivative, what it keeps, and what it refuses."""

import math
import weakref

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.nn import functional as F
from torch.testing import assert_close

from backpass.functions import gram_matrix, gram_mse
from helpers import Operations, exactly

each_reduction = pytest.mark.parametrize("reduction", ["mean", "sum"])
seeds = st.integers(0, 2**16)


def drawn(*shape, seed=0, dtype=torch.float64):
    return torch.randn(shape, dtype=dtype, generator=torch.Generator().manual_seed(seed))


def plain(x, target, scale=1.0, reduction="mean"):
    """Compute the same with autograd alone."""
    return F.mse_loss(scale * x @ x.mT, target, reduction=reduction)


def test_one_channel_is_compared_by_its_energy():
    x = torch.tensor([[[3.0, 4.0]]], dtype=torch.float64, requires_grad=True)
    loss = gram_mse(x, torch.tensor([[[20.0]]], dtype=torch.float64), scale=2.0)
    assert loss.item() == (2 * 25 - 20) ** 2
    (grad,) = torch.autograd.grad(loss, x)
    assert_close(grad, 8 * 30 * x.detach())


@each_reduction
@given(seeds, st.floats(-2, 2))
def test_it_is_the_mean_squared_difference_of_the_gram_matrix(reduction, seed, scale):
    x, target = drawn(2, 3, 4, seed=seed), drawn(2, 3, 3, seed=seed + 1)
    expected = F.mse_loss(gram_matrix(x, scale=scale), target, reduction=reduction)
    assert_close(gram_mse(x, target, scale=scale, reduction=reduction), expected)


@pytest.mark.parametrize("dtype", [torch.float16, torch.float32, torch.float64])
def test_features_have_exactly_no_loss_to_their_own_matrix(dtype):
    x = drawn(2, 8, 50, dtype=dtype).requires_grad_()
    loss = gram_mse(x, gram_matrix(x.detach(), scale=0.02), scale=0.02)
    (grad,) = torch.autograd.grad(loss, x)
    assert loss == 0
    assert not grad.any()


def test_only_the_symmetric_part_of_a_target_has_a_gradient_for_the_features():
    x, target = drawn(1, 3, 5).requires_grad_(), drawn(1, 3, 3, seed=1)
    gradients = [
        torch.autograd.grad(gram_mse(x, a), x)[0] for a in (target, (target + target.mT) / 2)
    ]
    assert_close(*gradients)
    assert gram_mse(x, target) > gram_mse(x, (target + target.mT) / 2)


def test_the_gradient_of_the_target_is_not_symmetric_where_the_target_is_not():
    x, target = drawn(1, 3, 5), drawn(1, 3, 3, seed=1).requires_grad_()
    (grad,) = torch.autograd.grad(gram_mse(x, target), target)
    assert_close(grad, -2 / 9 * (x @ x.mT - target.detach()))


@given(seeds)
def test_the_order_of_the_pixels_does_not_matter(seed):
    x, target = drawn(1, 3, 8, seed=seed), drawn(1, 3, 3, seed=seed + 1)
    shuffled = x[..., torch.randperm(8, generator=torch.Generator().manual_seed(seed))]
    assert_close(gram_mse(shuffled, target), gram_mse(x, target))


@each_reduction
def test_the_second_derivative_is_that_of_autograd_alone(reduction):
    """With a saved difference taken for a constant, it would differ, without a message."""
    x, target = drawn(1, 3, 5).requires_grad_(), drawn(1, 3, 3, seed=1).requires_grad_()
    direction, second = drawn(1, 3, 5, seed=2), []
    for function in (gram_mse, plain):
        loss = function(x, target, scale=0.3, reduction=reduction)
        (first,) = torch.autograd.grad(loss, x, create_graph=True)
        second.append(torch.autograd.grad((first * direction).sum(), (x, target)))
    assert_close(*second)


def test_the_third_derivative_is_that_of_autograd_alone():
    x, target = drawn(1, 2, 3).requires_grad_(), drawn(1, 2, 2, seed=1)
    third = []
    for function in (gram_mse, plain):
        (first,) = torch.autograd.grad(function(x, target), x, create_graph=True)
        (second,) = torch.autograd.grad(first.square().sum(), x, create_graph=True)
        third.append(torch.autograd.grad(second.square().sum(), x))
    assert_close(*third)


def test_a_gradient_of_the_target_alone_can_be_differentiated():
    x, target = drawn(1, 3, 5).requires_grad_(), drawn(1, 3, 3, seed=1).requires_grad_()
    second = []
    for function in (gram_mse, plain):
        (first,) = torch.autograd.grad(function(x, target), target, create_graph=True)
        second.append(torch.autograd.grad(first.square().sum(), (x, target)))
    assert_close(*second)


def test_the_forward_is_one_product_and_so_is_the_backward():
    x, target = drawn(1, 3, 8).requires_grad_(), drawn(1, 3, 3, seed=1)
    with Operations() as forward:
        loss = gram_mse(x, target)
    with Operations() as backward:
        loss.backward()
    assert (forward.products, backward.products) == (1, 1)


def test_the_gradient_of_the_target_needs_no_product():
    x, target = drawn(1, 3, 8), drawn(1, 3, 3, seed=1).requires_grad_()
    loss = gram_mse(x, target)
    with Operations() as operations:
        loss.backward()
    assert operations.products == 0


def test_the_target_need_not_stay_alive():
    x, target = drawn(1, 3, 8).requires_grad_(), drawn(1, 3, 3, seed=1)
    kept = weakref.ref(target)
    loss = gram_mse(x, target)
    del target
    assert kept() is None
    loss.backward()


def test_nothing_is_kept_after_the_loss_is_gone():
    x, target = drawn(1, 3, 8).requires_grad_(), drawn(1, 3, 3, seed=1)
    kept = weakref.ref(x)
    loss = gram_mse(x, target)
    del x
    assert kept() is not None
    del loss
    assert kept() is None


@pytest.mark.parametrize("batched", [False, True], ids=["plain", "vmap"])
def test_float16_stays_finite_when_it_is_scaled(batched):
    x, target = drawn(1, 16, 256, 256).half(), torch.zeros(1, 16, 16).half()
    x = x + 1
    scale = 1 / (16 * 256**2)
    transform = torch.vmap if batched else lambda function: function
    arguments = (x[None], target[None]) if batched else (x, target)
    assert not transform(gram_mse)(*arguments).isfinite().all()
    loss = transform(lambda x, a: gram_mse(x, a, scale=scale))(*arguments)
    expected = gram_mse(x.double(), target.double(), scale=scale)
    assert_close(loss.reshape(()), expected.half(), rtol=5e-3, atol=0)


def test_without_entries_the_mean_is_nan_and_the_sum_is_zero():
    x, target = torch.empty(0, 3, 4), torch.empty(0, 3, 3)
    assert gram_mse(x, target).isnan()
    assert gram_mse(x, target, reduction="sum") == 0


def test_without_pixels_the_target_itself_is_the_difference():
    target = drawn(1, 3, 3)
    assert_close(gram_mse(torch.empty(1, 3, 0, dtype=torch.float64), target), (target**2).mean())


@pytest.mark.parametrize(
    ("input", "target", "message"),
    [
        ((3,), (1, 3, 3), "input of shape (N, C, *spatial), got (3,)"),
        ((1, 3, 4), (3, 3), "target_gram of shape (1, 3, 3), got (3, 3)"),
        ((2, 3, 4), (1, 3, 3), "target_gram of shape (2, 3, 3), got (1, 3, 3)"),
    ],
)
def test_a_shape_that_does_not_fit_is_refused(input, target, message):
    with pytest.raises(ValueError, match=exactly(f"gram_mse: expected {message}")):
        gram_mse(torch.ones(input), torch.ones(target))


def test_types_and_devices_that_do_not_fit_are_refused():
    message = (
        "gram_mse: expected target_gram of dtype torch.float32 as input, got torch.float64; "
        "convert one of them with .to()"
    )
    with pytest.raises(TypeError, match=exactly(message)):
        gram_mse(torch.ones(1, 2, 3), torch.ones(1, 2, 2, dtype=torch.float64))
    message = (
        "gram_mse: expected input of a real floating-point dtype, got torch.complex64; "
        "convert it, for example with input.to(torch.float32)"
    )
    with pytest.raises(TypeError, match=exactly(message)):
        gram_mse(torch.ones(1, 2, 3, dtype=torch.complex64), torch.ones(1, 2, 2))
    message = (
        "gram_mse: expected target_gram on cpu as input, got meta; move one of them with .to()"
    )
    with pytest.raises(ValueError, match=exactly(message)):
        gram_mse(torch.ones(1, 2, 3), torch.ones(1, 2, 2, device="meta"))


def test_a_scale_or_a_reduction_that_is_none_is_refused():
    x, target = torch.ones(1, 2, 3), torch.ones(1, 2, 2)
    message = (
        "gram_mse: expected scale to be a Python number, got Tensor; "
        "multiply the result where a tensor is meant"
    )
    with pytest.raises(TypeError, match=exactly(message)):
        gram_mse(x, target, scale=torch.tensor(1.0))
    message = "gram_mse: expected a finite scale, got inf"
    with pytest.raises(ValueError, match=exactly(message)):
        gram_mse(x, target, scale=math.inf)
    message = "gram_mse: expected reduction 'mean' or 'sum', got 'none'"
    with pytest.raises(ValueError, match=exactly(message)):
        gram_mse(x, target, reduction="none")
