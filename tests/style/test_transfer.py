"""A run descends on the losses that it states, keeps its best picture, and can be repeated."""

import dataclasses
import math

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from backpass.losses import ContentLoss, StyleLoss, total_variation_loss
from backpass.style import Progress, StyleTransfer, efficientnet_lite0, features, ladder, pattern
from helpers import exactly

CONTENT = torch.rand(1, 3, 36, 48, generator=torch.Generator().manual_seed(0))
STYLE = pattern("glass", 44)
LAYERS = {"content_layers": ["3"], "style_layers": ["1", "3"]}
each_optimizer = pytest.mark.parametrize("optimizer", ["adam", "lbfgs"])


def tiny(scale=1.0):
    """Return a small network, whose features may be multiplied by a number."""

    class Scaled(nn.Tanh):
        def forward(self, input):
            return scale * super().forward(input)

    torch.manual_seed(0)
    first, second = nn.Conv2d(3, 4, 3, padding=1), nn.Conv2d(4, 6, 3, stride=2, padding=1)
    with torch.no_grad():
        second.weight /= scale
    return nn.Sequential(first, Scaled(), second, Scaled())


def transfer(network=None, **settings):
    return StyleTransfer(network or tiny(), **{**LAYERS, "margin": 0, **settings})


def trace(made, *arguments, **settings):
    """Return every Progress of a run, and its picture."""
    seen = []
    settings = {"sizes": [48], "steps": 3, **settings}
    picture = made.run(*(arguments or (CONTENT, STYLE)), callback=seen.append, **settings)
    return seen, picture


def resized(picture, height, width):
    return F.interpolate(picture, (height, width), mode="bicubic", antialias=True).clamp(0, 1)


def gram(features):
    rows = features.flatten(2)[0]
    return (rows @ rows.T)[None] / rows.numel()


def stated(network, canvas, content, style, *, shift=-1.0, content_weight=0.03, variation=0.3):
    """Return the losses of a canvas by the formula of the docstring."""
    seen, kept, wanted = (
        features(network, picture, ["1", "3"]) for picture in (canvas, content, style)
    )
    losses = {}
    for layer in ("1", "3"):
        target = gram(wanted[layer] + shift)
        difference = gram(seen[layer] + shift) - target
        losses[f"style {layer}"] = 0.5 * difference.square().sum() / target.square().sum()
    difference = seen["3"] - kept["3"]
    losses["content 3"] = content_weight * difference.square().sum() / kept["3"].square().sum()
    losses["variation"] = total_variation_loss(canvas, weight=variation)
    return {name: loss.item() for name, loss in losses.items()}


def started(content, seed=0):
    noise = torch.randn(content.shape, generator=torch.Generator().manual_seed(seed))
    return (content + 0.05 * noise).clamp(0, 1)


# What is minimised


@pytest.mark.parametrize("margin", [0, 16])
@pytest.mark.parametrize("shift", [0.0, -1.0])
def test_the_first_losses_are_those_of_the_formula(margin, shift):
    made = transfer(style_shift=shift, margin=margin, content_weight=0.2, variation_weight=0.7)
    (first, *_), _ = trace(made, sizes=[64])
    content, style = resized(CONTENT, 48, 64), resized(STYLE, 64, 64)
    content, canvas = (
        F.pad(picture, [margin] * 4, mode="reflect") for picture in (content, started(content))
    )
    expected = stated(
        made.network, canvas, content, style, shift=shift, content_weight=0.2, variation=0.7
    )
    assert first.losses == pytest.approx(expected, rel=1e-4)


def test_plain_losses_with_weights_are_the_same():
    made = transfer(style_layers={"1": 3.0, "3": 1.0})
    (first, *_), _ = trace(made)
    style = features(made.network, resized(STYLE, 48, 48), ["1", "3"])
    content = features(made.network, CONTENT, ["3"])["3"]
    canvas = started(CONTENT)
    seen = features(made.network, canvas, ["1", "3"])
    expected = total_variation_loss(canvas, weight=0.3)
    for layer, share in {"1": 0.75, "3": 0.25}.items():
        weight = share / gram(style[layer] - 1).square().mean().item()
        criterion = StyleLoss.from_features(style[layer] - 1, weight=weight)
        expected = expected + criterion(seen[layer] - 1)
    weight = 0.03 / content.square().mean().item()
    expected = expected + ContentLoss(content, weight=weight)(seen["3"])
    assert first.loss == pytest.approx(expected.item(), rel=1e-4)


def test_the_features_scale_changes_nothing_so_weights_carry_over():
    plain, _ = trace(transfer(style_shift=0), steps=5)
    scaled, _ = trace(transfer(tiny(10.0), style_shift=0), steps=5)
    for one, other in zip(plain, scaled, strict=True):
        assert one.losses == pytest.approx(other.losses, rel=2e-2)
    assert plain[0].losses == pytest.approx(scaled[0].losses, rel=1e-4)


def test_the_weights_of_style_layers_are_shares_and_those_of_content_layers_factors():
    equal, _ = trace(transfer(content_layers=["1", "3"]))
    same, _ = trace(transfer(style_layers={"1": 5, "3": 5}, content_layers={"1": 1, "3": 1}))
    assert equal[-1].losses == same[-1].losses
    other, _ = trace(transfer(style_layers={"1": 1, "3": 3}, content_layers={"1": 2, "3": 1}))
    ratios = {name: other[0].losses[name] / equal[0].losses[name] for name in other[0].losses}
    assert ratios == pytest.approx(
        {"style 1": 0.5, "style 3": 1.5, "content 1": 2, "content 3": 1, "variation": 1}
    )


def test_a_weight_of_zero_takes_a_term_out():
    seen, _ = trace(transfer(content_weight=0, variation_weight=0))
    assert {name for name, loss in seen[-1].losses.items() if loss == 0} == {
        "content 3",
        "variation",
    }


def test_a_target_of_zeros_divides_by_little_and_not_by_zero():
    network = nn.Sequential(nn.ReLU(), nn.ReLU())
    made = StyleTransfer(network, ["0"], ["1"], style_shift=0, margin=0)
    seen, picture = trace(made, CONTENT, torch.zeros(1, 3, 48, 48))
    assert math.isfinite(seen[-1].loss)
    assert picture.isfinite().all()


def test_with_the_packaged_network_the_style_loss_falls_to_a_fifth_in_30_steps():
    made = StyleTransfer()
    seen, picture = trace(made, pattern("rings", 64), STYLE, sizes=[64], steps=30)
    first, last = (
        sum(loss for name, loss in progress.losses.items() if name.startswith("style"))
        for progress in (seen[0], seen[-1])
    )
    assert last < first / 5
    assert picture.shape == (1, 3, 64, 64)
    assert list(seen[0].losses) == [
        *(f"style {layer}" for layer in made.network.style_layers), "content block4", "variation",
    ]  # fmt: skip


# What is reported and returned


def test_the_callback_hears_of_every_step_of_every_size():
    seen, _ = trace(transfer(), STYLE, STYLE, sizes=[32, 48, 40], steps=[2, 1, 3])
    assert [(now.size, now.step, now.steps) for now in seen] == [
        (32, 1, 2), (32, 2, 2), (48, 1, 1), (40, 1, 3), (40, 2, 3), (40, 3, 3),
    ]  # fmt: skip
    shapes = {now.size: tuple(now.picture.shape) for now in seen}
    assert shapes == {32: (1, 3, 32, 32), 48: (1, 3, 48, 48), 40: (1, 3, 40, 40)}


@each_optimizer
def test_the_losses_are_those_of_the_picture_and_the_smallest_so_far(optimizer):
    made = transfer(optimizer=optimizer)
    seen, picture = trace(made, steps=40)
    style = resized(STYLE, 48, 48)
    for now in seen if optimizer == "adam" else seen[:1]:  # L-BFGS leaves [0, 1] on its way
        expected = stated(made.network, now.picture, CONTENT, style)
        assert now.losses == pytest.approx(expected, rel=1e-3, abs=1e-7)
    losses = [now.loss for now in seen]
    assert losses == sorted(losses, reverse=True)
    assert losses[-1] < losses[0] / 2
    assert torch.equal(picture, seen[-1].picture)


def test_the_best_picture_is_kept_where_a_step_makes_it_worse():
    class Restless(nn.Module):
        """Its features are the picture, and ten times it in the calls from the sixth on."""

        def __init__(self):
            super().__init__()
            self.layer = nn.Identity()
            self.calls = 0

        def forward(self, picture):
            self.calls += 1
            return self.layer(picture * (10 if self.calls > 5 else 1))

    made = StyleTransfer(Restless(), ["layer"], ["layer"], margin=0)
    seen, picture = trace(made, steps=6)  # two calls are for the targets
    assert [now.loss for now in seen[2:]] == [seen[2].loss] * 4
    assert seen[1].loss > seen[2].loss
    assert torch.equal(picture, seen[2].picture)


def test_the_loss_is_the_sum_and_a_progress_cannot_be_changed():
    now = Progress(48, 1, 2, {"style 1": 0.5, "variation": 0.25}, STYLE)
    assert now.loss == 0.75
    with pytest.raises(dataclasses.FrozenInstanceError):
        now.step = 3


def test_a_finer_stage_takes_smaller_steps():
    seen, _ = trace(transfer(content_weight=0.0), STYLE, STYLE.flip(1), sizes=[48, 96], steps=2)
    moved = [(b.picture - a.picture).abs().max() for a, b in (seen[:2], seen[2:])]
    # The first step of Adam moves each pixel by its rate.
    torch.testing.assert_close(moved, [torch.tensor(0.03), torch.tensor(0.015)], rtol=1e-3, atol=0)


@pytest.mark.parametrize(
    ("content", "shape"),
    [((36, 48), (72, 96)), ((48, 36), (96, 72)), ((200, 300), (64, 96)), ((1, 1), (96, 96))],
)
@pytest.mark.parametrize("style", [(35, 90), (70, 40), (1, 1)])
def test_the_longer_side_is_the_last_size_whatever_the_sizes_of_the_pictures(content, shape, style):
    pictures = torch.rand(1, 3, *content), torch.rand(1, 3, *style)
    _, painted = trace(transfer(), *pictures, sizes=[84, 96], steps=1)
    assert painted.shape == (1, 3, *shape)


def test_nobody_needs_to_listen():
    picture = transfer().run(CONTENT, STYLE, sizes=[48], steps=3)
    assert torch.equal(picture, trace(transfer())[1])


def test_the_result_is_a_plain_picture():
    content = CONTENT.clone().requires_grad_()
    _, picture = trace(transfer(margin=8), content, STYLE)
    assert not picture.requires_grad
    assert 0 <= picture.min() < picture.max() <= 1
    assert content.grad is None
    torch.testing.assert_close(content.detach(), CONTENT, rtol=0, atol=0)


class Shapes(nn.Module):
    """Keep the shapes of the pictures that it is called with."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Identity()
        self.seen = []

    def forward(self, picture):
        self.seen.append(tuple(picture.shape[2:]))
        return self.layer(picture)


def test_the_canvas_has_a_margin_and_the_style_its_own_scale():
    network = Shapes()
    made = StyleTransfer(network, ["layer"], ["layer"], style_scale=1.5, margin=5)
    _, picture = trace(made, sizes=[48, 64], steps=1)
    assert network.seen == [(72, 72), (46, 58), (46, 58), (96, 96), (58, 74), (58, 74)]
    assert picture.shape == (1, 3, 48, 64)


def test_a_network_runs_no_further_than_the_last_layer():
    class Exploding(nn.Module):
        def forward(self, input):
            raise AssertionError("this layer is not needed")

    seen, _ = trace(transfer(nn.Sequential(*tiny(), Exploding())))
    assert len(seen) == 3


def test_a_network_without_parameters_works_as_the_content_says():
    made = StyleTransfer(nn.Sequential(nn.AvgPool2d(2), nn.ReLU()), ["0"], ["0", "1"])
    for dtype in (torch.float32, torch.float64):
        _, picture = trace(made, CONTENT.to(dtype), STYLE)
        assert picture.dtype == dtype


def test_a_network_says_in_which_precision_to_compute():
    seen, picture = trace(transfer(tiny().double()))
    assert picture.dtype == torch.float64
    single, _ = trace(transfer())
    assert seen[-1].losses == pytest.approx(single[-1].losses, rel=1e-3)


def test_a_network_may_name_its_layers_itself():
    network = tiny()
    network.content_layers, network.style_layers = ("3",), ("1",)
    made = StyleTransfer(network, margin=0)
    assert (made.content_layers, made.style_layers) == ({"3": 1.0}, {"1": 1.0})
    assert StyleTransfer(network, style_layers=["0", "3"]).style_layers == {"0": 1.0, "3": 1.0}


def test_a_network_is_left_as_it_was():
    network = tiny().train()
    network[2].requires_grad_(requires_grad=False)
    before = {key: value.clone() for key, value in network.state_dict().items()}
    trace(transfer(network))
    assert network.training
    assert [parameter.requires_grad for parameter in network.parameters()] == [
        True,
        True,
        False,
        False,
    ]
    assert all(parameter.grad is None for parameter in network.parameters())
    torch.testing.assert_close(dict(network.state_dict()), before, rtol=0, atol=0)
    assert not any(module._forward_hooks for module in network.modules())


# Several styles


def test_a_style_with_almost_the_whole_share_is_that_style():
    other = pattern("rings", 48)
    alone, _ = trace(transfer())
    both, _ = trace(transfer(), CONTENT, [STYLE, other], style_weights=[1, 1e-9])
    assert both[-1].losses == pytest.approx(alone[-1].losses, rel=1e-4)
    equal, _ = trace(transfer(), CONTENT, [STYLE, other])
    assert equal[0].loss != pytest.approx(alone[0].loss, rel=1e-2)


def test_the_order_of_styles_and_a_factor_of_their_weights_are_no_concern():
    other = pattern("rings", 48)
    one, _ = trace(transfer(), CONTENT, [STYLE, other], style_weights=[3, 1])
    two, _ = trace(transfer(), CONTENT, (other, STYLE), style_weights=(0.5, 1.5))
    for first, second in zip(one, two, strict=True):
        assert first.losses == pytest.approx(second.losses, rel=1e-4)


def test_styles_have_equal_weights_by_default():
    styles = [STYLE, pattern("rings", 48)]
    default, _ = trace(transfer(), CONTENT, styles)
    equal, _ = trace(transfer(), CONTENT, styles, style_weights=[2, 2])
    assert default[-1].losses == equal[-1].losses


# The content's colours


def test_kept_colours_are_those_of_the_content_where_nothing_is_clamped():
    _, picture = trace(transfer(colour="keep"), steps=20)
    free = ((picture > 0) & (picture < 1)).all(1, keepdim=True).expand_as(picture)
    weights = torch.tensor([0.299, 0.587, 0.114]).view(1, 3, 1, 1)

    def chroma(rgb):
        return rgb - (rgb * weights).sum(1, keepdim=True)

    assert free.float().mean() > 0.3
    torch.testing.assert_close(chroma(picture)[free], chroma(CONTENT)[free], rtol=0, atol=1e-5)
    _, painted = trace(transfer(), steps=20)
    assert (chroma(painted) - chroma(CONTENT)).abs().mean() > 0.02
    moved = ((picture - CONTENT) * weights).sum(1).abs().mean()
    assert moved > 0.02


def test_keeping_the_colours_changes_nothing_in_the_descent():
    kept, _ = trace(transfer(colour="keep"), sizes=[48, 64])
    free, _ = trace(transfer(), sizes=[48, 64])
    assert [now.losses for now in kept] == [now.losses for now in free]


# Repetition


@each_optimizer
def test_the_same_seed_gives_the_same_picture_bit_for_bit(optimizer):
    made = transfer(optimizer=optimizer)
    _, first = trace(made, seed=3)
    torch.rand(7)
    _, again = trace(made, seed=3)
    assert torch.equal(first, again)
    _, other = trace(made, seed=4)
    assert not torch.equal(first, other)


def test_the_global_generator_is_left_alone():
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    made = StyleTransfer(nn.Sequential(nn.ReLU()), ["0"], ["0"])
    trace(made)
    assert torch.equal(torch.rand(3), expected)


@each_optimizer
def test_the_strides_of_a_picture_are_no_concern(optimizer):
    expected, _ = trace(transfer(optimizer=optimizer))
    rows = CONTENT[0].permute(1, 2, 0).contiguous()  # as a picture comes from NumPy
    for content in (
        CONTENT.to(memory_format=torch.channels_last),
        rows.permute(2, 0, 1)[None],
        torch.stack([CONTENT, CONTENT], -1)[..., 0],
    ):
        style = STYLE.to(memory_format=torch.channels_last)
        actual, _ = trace(transfer(optimizer=optimizer), content, style)
        assert actual[-1].losses == pytest.approx(expected[-1].losses, rel=1e-3)


def test_a_run_works_where_gradients_are_switched_off():
    expected, _ = trace(transfer())
    with torch.no_grad():
        actual, _ = trace(transfer())
    assert actual[-1].losses == expected[-1].losses


def test_steps_are_taken_when_they_are_asked_for():
    network = Shapes()
    made = StyleTransfer(network, ["layer"], ["layer"], margin=0)
    steps = made.steps(CONTENT, STYLE, sizes=[48], steps=5)
    assert network.seen == []
    next(steps)
    assert len(network.seen) == 3
    assert [now.step for now in steps] == [2, 3, 4, 5]


# Interrupts


@pytest.mark.parametrize(("size", "step", "shape"), [(48, 2, (36, 48)), (64, 1, (48, 64))])
def test_an_interrupt_returns_the_best_picture_so_far(size, step, shape):
    seen = []

    def interrupt(now):
        seen.append(now)
        if (now.size, now.step) == (size, step):
            raise KeyboardInterrupt

    picture = transfer().run(CONTENT, STYLE, sizes=[48, 64], steps=3, callback=interrupt)
    assert picture.shape == (1, 3, *shape)
    assert torch.equal(picture, seen[-1].picture)
    complete, _ = trace(transfer(), sizes=[48, 64])
    assert seen[-1].losses == complete[len(seen) - 1].losses


def test_an_interrupt_within_a_step_returns_the_picture_before_it():
    class Interrupting(Shapes):
        def forward(self, picture):
            if len(self.seen) == 4:  # two for the targets, two for steps
                raise KeyboardInterrupt
            return super().forward(picture)

    made = StyleTransfer(Interrupting(), ["layer"], ["layer"], margin=0)
    seen, picture = trace(made, steps=9)
    assert len(seen) == 2
    assert torch.equal(picture, seen[-1].picture)


def test_an_interrupt_before_the_first_step_is_passed_on():
    class Interrupting(Shapes):
        def forward(self, picture):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        trace(StyleTransfer(Interrupting(), ["layer"], ["layer"]))


# Sizes


def test_a_ladder_doubles_from_128_to_the_size():
    assert {size: ladder(size) for size in (32, 128, 129, 256, 384, 512, 1000)} == {
        32: [32],
        128: [128],
        129: [128, 129],
        256: [128, 256],
        384: [128, 256, 384],
        512: [128, 256, 512],
        1000: [128, 256, 512, 1000],
    }


# Other devices


@pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no CUDA device")
@each_optimizer
def test_a_run_on_cuda_descends_as_that_on_the_cpu(optimizer):
    run = {"sizes": [64], "steps": 5}
    expected, _ = trace(StyleTransfer(optimizer=optimizer), CONTENT, STYLE, **run)
    network = efficientnet_lite0().cuda()
    actual, picture = trace(StyleTransfer(network, optimizer=optimizer), CONTENT, STYLE, **run)
    assert picture.is_cuda
    assert actual[0].losses == pytest.approx(expected[0].losses, rel=1e-3)
    assert actual[-1].loss == pytest.approx(expected[-1].loss, rel=0.05)


# What is refused

SETTINGS = [
    ({"network": 3}, TypeError, "expected network to be a torch.nn.Module, got int"),
    (
        {"style_layers": "stem"},
        ValueError,
        (
            "expected style_layers to name layers, got 'stem'; "
            "pass a list of names from network.named_modules()"
        ),
    ),
    (
        {"content_layers": []},
        ValueError,
        (
            "expected content_layers to name layers, got []; "
            "pass a list of names from network.named_modules()"
        ),
    ),
    (
        {"style_layers": None},
        ValueError,
        (
            "expected style_layers to name layers, got (); "
            "pass a list of names from network.named_modules()"
        ),
    ),
    ({"style_layers": 5}, TypeError, "expected style_layers to be a list, got int"),
    ({"style_layers": {"1": 0}}, ValueError, "expected a positive weight of '1', got 0"),
    (
        {"style_layers": {"1": "2"}},
        TypeError,
        (
            "expected weight of '1' to be a Python number, got str; "
            "multiply the result where a tensor is meant"
        ),
    ),
    ({"content_weight": -1}, ValueError, "expected a non-negative content_weight, got -1"),
    ({"variation_weight": -0.1}, ValueError, "expected a non-negative variation_weight, got -0.1"),
    (
        {"content_weight": torch.ones(())},
        TypeError,
        (
            "expected content_weight to be a Python number, got Tensor; "
            "multiply the result where a tensor is meant"
        ),
    ),
    ({"content_weight": math.nan}, ValueError, "expected a finite content_weight, got nan"),
    ({"style_scale": 0}, ValueError, "expected a positive style_scale, got 0"),
    ({"style_shift": math.inf}, ValueError, "expected a finite style_shift, got inf"),
    ({"colour": "grey"}, ValueError, "expected colour 'style' or 'keep', got 'grey'"),
    ({"optimizer": "sgd"}, ValueError, "expected optimizer 'adam' or 'lbfgs', got 'sgd'"),
    ({"margin": -1}, ValueError, "expected margin of at least 0, got -1"),
    ({"margin": 1.5}, TypeError, "expected margin to be a whole number, got float"),
]


@pytest.mark.parametrize(("settings", "kind", "message"), SETTINGS)
def test_senseless_settings_are_refused(settings, kind, message):
    with pytest.raises(kind, match=exactly(f"StyleTransfer: {message}")):
        StyleTransfer(**{"network": tiny(), **LAYERS, **settings})


PER_SIZE = "expected a number of steps for each of one or more sizes"
RUNS = [
    ({"sizes": []}, ValueError, f"{PER_SIZE}, got 0 for 0"),
    ({"steps": [1, 2]}, ValueError, f"{PER_SIZE}, got 2 for 1"),
    ({"sizes": 48}, TypeError, "expected sizes to be a list, got int"),
    ({"sizes": [48.0]}, TypeError, "expected size to be a whole number, got float"),
    ({"sizes": [31]}, ValueError, "expected size of at least 32, got 31"),
    ({"steps": 0}, ValueError, "expected steps of at least 1, got 0"),
    ({"steps": 1.5}, TypeError, "expected steps to be a list, got float"),
    ({"steps": True}, TypeError, "expected steps to be a whole number, got bool"),
    ({"seed": -1}, ValueError, "expected seed of at least 0, got -1"),
    ({"seed": 2**63}, ValueError, f"expected seed below 2**63, got {2**63}"),
    ({"seed": None}, TypeError, "expected seed to be a whole number, got NoneType"),
    (
        {"style": []},
        ValueError,
        "expected one style weight for each of one or more styles, got 0 for 0",
    ),
    (
        {"style_weights": [1, 2]},
        ValueError,
        "expected one style weight for each of one or more styles, got 2 for 1",
    ),
    ({"style_weights": [0]}, ValueError, "expected a positive style weight, got 0"),
    ({"style_weights": 1}, TypeError, "expected style_weights to be a list, got int"),
    ({"style": None}, TypeError, "expected style to be a list, got NoneType"),
    (
        {"style": ["a.png"]},
        TypeError,
        "expected style to be a torch.Tensor, got str; wrap it in torch.as_tensor",
    ),
    (
        {"content": torch.zeros(1, 3, 48, 48, dtype=torch.uint8)},
        TypeError,
        (
            "expected content of a real floating-point dtype, got torch.uint8; "
            "convert it, for example with content.to(torch.float32)"
        ),
    ),
    (
        {"content": CONTENT[0]},
        ValueError,
        "expected content of shape (1, 3, H, W), got (3, 36, 48)",
    ),
    (
        {"style": STYLE.expand(2, -1, -1, -1)},
        ValueError,
        "expected style of shape (1, 3, H, W), got (2, 3, 44, 44)",
    ),
    (
        {"content": torch.zeros(1, 3, 0, 8)},
        ValueError,
        "expected content of shape (1, 3, H, W), got (1, 3, 0, 8)",
    ),
    (
        {"content": 255 * torch.ones(1, 3, 48, 48)},
        ValueError,
        "expected content with values in [0, 1], got 255 to 255; divide bytes by 255",
    ),
    (
        {"style": torch.full((1, 3, 48, 48), math.nan)},
        ValueError,
        "expected style with values in [0, 1], got nan to nan; divide bytes by 255",
    ),
    (
        {"content": torch.zeros(1, 3, 10, 100)},
        ValueError,
        "expected content of at least 32 pixels on each side at size 48, got 5 x 48 from 10 x 100",
    ),
    (
        {"style": torch.zeros(1, 3, 100, 20)},
        ValueError,
        "expected style of at least 32 pixels on each side at size 48, got 48 x 10 from 100 x 20",
    ),
]


@pytest.mark.parametrize(("arguments", "kind", "message"), RUNS)
def test_senseless_arguments_of_a_run_are_refused(arguments, kind, message):
    arguments = {"content": CONTENT, "style": STYLE, "sizes": [48], "steps": 1, **arguments}
    with pytest.raises(kind, match=exactly(f"StyleTransfer: {message}")):
        transfer().run(**arguments)


def test_a_margin_that_reaches_across_the_picture_is_refused():
    message = "StyleTransfer: expected a margin smaller than the picture, got 36 for 36 x 48"
    with pytest.raises(ValueError, match=exactly(message)):
        trace(transfer(margin=36))
    trace(transfer(margin=35), steps=1)


def test_a_layer_that_the_network_does_not_have_is_refused():
    message = "features: expected a layer of the network, got '7'; it has 0, 1, 2, 3"
    with pytest.raises(ValueError, match=exactly(message)):
        trace(transfer(style_layers=["7"]))


def test_a_network_with_nan_is_an_error_and_not_a_black_picture():
    network = tiny()
    with torch.no_grad():
        network[2].bias[0] = math.nan
    message = (
        "StyleTransfer: expected finite features, got NaN or infinity; look for them in the "
        "network's parameters"
    )
    with pytest.raises(ValueError, match=exactly(message)):
        trace(transfer(network))


@each_optimizer
def test_weights_that_overflow_are_an_error(optimizer):
    message = "StyleTransfer: expected a finite loss, got NaN or infinity; make the weights smaller"
    with pytest.raises(ValueError, match=exactly(message)):
        trace(transfer(variation_weight=1e300, optimizer=optimizer))
