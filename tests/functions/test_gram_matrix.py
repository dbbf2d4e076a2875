"""gram_matrix: closed forms, invariants, half the work of autograd, and what it refuses."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.testing import assert_close
from torch.utils._python_dispatch import TorchDispatchMode

from backpass.functions import gram_matrix
from helpers import Operations, exactly

seeds = st.integers(0, 2**16)


def features(*shape, seed=0, dtype=torch.float64):
    return torch.randn(shape, dtype=dtype, generator=torch.Generator().manual_seed(seed))


class Results(TorchDispatchMode):
    """Keep every tensor that an operation returns."""

    def __init__(self):
        super().__init__()
        self.made = []

    def __torch_dispatch__(self, operation, types, arguments=(), keywords=None):
        result = operation(*arguments, **keywords or {})
        self.made.append(result)
        return result


def test_two_orthogonal_channels_have_a_diagonal_matrix():
    x = torch.tensor([[[3.0, 0.0], [0.0, 4.0]]], dtype=torch.float64)
    assert_close(gram_matrix(x), torch.tensor([[[9.0, 0.0], [0.0, 16.0]]], dtype=torch.float64))


def test_the_gradient_of_a_single_entry_is_the_other_channel():
    x = features(1, 2, 5).requires_grad_()
    (grad,) = torch.autograd.grad(gram_matrix(x, scale=0.5)[0, 0, 1], x)
    assert_close(grad, 0.5 * x.detach().flip(1))


@given(seeds)
def test_the_matrix_is_symmetric_and_has_no_negative_eigenvalue(seed):
    gram = gram_matrix(features(2, 4, 3, seed=seed))
    assert_close(gram, gram.mT, rtol=0, atol=1e-14)
    assert torch.linalg.eigvalsh(gram).min() > -1e-12


@given(seeds)
def test_the_order_of_the_pixels_does_not_matter(seed):
    x = features(2, 3, 4, 5, seed=seed)
    shuffled = x.flatten(2)[..., torch.randperm(20, generator=torch.Generator().manual_seed(seed))]
    assert_close(gram_matrix(shuffled), gram_matrix(x))


@given(seeds, st.floats(-8, 8))
def test_scaling_the_features_is_scaling_the_matrix_twice(seed, factor):
    x = features(1, 3, 7, seed=seed)
    assert_close(gram_matrix(factor * x), gram_matrix(x, scale=factor**2))


@given(seeds)
def test_the_gradient_times_the_features_is_twice_the_matrix_times_the_cotangent(seed):
    """Euler's identity of a function that is homogeneous of the second degree."""
    x, g = features(2, 3, 4, seed=seed).requires_grad_(), features(2, 3, 3, seed=seed + 1)
    gram = gram_matrix(x)
    (grad,) = torch.autograd.grad(gram, x, g)
    assert_close((grad * x).sum(), 2 * (g * gram).sum())


def test_the_backward_is_one_product_where_that_of_autograd_is_two():
    x = features(2, 3, 4).requires_grad_()
    counted = []
    for function in (gram_matrix, lambda x: x @ x.mT):
        y = function(x)
        with Operations() as operations:
            torch.autograd.grad(y, x, torch.ones_like(y))
        counted.append(operations.products)
    assert counted == [1, 2]


def test_the_backward_makes_no_tensor_of_the_features_size_but_the_gradient():
    x = features(1, 3, 50).requires_grad_()
    gram = gram_matrix(x)
    with Results() as results:
        torch.autograd.grad(gram, x, torch.ones_like(gram))
    storages = [result.untyped_storage() for result in results.made]
    given = x.untyped_storage().data_ptr()
    large = {s.data_ptr() for s in storages if s.nbytes() >= x.nbytes} - {given}
    assert len(large) == 1


@pytest.mark.parametrize("batched", [False, True], ids=["plain", "vmap"])
def test_float16_stays_finite_when_it_is_scaled(batched):
    channels, side = 64, 256
    x = features(1, channels, side, side).half()
    transform = torch.vmap if batched else lambda function: function
    x = x[None] if batched else x
    scale = 1 / (channels * side**2)
    assert not transform(gram_matrix)(x).isfinite().all()
    gram = transform(lambda x: gram_matrix(x, scale=scale))(x)
    assert gram.isfinite().all()
    expected = gram_matrix(x.reshape(1, channels, side, side).float(), scale=scale)
    near = torch.finfo(torch.float16).eps * expected.max().item()
    assert_close(gram.reshape(1, channels, channels).float(), expected, rtol=0, atol=near)


def test_float16_has_a_finite_gradient_when_it_is_scaled():
    x = (100 * features(1, 4, 64)).half().requires_grad_()
    scale = 1 / (4 * 64)
    (grad,) = torch.autograd.grad(gram_matrix(x, scale=scale).sum(), x)
    wide = x.detach().double().requires_grad_()
    (expected,) = torch.autograd.grad(gram_matrix(wide, scale=scale).sum(), wide)
    assert_close(grad, expected.half())


@pytest.mark.parametrize("shape", [(), (3,)])
def test_features_without_channels_are_refused(shape):
    message = f"gram_matrix: expected input of shape (N, C, *spatial), got {shape}"
    with pytest.raises(ValueError, match=exactly(message)):
        gram_matrix(torch.ones(shape))


@pytest.mark.parametrize("scale", [torch.tensor(1.0), "1", None, True, 1j])
def test_a_scale_that_is_not_a_number_is_refused(scale):
    message = (
        f"gram_matrix: expected scale to be a Python number, got {type(scale).__name__}; "
        "multiply the result where a tensor is meant"
    )
    with pytest.raises(TypeError, match=exactly(message)):
        gram_matrix(torch.ones(1, 2, 3), scale=scale)


@pytest.mark.parametrize("scale", [math.inf, -math.inf, math.nan])
def test_a_scale_that_is_not_finite_is_refused(scale):
    message = f"gram_matrix: expected a finite scale, got {scale}"
    with pytest.raises(ValueError, match=exactly(message)):
        gram_matrix(torch.ones(1, 2, 3), scale=scale)


@pytest.mark.parametrize("dtype", [torch.uint8, torch.complex64])
def test_a_dtype_without_real_inner_products_is_refused(dtype):
    message = (
        f"gram_matrix: expected input of a real floating-point dtype, got {dtype}; "
        "convert it, for example with input.to(torch.float32)"
    )
    with pytest.raises(TypeError, match=exactly(message)):
        gram_matrix(torch.ones(1, 2, 3, dtype=dtype))


def test_a_large_float16_cotangent_stays_finite_where_the_gradient_is():
    features = torch.ones(1, 2, 3, dtype=torch.float16, requires_grad=True)
    cotangent = torch.full((1, 2, 2), 4e4, dtype=torch.float16)
    (gradient,) = torch.autograd.grad(gram_matrix(features, scale=1e-3), features, cotangent)
    assert_close(gradient, torch.full_like(features, 160))
