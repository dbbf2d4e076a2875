"""style_loss and its two Modules: the 0.4 tutorial's value, invariants, and what they refuse."""

import copy
import math
import pickle

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn
from torch.testing import assert_close

from backpass.functions import gram_matrix
from backpass.losses import StyleLoss, StyleRecorder, style_loss
from helpers import Operations, exactly

each_module = pytest.mark.parametrize("kind", [StyleLoss, StyleRecorder])


def drawn(*shape, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(shape, dtype=torch.float64, generator=generator)


def loss_of(module, input):
    """Return the loss that a Module returns or keeps."""
    result = module(input)
    return getattr(module, "loss", result)


def tutorial_gram(features):
    """Compute the Gram matrix as PyTorch's 0.4 tutorial defines it."""
    a, b, c, d = features.shape
    rows = features.reshape(a * b, c * d)
    return torch.mm(rows, rows.t()) / (a * b * c * d)


def test_for_one_sample_the_value_is_that_of_the_tutorial():
    x, style = drawn(1, 3, 4, 5), drawn(1, 3, 6, 2, seed=1)
    expected = torch.mean((tutorial_gram(x) - tutorial_gram(style)) ** 2)
    assert_close(StyleLoss.from_features(style)(x), expected)


def test_for_many_samples_it_is_the_mean_of_the_single_losses():
    x, gram = drawn(4, 3, 5), gram_matrix(drawn(4, 3, 5, seed=1), scale=1 / 15)
    single = [style_loss(x[k : k + 1], gram[k : k + 1]) for k in range(4)]
    assert_close(style_loss(x, gram), torch.stack(single).mean())


def test_one_style_for_many_samples_is_an_expanded_target():
    x = drawn(4, 3, 5)
    gram = gram_matrix(drawn(1, 3, 5, seed=1), scale=1 / 15)
    assert_close(style_loss(x, gram.expand(4, 3, 3)), style_loss(x, gram.repeat(4, 1, 1)))


def test_the_gradient_is_the_formula_of_the_docstring():
    n, c, p, w = 2, 3, 5, 0.5
    x, target = drawn(n, c, p).requires_grad_(), drawn(n, c, c, seed=1)
    (grad,) = torch.autograd.grad(style_loss(x, target, weight=w), x)
    difference = x.detach() @ x.detach().mT / (c * p) - target
    factor = 2 * w / (n * c**3 * p)
    assert_close(grad, factor * (difference + difference.mT) @ x.detach())


@given(st.integers(0, 2**16))
def test_the_order_of_the_pixels_does_not_matter(seed):
    x, style = drawn(1, 3, 8, seed=seed), drawn(1, 3, 8, seed=seed + 1)
    shuffled = x[..., torch.randperm(8, generator=torch.Generator().manual_seed(seed))]
    criterion = StyleLoss.from_features(style)
    assert_close(criterion(shuffled), criterion(x))


@given(st.integers(0, 2**16), st.floats(-4, 4))
def test_the_reductions_agree(seed, weight):
    x, gram = drawn(2, 3, 4, seed=seed), drawn(2, 3, 3, seed=seed + 1)
    each = style_loss(x, gram, weight=weight, reduction="none")
    assert_close(style_loss(x, gram, weight=weight, reduction="sum"), each.sum())
    assert_close(style_loss(x, gram, weight=weight), each.mean())


def test_features_that_tile_the_style_have_no_loss():
    style = drawn(1, 3, 4)
    assert_close(
        StyleLoss.from_features(style)(style.repeat(1, 1, 3)),
        drawn().new_zeros(()),
        atol=1e-30,
        rtol=0,
    )


def test_the_backward_has_one_product():
    x = drawn(1, 3, 8).requires_grad_()
    loss = style_loss(x, drawn(1, 3, 3, seed=1))
    with Operations() as operations:
        loss.backward()
    assert operations.products == 1


@each_module
@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_the_module_gives_the_loss_of_the_function(kind, reduction):
    x, gram = drawn(2, 3, 4), drawn(2, 3, 3, seed=1)
    module = kind(gram, weight=2, reduction=reduction)
    assert_close(loss_of(module, x), style_loss(x, gram, weight=2, reduction=reduction))


@each_module
def test_from_features_takes_their_normalised_gram_matrix(kind):
    style = drawn(1, 3, 4, 5).requires_grad_()
    module = kind.from_features(style, weight=2, reduction="sum")
    assert type(module) is kind
    assert (module.weight, module.reduction) == (2.0, "sum")
    assert not module.target_gram.requires_grad
    assert_close(module.target_gram, tutorial_gram(style.detach())[None])


@each_module
def test_from_features_takes_vectors_too(kind):
    module = kind.from_features(torch.tensor([[2.0, 1.0]]))
    assert_close(module.target_gram, torch.tensor([[[2.0, 1.0], [1.0, 0.5]]]))


@each_module
def test_from_features_and_forward_agree_under_autocast(kind):
    style = drawn(1, 3, 8).float()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        module = kind.from_features(style)
        loss = loss_of(module, style)
    assert module.target_gram.dtype == torch.float32
    assert loss.dtype == torch.float32
    assert loss == 0
    assert loss_of(module, style) < 1e-4  # outside autocast the dtypes fit as well


@each_module
def test_the_target_is_a_detached_copy(kind):
    gram = drawn(1, 3, 3).requires_grad_()
    module = kind(gram)
    assert not module.target_gram.requires_grad
    with torch.no_grad():
        gram.zero_()
    assert module.target_gram.count_nonzero() == 9


@each_module
def test_the_target_is_state_and_the_weight_is_not(kind):
    gram = drawn(1, 3, 3)
    state = kind(gram, weight=5).state_dict()
    assert_close(dict(state), {"target_gram": gram})
    other = kind(torch.zeros(1, 3, 3, dtype=torch.float64))
    other.load_state_dict(state)
    assert_close(other.target_gram, gram)


@each_module
def test_the_target_follows_to_another_dtype(kind):
    assert kind(drawn(1, 3, 3)).to(torch.float32).target_gram.dtype == torch.float32


@each_module
def test_repr_gives_the_arguments(kind):
    shown = repr(kind(drawn(1, 3, 3), weight=2, reduction="sum"))
    assert shown == f"{kind.__name__}(target_gram=(1, 3, 3), weight=2.0, reduction='sum')"


@each_module
def test_copies_give_the_same_loss_even_after_a_forward(kind):
    module, x = kind(drawn(1, 3, 3), weight=2), drawn(1, 3, 4).requires_grad_()
    before = loss_of(module, x)
    for twin in (copy.deepcopy(module), pickle.loads(pickle.dumps(module))):
        assert getattr(twin, "loss", None) is None
        assert_close(loss_of(twin, x), before)


def test_the_recorder_returns_the_input_itself_and_keeps_the_loss():
    x, gram = drawn(1, 3, 4).requires_grad_(), drawn(1, 3, 3, seed=1)
    layer = StyleRecorder(gram, weight=2)
    assert layer.loss is None
    assert layer(x) is x
    assert_close(layer.loss, style_loss(x, gram, weight=2))


def test_recorders_in_a_network_are_summed_for_one_backward():
    x = drawn(1, 3, 4).requires_grad_()
    first, second = StyleRecorder(drawn(1, 3, 3)), StyleRecorder(drawn(1, 3, 3, seed=1), weight=3)
    y = nn.Sequential(nn.Tanh(), first, nn.Tanh(), second)(x)
    assert_close(y, x.tanh().tanh())
    (grad,) = torch.autograd.grad(first.loss + second.loss, x)
    expected = style_loss(x.tanh(), first.target_gram) + style_loss(
        x.tanh().tanh(), second.target_gram, weight=3
    )
    assert_close(grad, *torch.autograd.grad(expected, x))


@pytest.mark.parametrize(
    ("input", "gram", "message"),
    [
        ((3,), (1, 3, 3), "input of shape (N, C, *spatial), got (3,)"),
        ((1, 3, 4), (3, 3), "target_gram of shape (1, 3, 3), got (3, 3)"),
        ((2, 3, 4), (1, 3, 3), "target_gram of shape (2, 3, 3), got (1, 3, 3)"),
        ((1, 3, 4), (1, 3, 4), "target_gram of shape (1, 3, 3), got (1, 3, 4)"),
    ],
)
def test_a_shape_that_does_not_fit_is_refused(input, gram, message):
    with pytest.raises(ValueError, match=exactly(f"style_loss: expected {message}")):
        style_loss(torch.ones(input), torch.ones(gram))


def test_types_that_do_not_fit_are_refused():
    message = (
        "style_loss: expected target_gram of dtype torch.float32 as input, got torch.float64; "
        "convert one of them with .to()"
    )
    with pytest.raises(TypeError, match=exactly(message)):
        style_loss(torch.ones(1, 2, 3), torch.ones(1, 2, 2, dtype=torch.float64))
    message = (
        "style_loss: expected input of a real floating-point dtype, got torch.complex64; "
        "convert it, for example with input.to(torch.float32)"
    )
    with pytest.raises(TypeError, match=exactly(message)):
        style_loss(torch.ones(1, 2, 3, dtype=torch.complex64), torch.ones(1, 2, 2))


def test_devices_that_differ_are_refused():
    message = (
        "style_loss: expected target_gram on cpu as input, got meta; move one of them with .to()"
    )
    with pytest.raises(ValueError, match=exactly(message)):
        style_loss(torch.ones(1, 2, 3), torch.ones(1, 2, 2, device="meta"))


def test_a_weight_or_a_reduction_that_is_none_is_refused():
    x, gram = torch.ones(1, 2, 3), torch.ones(1, 2, 2)
    message = (
        "style_loss: expected weight to be a Python number, got Tensor; "
        "multiply the result where a tensor is meant"
    )
    with pytest.raises(TypeError, match=exactly(message)):
        style_loss(x, gram, weight=torch.tensor(1.0))
    message = "style_loss: expected a finite weight, got nan"
    with pytest.raises(ValueError, match=exactly(message)):
        style_loss(x, gram, weight=math.nan)
    message = "style_loss: expected reduction 'mean', 'sum' or 'none', got None"
    with pytest.raises(ValueError, match=exactly(message)):
        style_loss(x, gram, reduction=None)


@each_module
def test_a_module_refuses_at_birth_what_its_function_would(kind):
    gram = torch.ones(1, 2, 2)
    message = (
        f"{kind.__name__}: expected target_gram of a real floating-point dtype, got torch.int64; "
        "convert it, for example with target_gram.to(torch.float32)"
    )
    with pytest.raises(TypeError, match=exactly(message)):
        kind(gram.long())
    message = f"{kind.__name__}: expected a finite weight, got inf"
    with pytest.raises(ValueError, match=exactly(message)):
        kind(gram, weight=math.inf)
    message = f"{kind.__name__}: expected reduction 'mean', 'sum' or 'none', got 'median'"
    with pytest.raises(ValueError, match=exactly(message)):
        kind(gram, reduction="median")


@each_module
def test_a_module_takes_no_features_for_a_gram_matrix(kind):
    message = f"{kind.__name__}: expected target_gram of shape (N, C, C), got (1, 3, 4)"
    with pytest.raises(ValueError, match=exactly(message)):
        kind(torch.ones(1, 3, 4))
    message = f"{kind.__name__}: expected features of shape (N, C, *spatial), got (3,)"
    with pytest.raises(ValueError, match=exactly(message)):
        kind.from_features(torch.ones(3))
    message = (
        f"{kind.__name__}: expected features to be a torch.Tensor, got NoneType; "
        "wrap it in torch.as_tensor"
    )
    with pytest.raises(TypeError, match=exactly(message)):
        kind.from_features(None)
