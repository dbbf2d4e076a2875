"""content_loss and its two Modules: closed forms, states and copies, and what they refuse."""

import copy
import math
import pickle

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn
from torch.testing import assert_close

from backpass.losses import ContentLoss, ContentRecorder, content_loss
from helpers import exactly

each_module = pytest.mark.parametrize("kind", [ContentLoss, ContentRecorder])


def drawn(*shape, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(shape, dtype=torch.float64, generator=generator)


def loss_of(module, input):
    """Return the loss that a Module returns or keeps."""
    result = module(input)
    return getattr(module, "loss", result)


def test_the_mean_of_squares_and_its_gradient():
    x = torch.tensor([1.0, 5.0], dtype=torch.float64, requires_grad=True)
    loss = content_loss(x, torch.tensor([0.0, 2.0], dtype=torch.float64), weight=3.0)
    assert loss.item() == 3 * (1 + 9) / 2
    (grad,) = torch.autograd.grad(loss, x)
    assert_close(grad, x.new_tensor([3.0, 9.0]))


@given(st.integers(0, 2**16), st.floats(-4, 4))
def test_the_reductions_agree(seed, weight):
    x, t = drawn(3, 4, seed=seed), drawn(3, 4, seed=seed + 1)
    each = content_loss(x, t, weight=weight, reduction="none")
    assert_close(content_loss(x, t, weight=weight, reduction="sum"), each.sum())
    assert_close(content_loss(x, t, weight=weight), each.mean())


@given(st.integers(0, 2**16), st.floats(-4, 4))
def test_the_loss_is_symmetric_and_linear_in_the_weight(seed, weight):
    x, t = drawn(5, seed=seed), drawn(5, seed=seed + 1)
    assert_close(content_loss(x, t, weight=weight), weight * content_loss(t, x))


def test_a_target_that_requires_a_gradient_gets_the_opposite_one():
    x, t = drawn(4).requires_grad_(), drawn(4, seed=1).requires_grad_()
    for_input, for_target = torch.autograd.grad(content_loss(x, t), (x, t))
    assert_close(for_input, -for_target)


def test_of_nothing_the_mean_is_nan_and_the_sum_is_zero():
    nothing = torch.empty(0)
    assert content_loss(nothing, nothing).isnan()
    assert content_loss(nothing, nothing, reduction="sum") == 0


@each_module
@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_the_module_gives_the_loss_of_the_function(kind, reduction):
    x, t = drawn(2, 3), drawn(2, 3, seed=1)
    module = kind(t, weight=2, reduction=reduction)
    assert_close(loss_of(module, x), content_loss(x, t, weight=2, reduction=reduction))


@each_module
def test_the_target_is_a_detached_copy(kind):
    t = drawn(2, 3).requires_grad_()
    criterion = kind(t)
    assert not criterion.target.requires_grad
    with torch.no_grad():
        t.zero_()
    assert criterion.target.count_nonzero() == 6


@each_module
def test_the_target_is_state_and_the_weight_is_not(kind):
    t = drawn(2, 3)
    state = kind(t, weight=5).state_dict()
    assert_close(dict(state), {"target": t})
    other = kind(torch.zeros(2, 3, dtype=torch.float64))
    other.load_state_dict(state)
    assert_close(other.target, t)


@each_module
def test_the_target_follows_to_another_dtype(kind):
    assert kind(drawn(2, 3)).to(torch.float32).target.dtype == torch.float32


@each_module
def test_repr_gives_the_arguments(kind):
    shown = repr(kind(drawn(2, 3), weight=2, reduction="sum"))
    assert shown == f"{kind.__name__}(target=(2, 3), weight=2.0, reduction='sum')"


@each_module
def test_copies_give_the_same_loss_even_after_a_forward(kind):
    module, x = kind(drawn(2, 3), weight=2), drawn(2, 3, seed=1).requires_grad_()
    before = loss_of(module, x)
    for twin in (copy.deepcopy(module), pickle.loads(pickle.dumps(module))):
        assert getattr(twin, "loss", None) is None
        assert_close(loss_of(twin, x), before)


def test_the_recorder_returns_the_input_itself_and_keeps_the_loss():
    x, t = drawn(2, 3).requires_grad_(), drawn(2, 3, seed=1)
    layer = ContentRecorder(t, weight=2)
    assert layer.loss is None
    assert layer(x) is x
    assert_close(layer.loss, content_loss(x, t, weight=2))


def test_a_recorder_in_a_network_changes_nothing_behind_it():
    x = drawn(2, 3).requires_grad_()
    layer = ContentRecorder(drawn(2, 3, seed=1))
    y = nn.Sequential(nn.Tanh(), layer, nn.Tanh())(x)
    assert_close(y, x.tanh().tanh())
    (grad,) = torch.autograd.grad(layer.loss, x)
    (expected,) = torch.autograd.grad(content_loss(x.tanh(), layer.target), x)
    assert_close(grad, expected)


@pytest.mark.parametrize(
    ("target", "message"),
    [
        (torch.ones(3), "content_loss: expected target of shape (1, 3) as input, got (3,)"),
        (torch.ones(1, 2), "content_loss: expected target of shape (1, 3) as input, got (1, 2)"),
        (
            torch.ones(1, 3, device="meta"),
            "content_loss: expected target on cpu as input, got meta; move one of them with .to()",
        ),
    ],
)
def test_a_target_that_does_not_fit_is_refused(target, message):
    with pytest.raises(ValueError, match=exactly(message)):
        content_loss(torch.ones(1, 3), target)


@pytest.mark.parametrize(
    ("target", "message"),
    [
        (
            [1.0],
            (
                "content_loss: expected target to be a torch.Tensor, got list; "
                "wrap it in torch.as_tensor"
            ),
        ),
        (
            torch.ones(1, dtype=torch.int64),
            (
                "content_loss: expected target of a real floating-point dtype, got torch.int64; "
                "convert it, for example with target.to(torch.float32)"
            ),
        ),
        (
            torch.ones(1, dtype=torch.float64),
            (
                "content_loss: expected target of dtype torch.float32 as input, got torch.float64; "
                "convert one of them with .to()"
            ),
        ),
    ],
)
def test_a_target_of_another_type_is_refused(target, message):
    with pytest.raises(TypeError, match=exactly(message)):
        content_loss(torch.ones(1), target)


def test_autocast_brings_low_precisions_together_and_leaves_double_alone():
    wide, narrow = torch.ones(1), torch.ones(1, dtype=torch.bfloat16)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert content_loss(narrow, wide).dtype == torch.float32
        message = (
            "content_loss: expected target of dtype torch.float32 as input, got torch.float64; "
            "convert one of them with .to()"
        )
        with pytest.raises(TypeError, match=exactly(message)):
            content_loss(wide, wide.double())


@pytest.mark.parametrize("weight", [torch.tensor(1.0), "1", None])
def test_a_weight_that_is_not_a_number_is_refused(weight):
    message = (
        f"content_loss: expected weight to be a Python number, got {type(weight).__name__}; "
        "multiply the result where a tensor is meant"
    )
    with pytest.raises(TypeError, match=exactly(message)):
        content_loss(torch.ones(1), torch.ones(1), weight=weight)


def test_a_weight_that_is_not_finite_is_refused():
    message = "content_loss: expected a finite weight, got inf"
    with pytest.raises(ValueError, match=exactly(message)):
        content_loss(torch.ones(1), torch.ones(1), weight=math.inf)


def test_an_unknown_reduction_is_refused():
    message = "content_loss: expected reduction 'mean', 'sum' or 'none', got 'median'"
    with pytest.raises(ValueError, match=exactly(message)):
        content_loss(torch.ones(1), torch.ones(1), reduction="median")


@each_module
def test_a_module_refuses_at_birth_what_its_function_would(kind):
    message = (
        f"{kind.__name__}: expected target of a real floating-point dtype, got torch.int64; "
        "convert it, for example with target.to(torch.float32)"
    )
    with pytest.raises(TypeError, match=exactly(message)):
        kind(torch.ones(1, dtype=torch.int64))
    message = f"{kind.__name__}: expected a finite weight, got nan"
    with pytest.raises(ValueError, match=exactly(message)):
        kind(torch.ones(1), weight=math.nan)
    message = f"{kind.__name__}: expected reduction 'mean', 'sum' or 'none', got 'median'"
    with pytest.raises(ValueError, match=exactly(message)):
        kind(torch.ones(1), reduction="median")


# 2026-12, torch 2.13: compiling loads decompositions with what torch has deprecated itself.
@pytest.mark.filterwarnings("ignore:`torch.jit.script:DeprecationWarning")
def test_a_compiled_recorder_can_be_pickled():
    layer = ContentRecorder(torch.zeros(2))
    layer.compile()
    assert_close(pickle.loads(pickle.dumps(layer)).target, torch.zeros(2))


@pytest.mark.parametrize("dtype", [torch.float8_e5m2, torch.int64, torch.complex64])
def test_a_dtype_without_arithmetic_is_refused(dtype):
    tensor = torch.zeros(2).to(dtype)
    with pytest.raises(
        TypeError, match=f"expected input of a real floating-point dtype, got {dtype}"
    ):
        content_loss(tensor, tensor)


def test_a_sparse_tensor_is_refused():
    with pytest.raises(TypeError, match="expected input to be a dense tensor, got the layout"):
        content_loss(torch.zeros(2).to_sparse(), torch.zeros(2))


@pytest.mark.parametrize("weight", [float("inf"), float("-inf"), float("nan"), 10**400])
def test_a_weight_that_no_float_holds_is_refused(weight):
    with pytest.raises(ValueError, match=r"^content_loss: expected a finite weight, got "):
        content_loss(torch.zeros(2), torch.zeros(2), weight=weight)
