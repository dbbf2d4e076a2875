"""total_variation_loss and its Module: the weight, states and copies, and what they refuse."""

import copy
import math
import pickle

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.testing import assert_close

from backpass.functions import total_variation
from backpass.losses import TotalVariationLoss, total_variation_loss
from helpers import exactly

SETTINGS = [{}, {"p": 1}, {"p": 2, "reduction": "sum"}, {"p": 1, "reduction": "sum"}]
each_setting = pytest.mark.parametrize("settings", SETTINGS, ids=str)


def picture(*shape, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(shape, dtype=torch.float64, generator=generator)


@each_setting
@given(st.integers(0, 2**16), st.floats(-4, 4))
def test_the_weight_multiplies_the_total_variation(settings, seed, weight):
    x = picture(1, 3, 4, 5, seed=seed)
    expected = weight * total_variation(x, **settings)
    assert_close(total_variation_loss(x, weight=weight, **settings), expected)


def test_smoothing_by_its_gradient_lowers_the_loss_and_keeps_the_mean():
    x = picture(1, 3, 8, 8).requires_grad_()
    loss = total_variation_loss(x, reduction="sum")
    (grad,) = torch.autograd.grad(loss, x)
    smoother = x.detach() - 0.05 * grad
    assert total_variation_loss(smoother, reduction="sum") < loss / 2
    assert_close(smoother.mean(), x.detach().mean())


@each_setting
def test_the_module_gives_the_loss_of_the_function(settings):
    x = picture(1, 3, 4, 5)
    module = TotalVariationLoss(weight=2, **settings)
    assert_close(module(x), total_variation_loss(x, weight=2, **settings))


def test_repr_gives_the_arguments():
    shown = repr(TotalVariationLoss(weight=2, p=1, reduction="sum"))
    assert shown == "TotalVariationLoss(weight=2.0, p=1, reduction='sum')"
    assert repr(eval(shown, {"TotalVariationLoss": TotalVariationLoss})) == shown


def test_the_module_has_no_state():
    assert not TotalVariationLoss(weight=2).state_dict()


@each_setting
def test_copies_give_the_same_loss(settings):
    module, x = TotalVariationLoss(weight=2, **settings), picture(3, 4)
    for twin in (copy.deepcopy(module), pickle.loads(pickle.dumps(module))):
        assert_close(twin(x), module(x))


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"weight": math.nan}, ValueError, "expected a finite weight, got nan"),
        ({"p": 3}, ValueError, "expected p to be 1 or 2, got 3"),
        ({"reduction": "none"}, ValueError, "expected reduction 'mean' or 'sum', got 'none'"),
        (
            {"weight": torch.tensor(1.0)},
            TypeError,
            (
                "expected weight to be a Python number, got Tensor; "
                "multiply the result where a tensor is meant"
            ),
        ),
    ],
)
def test_an_argument_that_does_not_fit_is_refused_by_both(arguments, error, message):
    with pytest.raises(error, match=exactly(f"total_variation_loss: {message}")):
        total_variation_loss(torch.ones(2, 2), **arguments)
    with pytest.raises(error, match=exactly(f"TotalVariationLoss: {message}")):
        TotalVariationLoss(**arguments)


def test_an_input_that_does_not_fit_is_refused():
    message = "total_variation_loss: expected input of shape (*, H, W), got (3,)"
    with pytest.raises(ValueError, match=exactly(message)):
        total_variation_loss(torch.ones(3))
    message = (
        "total_variation_loss: expected input of a real floating-point dtype, got torch.int64; "
        "convert it, for example with input.to(torch.float32)"
    )
    with pytest.raises(TypeError, match=exactly(message)):
        total_variation_loss(torch.ones(2, 2, dtype=torch.int64))
