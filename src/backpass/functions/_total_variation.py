"""Total variation: the forward adds differences of neighbours, the backward spreads them again."""

from math import prod
from typing import Any, Literal

import torch
from torch import Tensor
from torch.autograd import Function

from backpass import _checks
from backpass._checks import ToANumber


def total_variation(
    input: Tensor, *, p: Literal[1, 2] = 2, reduction: ToANumber = "mean"
) -> Tensor:
    r"""Measure how much neighbouring pixels differ, and keep little or nothing for the backward.

    .. math::

        \ell = \frac{1}{n} \sum_i |(\partial x)_i|^p + \frac{1}{m} \sum_j |(\delta x)_j|^p \qquad
        \bar{x} = \bar{\ell} \left( \frac{1}{n} \, \partial^\top v
        + \frac{1}{m} \, \delta^\top h \right)

    :math:`\partial` takes the :math:`n` differences of vertical neighbours, :math:`\delta` the
    :math:`m` differences of horizontal ones; for the reduction ``'sum'`` both :math:`n` and
    :math:`m` are 1. For :math:`p = 2`, :math:`v = 2 \partial x` and :math:`h = 2 \delta x`,
    computed anew from the input; for :math:`p = 1` they are the signs of the differences. Use it
    to smooth a picture that is optimised; :math:`p = 1` keeps edges.

    Args:
        input: The pictures :math:`x`.
        p: The power: 2 for squared differences, 1 for absolute ones.
        reduction: ``'mean'``, that of the vertical differences plus that of the horizontal ones,
            or ``'sum'``. ``torch.vmap`` gives one value for each picture.

    Returns:
        The total variation :math:`\ell`, of all pictures together.

    Raises:
        TypeError: If ``input`` is not a tensor of a real floating-point dtype.
        ValueError: If ``input`` has fewer than two dimensions, ``p`` is neither 1 nor 2, or
            ``reduction`` is unknown.

    Shape:
        - input: :math:`(*, H, W)`, where :math:`H` is the height, :math:`W` the width and
          :math:`*` any number of dimensions, none included. Every size may be 0 or 1; where there
          are no neighbours, mean and sum are 0.
        - output: :math:`()`.

    Dtype:
        ``float16``, ``bfloat16``, ``float32``, ``float64``. Autocast leaves the dtype unchanged.
        Of the first two, squares and sums are ``float32``.

    Gradient:
        Exact, any order. For :math:`p = 1` equal neighbours have the derivative 0, as
        ``torch.abs``, and the second derivative is 0.

    Saved:
        For :math:`p = 2`, ``input``: a reference, no extra byte. For :math:`p = 1` the signs, one
        byte for each difference.

    Transforms:
        ``torch.vmap``, ``torch.func.grad``, ``vjp`` and ``jacrev``; ``torch.compile`` with
        ``fullgraph=True``. No forward mode: ``jacfwd`` and ``hessian`` raise.

    Example:
        >>> import torch
        >>> from backpass.functions import total_variation
        >>> x = torch.tensor([[0.0, 1.0], [0.0, 3.0]], dtype=torch.float64)
        >>> total_variation(x), total_variation(x, p=1)
        (tensor(7., dtype=torch.float64), tensor(3., dtype=torch.float64))

    References:
        - L. I. Rudin, S. Osher and E. Fatemi, *Nonlinear total variation based noise removal
          algorithms*, Physica D 60, 1992.
        - A. Mahendran and A. Vedaldi, *Understanding deep image representations by inverting
          them*, CVPR 2015, section 2.
    """
    _checks.floating("total_variation", input=input)
    _checks.shape("total_variation", "input", input, "(*, H, W)", holds=input.dim() >= 2)
    _checks.power("total_variation", p)
    _checks.to_a_number("total_variation", reduction)
    if p == 1:
        value, *_ = _Absolute.apply(input, reduction)  # type: ignore[no-untyped-call]
        return value  # type: ignore[no-any-return]
    return _Squared.apply(input, reduction)  # type: ignore[no-untyped-call, no-any-return]


class _Squared(Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(input: Tensor, reduction: str) -> Tensor:
        squares = [_wide(difference).pow_(2) for difference in _differences(input)]
        return _reduce(input, reduction, *squares)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, str], output: Tensor) -> None:
        input, ctx.reduction = inputs
        ctx.save_for_backward(input)

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> tuple[Tensor, None]:
        (input,) = ctx.saved_tensors
        return _spread(grad_output, ctx.reduction, *_differences(input), factor=2), None


class _Absolute(Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(input: Tensor, reduction: str) -> tuple[Tensor, Tensor, Tensor]:
        vertical, horizontal = _differences(input)
        signs = vertical.sign().to(torch.int8), horizontal.sign().to(torch.int8)
        value = _reduce(input, reduction, _wide(vertical).abs_(), _wide(horizontal).abs_())
        return value, *signs

    @staticmethod
    def setup_context(
        ctx: Any, inputs: tuple[Tensor, str], output: tuple[Tensor, Tensor, Tensor]
    ) -> None:
        _, ctx.reduction = inputs
        _, *signs = output
        ctx.mark_non_differentiable(*signs)
        ctx.save_for_backward(*signs)

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor, *_: Tensor) -> tuple[Tensor, None]:
        return _spread(grad_output, ctx.reduction, *ctx.saved_tensors), None


def _differences(input: Tensor) -> tuple[Tensor, Tensor]:
    # Of an empty tensor torch.diff is a view, which the forward must not write to.
    return input[..., 1:, :] - input[..., :-1, :], input[..., 1:] - input[..., :-1]


def _wide(tensor: Tensor) -> Tensor:
    return tensor.to(torch.promote_types(tensor.dtype, torch.float32))


def _reduce(input: Tensor, reduction: str, vertical: Tensor, horizontal: Tensor) -> Tensor:
    count, down, across = _weights(input.shape, reduction)
    total = down / count * vertical.sum() + across / count * horizontal.sum()
    return total.to(input.dtype)


def _spread(
    cotangent: Tensor, reduction: str, vertical: Tensor, horizontal: Tensor, factor: int = 1
) -> Tensor:
    """Apply the transposed difference operators: each difference has a pixel before and behind."""
    shape = (*horizontal.shape[:-1], vertical.shape[-1])
    count, down, across = _weights(shape, reduction)
    total = vertical.new_zeros(shape, dtype=cotangent.dtype)
    total[..., 1:, :].add_(vertical, alpha=factor * down)
    total[..., :-1, :].sub_(vertical, alpha=factor * down)
    total[..., 1:].add_(horizontal, alpha=factor * across)
    total[..., :-1].sub_(horizontal, alpha=factor * across)
    # In float16 the count would underflow without the cotangent, which the factor could overflow.
    return total * (cotangent / count)


def _weights(shape: tuple[int, ...], reduction: str) -> tuple[int, float, float]:
    """Split the mean of each direction into one common count and a factor close to 1."""
    if reduction == "sum":
        return 1, 1.0, 1.0
    height, width = shape[-2:]
    return max(1, prod(shape)), height / max(1, height - 1), width / max(1, width - 1)
