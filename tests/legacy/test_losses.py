"""The legacy Modules run as they did, and today's losses give the same gradients."""

import math

import pytest
import torch
from torch import nn
from torch.testing import assert_close

from backpass import legacy, losses
from backpass.legacy import equivalent_weight
from helpers import Operations, exactly

WEIGHTS = [1.0, 3.0, -0.5, 1e3]


def drawn(*shape, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(shape, dtype=torch.float64, generator=generator)


def network():
    torch.manual_seed(0)
    layers = [nn.Conv2d(3, 4, 3), nn.Tanh(), nn.Conv2d(4, 5, 3), nn.Tanh()]
    return [layer.double().requires_grad_(False) for layer in layers]


def picture():
    return drawn(1, 3, 9, 8).requires_grad_()


def gram(features):
    return losses.StyleLoss.from_features(features).target_gram


def old_pair(kind, target, weight):
    """Return the legacy Module and today's recorder of equal gradients."""
    if kind == "content":
        new = losses.ContentRecorder(target, weight=equivalent_weight(weight))
        return legacy.ContentLoss(target, weight), new
    new = losses.StyleRecorder(gram(target), weight=equivalent_weight(weight))
    return legacy.StyleLoss(gram(target), weight), new


def assert_equal_in_norm(actual, expected):
    assert expected.norm() > 0
    assert (actual - expected).norm() / expected.norm() <= 1e-12


@pytest.mark.parametrize("weight", WEIGHTS)
@pytest.mark.parametrize("kind", ["content", "style"])
def test_one_loss_has_the_gradient_of_today_with_the_squared_weight(kind, weight):
    layers, target = network(), drawn(1, 4, 7, 6, seed=1)
    old, new = old_pair(kind, target, weight)
    x, y = picture(), picture()
    nn.Sequential(*layers[:2], old)(x)
    value = old.backward()
    nn.Sequential(*layers[:2], new)(y)
    new.loss.backward()
    assert_close(value, new.loss)
    assert_equal_in_norm(x.grad, y.grad)


@pytest.mark.parametrize("weight", WEIGHTS)
def test_many_backwards_add_up_to_one_backward_of_the_sum(weight):
    layers, old, new = network(), [], []
    for kind, size, seed in (("style", (1, 4, 7, 6), 1), ("content", (1, 5, 5, 4), 2)):
        pair = old_pair(kind, drawn(*size, seed=seed), weight)
        old.append(pair[0])
        new.append(pair[1])
    x, y = picture(), picture()
    nn.Sequential(*layers[:2], old[0], *layers[2:], old[1])(x)
    score = sum(loss.backward() for loss in old)
    nn.Sequential(*layers[:2], new[0], *layers[2:], new[1])(y)
    total = sum(loss.loss for loss in new)
    total.backward()
    assert_close(score, total)
    assert_equal_in_norm(x.grad, y.grad)


def test_one_backward_for_each_loss_runs_the_shared_part_once_for_each():
    layers, counted = network(), []
    for index in (0, 1):
        recorders = [
            old_pair("content", drawn(1, 5, 5, 4, seed=seed), 1.0)[index] for seed in (1, 2, 3)
        ]
        nn.Sequential(*layers, *recorders)(picture())
        with Operations() as operations:
            if index == 0:
                for recorder in recorders:
                    recorder.backward()
            else:
                sum(recorder.loss for recorder in recorders).backward()
        counted.append(operations.counts["convolution_backward"])
    assert counted == [6, 2]


def test_the_weight_multiplies_inside_the_square():
    criterion = legacy.ContentLoss(torch.zeros(2, dtype=torch.float64), weight=3)
    x = torch.ones(2, dtype=torch.float64, requires_grad=True)
    assert criterion(x) is x
    assert criterion.backward().item() == 9
    assert_close(x.grad, torch.full_like(x, 9.0))


def test_the_style_module_returns_its_input_itself():
    x = drawn(1, 3, 4)
    assert legacy.StyleLoss(gram(x), weight=2)(x) is x


@pytest.mark.parametrize("kind", ["content", "style"])
def test_the_backward_can_be_repeated_only_while_the_graph_is_retained(kind):
    target = drawn(1, 3, 4)
    old, _ = old_pair(kind, target, 2.0)
    x = drawn(1, 3, 4, seed=1).requires_grad_()
    old(x)
    old.backward()
    once = x.grad.clone()
    old.backward(retain_graph=False)
    assert_close(x.grad, 2 * once)
    with pytest.raises(RuntimeError, match="backward through the graph a second time"):
        old.backward()


def test_autograd_never_calls_the_backward_of_a_module(monkeypatch):
    called = []
    monkeypatch.setattr(legacy.ContentLoss, "backward", lambda *_: called.append(1))
    x = drawn(2).requires_grad_()
    y = legacy.ContentLoss(torch.zeros(2, dtype=torch.float64), weight=3)(2 * x)
    y.sum().backward()
    assert called == []
    assert_close(x.grad, torch.full_like(x, 2.0))


@pytest.mark.parametrize("kind", ["content", "style"])
def test_the_scaled_target_is_state_without_a_graph(kind):
    target = drawn(1, 3, 3)
    old = {"content": legacy.ContentLoss, "style": legacy.StyleLoss}[kind](
        target.requires_grad_(), 3.0
    )
    assert not old.target.requires_grad
    assert_close(dict(old.state_dict()), {"target": 3 * target.detach()})


@pytest.mark.parametrize("name", ["ContentLoss", "StyleLoss"])
def test_a_backward_without_a_forward_is_refused(name):
    old = getattr(legacy, name)(torch.ones(1, 2, 2), weight=1)
    message = f"legacy.{name}: expected a forward before backward, got none; call it first"
    with pytest.raises(RuntimeError, match=exactly(message)):
        old.backward()


@pytest.mark.parametrize("name", ["ContentLoss", "StyleLoss"])
def test_targets_and_weights_of_other_types_are_refused(name):
    kind = getattr(legacy, name)
    message = (
        f"legacy.{name}: expected target of a real floating-point dtype, got torch.int64; "
        "convert it, for example with target.to(torch.float32)"
    )
    with pytest.raises(TypeError, match=exactly(message)):
        kind(torch.ones(1, 2, 2, dtype=torch.int64), 1)
    message = (
        f"legacy.{name}: expected weight to be a Python number, got Tensor; "
        "multiply the result where a tensor is meant"
    )
    with pytest.raises(TypeError, match=exactly(message)):
        kind(torch.ones(1, 2, 2), torch.tensor(1.0))
    message = f"legacy.{name}: expected a finite weight, got inf"
    with pytest.raises(ValueError, match=exactly(message)):
        kind(torch.ones(1, 2, 2), math.inf)


def test_features_are_no_target_of_a_style():
    message = "legacy.StyleLoss: expected target of shape (N, C, C), got (1, 3, 4)"
    with pytest.raises(ValueError, match=exactly(message)):
        legacy.StyleLoss(torch.ones(1, 3, 4), 1)


@pytest.mark.parametrize("weight", WEIGHTS)
def test_the_equivalent_weight_is_the_square(weight):
    assert equivalent_weight(weight) == weight * weight


@pytest.mark.parametrize("weight", [True, "3", torch.tensor(3.0)])
def test_an_equivalent_of_no_number_is_refused(weight):
    message = (
        "equivalent_weight: expected old to be a Python number, "
        f"got {type(weight).__name__}; multiply the result where a tensor is meant"
    )
    with pytest.raises(TypeError, match=exactly(message)):
        equivalent_weight(weight)


def test_an_equivalent_of_infinity_is_refused():
    with pytest.raises(
        ValueError, match=exactly("equivalent_weight: expected a finite old, got -inf")
    ):
        equivalent_weight(-math.inf)
