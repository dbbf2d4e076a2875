"""total_variation: closed forms, invariants, what it keeps in float16, and what it refuses."""

from math import prod

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.testing import assert_close

from backpass.functions import total_variation
from helpers import exactly

each_power = pytest.mark.parametrize("p", [1, 2])
each_reduction = pytest.mark.parametrize("reduction", ["mean", "sum"])
seeds = st.integers(0, 2**16)


def picture(*shape, seed=0, dtype=torch.float64):
    return torch.randn(shape, dtype=dtype, generator=torch.Generator().manual_seed(seed))


def gradient(x, cotangent=None, **keywords):
    x = x.detach().requires_grad_()
    return torch.autograd.grad(total_variation(x, **keywords), x, cotangent)[0]


@each_power
@pytest.mark.parametrize(("down", "across"), [(2.0, -3.0), (0.0, 0.5)])
def test_a_ramp_has_the_powers_of_its_slopes(p, down, across):
    rows, columns = torch.meshgrid(*[torch.arange(5, dtype=torch.float64)] * 2, indexing="ij")
    x = (down * rows + across * columns).expand(2, 3, 5, 5)
    assert total_variation(x, p=p).item() == abs(down) ** p + abs(across) ** p
    assert total_variation(x, p=p, reduction="sum").item() == 6 * 20 * (
        abs(down) ** p + abs(across) ** p
    )


@each_power
def test_an_edge_costs_its_height_to_the_power_wherever_it_is(p):
    x = torch.zeros(4, 6, dtype=torch.float64)
    x[:, 2:] = 3
    assert total_variation(x, p=p, reduction="sum").item() == 4 * 3**p


def test_the_gradient_of_squares_is_minus_twice_the_laplacian():
    x = picture(5, 6)
    neighbours = x[:-2, 1:-1] + x[2:, 1:-1] + x[1:-1, :-2] + x[1:-1, 2:]
    laplacian = neighbours - 4 * x[1:-1, 1:-1]
    assert_close(gradient(x, reduction="sum")[1:-1, 1:-1], -2 * laplacian)


def test_the_gradient_of_squares_at_a_corner_has_two_neighbours():
    x = picture(5, 6)
    expected = 2 * (2 * x[-1, 0] - x[-2, 0] - x[-1, 1])
    assert_close(gradient(x, reduction="sum")[-1, 0], expected)


def test_the_gradient_of_absolute_differences_counts_lower_minus_higher_neighbours():
    x = torch.tensor([[0.0, 0.0, 5.0], [1.0, 0.0, 0.0]], dtype=torch.float64)
    expected = torch.tensor([[-1.0, -1.0, 2.0], [2.0, -1.0, -1.0]], dtype=torch.float64)
    assert_close(gradient(x, p=1, reduction="sum"), expected)


@each_power
@each_reduction
@given(seeds, st.floats(-100, 100))
def test_a_constant_changes_nothing_so_the_gradient_adds_up_to_zero(p, reduction, seed, constant):
    x = picture(2, 3, 4, seed=seed)
    value = total_variation(x, p=p, reduction=reduction)
    assert_close(total_variation(x + constant, p=p, reduction=reduction), value)
    total = gradient(x, p=p, reduction=reduction).sum()
    assert_close(total, torch.zeros_like(total), atol=1e-12, rtol=0)


@each_power
@given(seeds)
def test_turning_and_flipping_the_picture_changes_nothing(p, seed):
    x = picture(3, 4, 5, seed=seed)
    for turned in (x.mT, x.flip(-1), x.flip(-2), x.rot90(1, (-2, -1))):
        assert_close(total_variation(turned, p=p), total_variation(x, p=p))


@each_power
@each_reduction
@given(seeds)
def test_the_gradient_times_the_picture_is_p_times_the_value(p, reduction, seed):
    """Euler's identity of a function that is homogeneous of degree p."""
    x = picture(2, 4, 3, seed=seed)
    product = (gradient(x, p=p, reduction=reduction) * x).sum()
    assert_close(product, p * total_variation(x, p=p, reduction=reduction))


@each_power
def test_many_pictures_have_the_mean_or_the_sum_of_the_single_values(p):
    x = picture(4, 3, 5, 6)
    for reduction, reduced in (("mean", torch.mean), ("sum", torch.sum)):
        single = torch.stack([total_variation(y, p=p, reduction=reduction) for y in x])
        assert_close(total_variation(x, p=p, reduction=reduction), reduced(single))


@each_power
@each_reduction
@pytest.mark.parametrize("shape", [(1, 1), (3, 1, 1), (0, 0), (2, 0, 3), (2, 3, 0), (0, 3, 3)])
def test_without_neighbours_value_and_gradient_are_zero(p, reduction, shape):
    x = torch.ones(shape)
    assert total_variation(x, p=p, reduction=reduction) == 0
    assert_close(gradient(x, p=p, reduction=reduction), torch.zeros(shape))


@each_power
def test_one_row_has_horizontal_neighbours_only(p):
    x = picture(1, 6)
    assert_close(total_variation(x, p=p), x.diff().abs().pow(p).mean())


@each_power
def test_an_empty_picture_is_not_written_to(p):
    x = torch.empty(0, 3)
    total_variation(x, p=p)
    assert x._version == 0


@each_power
def test_nan_is_not_hidden(p):
    x = picture(3, 3)
    x[1, 1] = torch.nan
    assert total_variation(x, p=p).isnan()


def test_the_second_derivative_of_absolute_differences_is_zero():
    x = picture(3, 4).requires_grad_()
    (first,) = torch.autograd.grad(total_variation(x, p=1), x, create_graph=True)
    (second,) = torch.autograd.grad(first.sum() + x.sum(), x)
    assert_close(second, torch.ones_like(x))


def test_the_hessian_of_squares_is_the_same_everywhere_and_has_no_negative_eigenvalue():
    def hessian(x):
        return torch.func.jacrev(torch.func.jacrev(total_variation))(x).reshape(12, 12)

    x = picture(3, 4)
    assert_close(hessian(x), hessian(torch.zeros_like(x)))
    eigenvalues = torch.linalg.eigvalsh(hessian(x))
    assert eigenvalues[0].abs() < 1e-12, "a constant picture costs nothing"
    assert eigenvalues[1] > 1e-3, "every other picture does"


@each_power
@pytest.mark.parametrize("size", [1e-4, 1.0, 200.0])
def test_float16_loses_nothing_in_squares_and_sums(p, size):
    x = (size * picture(1, 3, 256, 256)).half()
    wide = x.double()
    differences = [(wide[..., 1:, :] - wide[..., :-1, :]), (wide[..., 1:] - wide[..., :-1])]
    expected = sum(difference.abs().pow(p).mean() for difference in differences)
    assert_close(total_variation(x, p=p), expected.half())


@each_power
def test_float16_has_a_right_gradient_for_a_scaled_loss(p):
    x, cotangent = picture(1, 3, 256, 256).half(), torch.tensor(2.0**15).half()
    expected = gradient(x.double(), cotangent.double(), p=p)
    near = torch.finfo(torch.float16).eps * expected.abs().max().item()
    assert_close(gradient(x, cotangent, p=p).double(), expected, rtol=2e-3, atol=2 * near)


@pytest.mark.parametrize("count", [1, 3 * 256 * 256])
def test_float32_adds_without_drift(count):
    x = torch.zeros(count, 2)
    x[:, 1] = 0.1
    assert_close(total_variation(x, reduction="sum").item(), count * 0.01, rtol=1e-6, atol=0)


def test_the_saved_bytes_are_a_quarter_of_those_of_plain_slicing():
    x = picture(1, 3, 8, 9, dtype=torch.float32).requires_grad_()
    pairs = 3 * (7 * 9 + 8 * 8)
    kept = []
    with torch.autograd.graph.saved_tensors_hooks(lambda t: kept.append(t.nbytes), lambda t: t):
        total_variation(x, p=1)
    assert sum(kept) == pairs
    assert pairs * x.itemsize == 4 * sum(kept)
    assert prod(x.shape) * x.itemsize > sum(kept)


@pytest.mark.parametrize("shape", [(), (3,)])
def test_what_is_no_picture_is_refused(shape):
    message = f"total_variation: expected input of shape (*, H, W), got {shape}"
    with pytest.raises(ValueError, match=exactly(message)):
        total_variation(torch.ones(shape))


@pytest.mark.parametrize("p", [0, 3, 1.5, "2", None])
def test_another_power_is_refused(p):
    message = f"total_variation: expected p to be 1 or 2, got {p!r}"
    with pytest.raises(ValueError, match=exactly(message)):
        total_variation(torch.ones(2, 2), p=p)


@pytest.mark.parametrize("reduction", ["none", "median", None])
def test_another_reduction_is_refused(reduction):
    message = f"total_variation: expected reduction 'mean' or 'sum', got {reduction!r}"
    with pytest.raises(ValueError, match=exactly(message)):
        total_variation(torch.ones(2, 2), reduction=reduction)


@pytest.mark.parametrize("dtype", [torch.uint8, torch.complex64])
def test_a_dtype_without_real_differences_is_refused(dtype):
    message = (
        f"total_variation: expected input of a real floating-point dtype, got {dtype}; "
        "convert it, for example with input.to(torch.float32)"
    )
    with pytest.raises(TypeError, match=exactly(message)):
        total_variation(torch.ones(2, 2, dtype=dtype))
