"""Linear as a Module: parameters as torch's, exchange of states, and what it refuses."""

import copy
import pickle

import pytest
import torch
from torch import nn
from torch.testing import assert_close

from backpass.modules import Linear
from helpers import exactly

biased = pytest.mark.parametrize("bias", [True, False])


def pair(*arguments, **keywords):
    """Return our layer and torch's, drawn from the same seed."""
    layers = []
    for kind in (Linear, nn.Linear):
        torch.manual_seed(0)
        layers.append(kind(*arguments, **keywords))
    return layers


@biased
def test_the_same_seed_draws_the_parameters_of_torch(bias):
    ours, theirs = pair(5, 3, bias)
    assert_close(ours.state_dict(), theirs.state_dict())
    torch.manual_seed(1)
    ours.reset_parameters()
    torch.manual_seed(1)
    theirs.reset_parameters()
    assert_close(ours.state_dict(), theirs.state_dict())


@biased
def test_outputs_and_gradients_are_those_of_torch(bias):
    ours, theirs = pair(5, 3, bias, dtype=torch.float64)
    theirs.load_state_dict(ours.state_dict())
    x = torch.randn(2, 4, 5, dtype=torch.float64)
    assert_close(ours(x), theirs(x))
    ours(x).square().sum().backward()
    theirs(x).square().sum().backward()
    assert_close([p.grad for p in ours.parameters()], [p.grad for p in theirs.parameters()])


@biased
def test_a_state_goes_either_way(bias):
    ours, theirs = Linear(5, 3, bias), nn.Linear(5, 3, bias)
    ours.load_state_dict(theirs.state_dict())
    assert_close(ours.state_dict(), theirs.state_dict())
    other = nn.Linear(5, 3, bias)
    other.load_state_dict(Linear(5, 3, bias).state_dict())


@biased
def test_repr_is_that_of_torch(bias):
    ours, theirs = pair(5, 3, bias)
    assert repr(ours) == repr(theirs)


def test_it_applies_the_function():
    assert Linear(3, 2)(torch.ones(3)).grad_fn.name() == "_LinearBackward"


def test_copies_have_parameters_of_their_own():
    layer = Linear(3, 2)
    for twin in (copy.deepcopy(layer), pickle.loads(pickle.dumps(layer))):
        assert_close(twin.state_dict(), layer.state_dict())
        assert {p.data_ptr() for p in twin.parameters()}.isdisjoint(
            p.data_ptr() for p in layer.parameters()
        )


def test_dtype_and_device_are_chosen_at_birth_and_changed_later():
    layer = Linear(3, 2, device="meta", dtype=torch.float16)
    assert {(p.device.type, p.dtype) for p in layer.parameters()} == {("meta", torch.float16)}
    layer = Linear(3, 2).to(torch.bfloat16)
    assert layer(torch.ones(1, 3, dtype=torch.bfloat16)).dtype == torch.bfloat16


def test_it_learns():
    torch.manual_seed(0)
    x = torch.randn(64, 3)
    wanted = x @ torch.tensor([[1.0], [-2.0], [0.5]]) + 3
    layer = Linear(3, 1)
    optimizer = torch.optim.LBFGS(layer.parameters(), max_iter=50)

    def closure():
        optimizer.zero_grad()
        loss = (layer(x) - wanted).square().mean()
        loss.backward()
        return loss

    optimizer.step(closure)
    assert closure().item() < 1e-8


@pytest.mark.parametrize(("inputs", "outputs"), [(0, 3), (3, 0), (0, 0)])
def test_no_features_at_all_are_a_layer_too(inputs, outputs):
    layer = Linear(inputs, outputs)
    assert layer(torch.ones(4, inputs)).shape == (4, outputs)
    if inputs == 0:
        assert_close(layer.bias, torch.zeros(outputs), check_dtype=False)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ((3.0, 2), TypeError, "Linear: expected in_features to be an integer, got float"),
        ((3, "2"), TypeError, "Linear: expected out_features to be an integer, got str"),
        ((-1, 2), ValueError, "Linear: expected in_features of 0 or more, got -1"),
        ((3, -2), ValueError, "Linear: expected out_features of 0 or more, got -2"),
    ],
)
def test_numbers_of_features_that_are_none_are_refused(arguments, error, message):
    with pytest.raises(error, match=exactly(message)):
        Linear(*arguments)


def test_a_reset_draws_only_the_parameters_of_the_layer():
    layer = Linear(3, 2)
    layer.extra = torch.nn.Parameter(torch.ones(5))
    layer.reset_parameters()
    assert_close(layer.extra.detach(), torch.ones(5))
