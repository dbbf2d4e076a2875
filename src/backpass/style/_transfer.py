"""Style transfer: descend from a picture towards the statistics of other pictures."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from backpass import _checks
from backpass.losses import ContentLoss, StyleLoss, total_variation_loss
from backpass.losses._style import normalised_gram
from backpass.style import _arguments
from backpass.style._arguments import SMALLEST, Layers
from backpass.style._features import features
from backpass.style._networks import efficientnet_lite0

Colour: TypeAlias = Literal["style", "keep"]
Optimizer: TypeAlias = Literal["adam", "lbfgs"]
Criteria: TypeAlias = dict[str, tuple[str, StyleLoss | ContentLoss]]


@dataclass(frozen=True)
class Progress:
    """Where a run stands after one step.

    Attributes:
        size: The longer side of the picture at this stage, in pixels.
        step: The number of the step at this size, from 1.
        steps: How many steps there are at this size.
        losses: The weighted losses, by name, of the canvas from which ``picture`` is cut.
        picture: The picture with the smallest loss at this size so far, ``(1, 3, H, W)``.

    Example:
        >>> from backpass.style import StyleTransfer, pattern
        >>> steps = StyleTransfer().steps(
        ...     pattern("rings", 64), pattern("glass", 64), sizes=[48], steps=3
        ... )
        >>> [(now.size, now.step, now.loss < 1) for now in steps]
        [(48, 1, True), (48, 2, True), (48, 3, True)]
    """

    size: int
    step: int
    steps: int
    losses: Mapping[str, float]
    picture: Tensor

    @property
    def loss(self) -> float:
        """The sum of the losses."""
        return sum(self.losses.values())


class StyleTransfer:
    r"""Give a picture the style of others, by gradient descent on its pixels.

    .. math::

        \ell = \sum_{l} \frac{s_l}{\sum_k s_k} \, \frac{\lVert G_l - A_l \rVert^2}{\lVert A_l \rVert^2}
        + c \sum_{l} \frac{\lVert F_l - P_l \rVert^2}{\lVert P_l \rVert^2} + v \, \mathrm{TV}

    In a style layer with the weight :math:`s`, :math:`G` is the Gram matrix of the picture's
    features and :math:`A` that of the style; in a content layer :math:`F` are the picture's
    features and :math:`P` those of the content. Each term is divided by the size of its target, so
    weights that suit one network suit another. The terms are :class:`backpass.losses.StyleLoss`,
    :class:`backpass.losses.ContentLoss` and :class:`backpass.losses.TotalVariationLoss` with
    these factors as their weights.

    Args:
        network: The network whose features describe a picture with values in :math:`[0, 1]`; by
            default :func:`efficientnet_lite0`. It normalises the picture itself, and is used as it
            is: in evaluation mode or not, on its own device.
        content_layers: The layers that keep the content, or a weight for each. A network that
            names its own, as those of this package do, needs none given.
        style_layers: The layers that hold the style, or a weight for each.
        content_weight: The factor :math:`c`. Smaller is bolder.
        variation_weight: The factor :math:`v` of the total variation, which calms noise.
        style_scale: The size of the style picture relative to the content: larger gives larger
            strokes.
        style_shift: A number added to the features before their Gram matrices. Without it, flat
            regions of the content, such as a clipped sky, get no strokes.
        colour: ``'style'``, or ``'keep'`` for the content's own colours: only the brightness is
            painted.
        optimizer: ``'adam'``, or ``'lbfgs'``, which needs fewer steps and may diverge.
        margin: Pixels by which the canvas is larger on each side, where the borders of the
            network's strides show, and which are cut off at the end.

    Raises:
        TypeError: If a number is not one, or the network is not a Module.
        ValueError: If the network names no layers and none are given, a weight is negative, or a
            choice is unknown.

    Example:
        >>> from backpass.style import StyleTransfer, pattern
        >>> transfer = StyleTransfer()
        >>> content, style = pattern("rings", 64), pattern("glass", 64)
        >>> transfer.run(content, style, sizes=[48], steps=2).shape
        torch.Size([1, 3, 48, 48])

    References:
        - L. A. Gatys, A. S. Ecker and M. Bethge, *Image style transfer using convolutional
          neural networks*, CVPR 2016.
        - L. A. Gatys, M. Bethge, A. Hertzmann and E. Shechtman, *Preserving color in neural
          artistic style transfer*, 2016: the colours are kept by transfer of the luminance.
    """

    def __init__(  # noqa: PLR0913
        self,
        network: nn.Module | None = None,
        content_layers: Layers | None = None,
        style_layers: Layers | None = None,
        *,
        content_weight: float = 0.03,
        variation_weight: float = 0.3,
        style_scale: float = 1.0,
        style_shift: float = -1.0,
        colour: Colour = "style",
        optimizer: Optimizer = "adam",
        margin: int = 16,
    ) -> None:
        network = efficientnet_lite0() if network is None else network
        if not isinstance(network, nn.Module):
            got = type(network).__name__  # type: ignore[unreachable]
            raise TypeError(f"StyleTransfer: expected network to be a torch.nn.Module, got {got}")
        self.network = network
        self.content_layers = _arguments.layers(network, "content_layers", content_layers)
        self.style_layers = _arguments.layers(network, "style_layers", style_layers)
        self.content_weight = _arguments.number("content_weight", content_weight)
        self.variation_weight = _arguments.number("variation_weight", variation_weight)
        self.style_scale = _arguments.number("style_scale", style_scale, positive=True)
        self.style_shift = _checks.number("StyleTransfer", "style_shift", style_shift)
        self.colour = _arguments.choice("colour", colour, get_args(Colour))
        self.optimizer = _arguments.choice("optimizer", optimizer, get_args(Optimizer))
        self.margin = _arguments.whole("margin", margin, 0)

    def run(  # noqa: PLR0913
        self,
        content: Tensor,
        style: Tensor | Sequence[Tensor],
        *,
        style_weights: Sequence[float] | None = None,
        sizes: Sequence[int] = (128, 256),
        steps: int | Sequence[int] = (100, 80),
        seed: int = 0,
        callback: Callable[[Progress], object] | None = None,
    ) -> Tensor:
        """Return the content in the style, ``(1, 3, H, W)`` with values in [0, 1].

        The run is the same, bit for bit, for the same seed, number of threads and machine. An
        interrupt (Ctrl-C, or :class:`KeyboardInterrupt` from the callback) ends it early: the
        best picture so far is returned, at the size that was reached.

        Args:
            content: The picture to paint, ``(1, 3, H, W)``, values in [0, 1].
            style: A picture, or several, of any sizes.
            style_weights: The share of each of several styles; equal by default.
            sizes: The longer sides of the canvas, in pixels, from coarse to fine.
            steps: The number of steps at each size, or one number for all.
            seed: The seed of the noise that the first canvas gets.
            callback: Called after each step with a :class:`Progress`.

        Raises:
            TypeError: If a picture is not a floating-point tensor, or a number is not one.
            ValueError: If a picture does not have the shape or the values above or is too small,
                or sizes, steps, weights and margin do not fit each other, or the network or the
                loss is not finite.
        """
        progress = None
        try:
            for progress in self.steps(
                content, style, style_weights=style_weights, sizes=sizes, steps=steps, seed=seed
            ):
                if callback is not None:
                    callback(progress)
        except KeyboardInterrupt:
            if progress is None:
                raise
        assert progress is not None  # there is at least one step
        return progress.picture

    def steps(  # noqa: PLR0913
        self,
        content: Tensor,
        style: Tensor | Sequence[Tensor],
        *,
        style_weights: Sequence[float] | None = None,
        sizes: Sequence[int] = (128, 256),
        steps: int | Sequence[int] = (100, 80),
        seed: int = 0,
    ) -> Iterator[Progress]:
        """Do what :meth:`run` does, step by step: each is taken when it is asked for."""
        styles = [style] if isinstance(style, Tensor) else _arguments.several("style", style)
        shares = _arguments.shares(style_weights, len(styles))
        stages = _arguments.stages(sizes, steps)
        seed = _arguments.whole("seed", seed, 0)
        # The network says where to compute, and in which precision.
        place = next(self.network.parameters(), _arguments.picture("content", content))
        content = _arguments.picture("content", content).to(place)
        styles = [_arguments.picture("style", each).to(place) for each in styles]
        picture = None
        for size, count in stages:
            goal = _resized("content", content, size)
            if picture is None:
                noise = torch.randn(goal.shape, generator=torch.Generator().manual_seed(seed))
                start = (goal + 0.05 * noise.to(place)).clamp(0, 1)
            else:
                start = _resized("content", picture, size)
            criteria = self._criteria(self._widened(goal), styles, shares, size)
            # A finer stage only refines what the first one has found.
            rate = 0.03 * stages[0][0] / size
            descent = self._descend(self._widened(start), criteria, count, rate)
            for step, (losses, canvas) in enumerate(descent, 1):
                picture = self._narrowed(canvas).clamp(0, 1)
                yield Progress(size, step, count, losses, self._coloured(picture, goal))

    def _criteria(
        self, content: Tensor, styles: Sequence[Tensor], shares: Sequence[float], size: int
    ) -> Criteria:
        """Make the losses of one size, their weights divided by the sizes of their targets."""
        grams = dict.fromkeys(self.style_layers, content.new_zeros(()))
        with torch.no_grad():
            for style, share in zip(styles, shares, strict=True):
                resized = _resized("style", style, round(self.style_scale * size))
                for layer, seen in features(self.network, resized, self.style_layers).items():
                    grams[layer] = grams[layer] + share * normalised_gram(seen + self.style_shift)
            kept = features(self.network, content, self.content_layers)
        criteria: Criteria = {}
        for layer, weight in self.style_layers.items():
            share = weight / sum(self.style_layers.values())
            factor = share / _mean_square(grams[layer])
            criteria[f"style {layer}"] = (layer, StyleLoss(grams[layer], weight=factor))
        for layer, weight in self.content_layers.items():
            factor = self.content_weight * weight / _mean_square(kept[layer])
            criteria[f"content {layer}"] = (layer, ContentLoss(kept[layer], weight=factor))
        return criteria

    def _evaluate(self, canvas: Tensor, criteria: Criteria) -> dict[str, Tensor]:
        """Return every loss of a canvas."""
        seen = features(self.network, canvas, {layer for layer, _ in criteria.values()})
        losses = {
            name: criterion(seen[layer] + self.style_shift * isinstance(criterion, StyleLoss))
            for name, (layer, criterion) in criteria.items()
        }
        losses["variation"] = total_variation_loss(canvas, weight=self.variation_weight)
        return losses

    def _descend(
        self, canvas: Tensor, criteria: Criteria, count: int, rate: float
    ) -> Iterator[tuple[dict[str, float], Tensor]]:
        """Optimise the canvas in place; yield the best one so far, with its losses."""
        optimizer = _optimizer(self.optimizer, canvas.requires_grad_(), rate)
        lowest = math.inf
        losses: dict[str, float] = {}
        best = canvas.detach().clone()

        def closure() -> float:
            nonlocal lowest, losses, best
            optimizer.zero_grad()
            terms = self._evaluate(canvas, criteria)
            loss = torch.stack(list(terms.values())).sum()
            torch.autograd.backward(loss, inputs=[canvas])  # an unfrozen network gets none
            if loss.item() < lowest:
                lowest = loss.item()
                losses = {name: term.item() for name, term in terms.items()}
                best = canvas.detach().clone()
            return loss.item()

        for _ in range(count):
            optimizer.step(closure)
            if not losses:
                raise ValueError(
                    "StyleTransfer: expected a finite loss, got NaN or infinity; make the weights "
                    "smaller"
                )
            if self.optimizer == "adam":  # L-BFGS would lose its history by a clamp
                with torch.no_grad():
                    canvas.clamp_(0, 1)
            yield losses, best

    def _widened(self, picture: Tensor) -> Tensor:
        height, width = picture.shape[2:]
        if self.margin >= min(height, width):
            raise ValueError(
                f"StyleTransfer: expected a margin smaller than the picture, got {self.margin} for "
                f"{height} x {width}"
            )
        return F.pad(picture, [self.margin] * 4, mode="reflect")

    def _narrowed(self, canvas: Tensor) -> Tensor:
        height, width = canvas.shape[2:]
        return canvas[..., self.margin : height - self.margin, self.margin : width - self.margin]

    def _coloured(self, picture: Tensor, content: Tensor) -> Tensor:
        """Return the picture, or the content with its luminance, which is one shift of all three."""
        if self.colour == "style":
            return picture
        return (content + _luminance(picture) - _luminance(content)).clamp(0, 1)


def ladder(size: int) -> list[int]:
    """Return the sizes from coarse to fine: 128, doubled while below ``size``; ``size`` is the last.

    Example:
        >>> from backpass.style import ladder
        >>> ladder(384)
        [128, 256, 384]
    """
    sizes = [size]
    while sizes[0] > 128:
        sizes.insert(0, 128 * 2 ** (math.ceil(math.log2(sizes[0] / 128)) - 1))
    return sizes


def _optimizer(name: str, canvas: Tensor, rate: float) -> torch.optim.Optimizer:
    if name == "adam":
        return torch.optim.Adam([canvas], lr=rate, betas=(0.9, 0.99))
    return torch.optim.LBFGS([canvas], max_iter=1, line_search_fn="strong_wolfe")


def _resized(name: str, picture: Tensor, size: int) -> Tensor:
    """Scale the longer side to ``size``; in standard strides, which L-BFGS needs."""
    height, width = picture.shape[2:]
    shape = [max(1, round(side * size / max(height, width))) for side in (height, width)]
    if min(shape) < SMALLEST:
        raise ValueError(
            f"StyleTransfer: expected {name} of at least {SMALLEST} pixels on each side at size "
            f"{size}, got {shape[0]} x {shape[1]} from {height} x {width}"
        )
    scaled = F.interpolate(picture, shape, mode="bicubic", antialias=True).clamp(0, 1)
    return scaled.contiguous()


def _luminance(picture: Tensor) -> Tensor:
    return (picture * picture.new_tensor([0.299, 0.587, 0.114]).view(3, 1, 1)).sum(1, keepdim=True)


def _mean_square(target: Tensor) -> float:
    """Return the square of the target's scale; a target of zeros has none, and divides by little."""
    square = target.square().mean().item()
    if not math.isfinite(square):
        raise ValueError(
            "StyleTransfer: expected finite features, got NaN or infinity; look for them in the "
            "network's parameters"
        )
    return max(square, 1e-12)
