"""Gram matrix: the forward multiplies the features by themselves, the backward uses the symmetry."""

from math import prod
from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function

from backpass import _checks


def gram_matrix(input: Tensor, *, scale: float = 1.0) -> Tensor:
    r"""Compute the inner products of all pairs of channels, with a backward of one product.

    .. math::

        G = s \, F F^\top \qquad
        \bar{F} = s \, (\bar{G} + \bar{G}^\top) F

    :math:`F` is one sample of ``input`` as a matrix with one row for each channel, :math:`s` is
    ``scale`` and :math:`\bar{G}` the cotangent of the output. Autograd, which sees two factors,
    computes :math:`\bar{G} F` and :math:`\bar{G}^\top F` and adds them: twice the work. Use it
    for style losses and other second-order statistics of feature maps.

    Args:
        input: The feature maps.
        scale: The factor :math:`s`. It is applied inside the product, before the result is
            rounded, so that a scaled Gram matrix of many pixels stays finite in ``float16``.

    Returns:
        The matrices :math:`G`, one for each sample, symmetric.

    Raises:
        TypeError: If ``input`` is not a tensor of a real floating-point dtype, or ``scale`` is
            not a Python number.
        ValueError: If ``input`` has fewer than two dimensions, or ``scale`` is not finite.

    Shape:
        - input: :math:`(N, C, *)`, where :math:`N` is the number of samples, :math:`C` that of
          channels and :math:`*` any number of spatial dimensions, none included. Every size may
          be 0 or 1; without pixels the matrix is zero.
        - output: :math:`(N, C, C)`.

    Dtype:
        ``float16``, ``bfloat16``, ``float32``, ``float64``. Under autocast ``input`` is cast to
        the autocast dtype, ``float64`` excepted.

    Gradient:
        Exact, any order; right also for cotangents that are not symmetric.

    Saved:
        ``input``: a reference, no extra byte.

    Transforms:
        ``torch.vmap``, ``torch.func.grad``, ``vjp`` and ``jacrev``; ``torch.compile`` with
        ``fullgraph=True``. No forward mode: ``jacfwd`` and ``hessian`` raise.

    Example:
        >>> import torch
        >>> from backpass.functions import gram_matrix
        >>> features = torch.tensor([[[1.0, 2.0], [3.0, 4.0]]], dtype=torch.float64)
        >>> gram_matrix(features)
        tensor([[[ 5., 11.],
                 [11., 25.]]], dtype=torch.float64)

    References:
        - L. A. Gatys, A. S. Ecker and M. Bethge, *Image style transfer using convolutional
          neural networks*, CVPR 2016, equation 3.
    """
    _checks.floating("gram_matrix", input=input)
    _checks.shape("gram_matrix", "input", input, "(N, C, *spatial)", holds=input.dim() >= 2)
    scale = _checks.number("gram_matrix", "scale", scale)
    return _GramMatrix.apply(_checks.autocast(input), scale)  # type: ignore[no-untyped-call, no-any-return]


class _GramMatrix(Function):
    @staticmethod
    def forward(input: Tensor, scale: float) -> Tensor:
        features = _features(input)
        return _scaled_product(features, features.mT, scale)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, float], output: Tensor) -> None:
        input, ctx.scale = inputs
        ctx.save_for_backward(input)

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> tuple[Tensor, None]:
        (input,) = ctx.saved_tensors
        return pull_back(grad_output, input, ctx.scale), None

    @staticmethod
    def vmap(
        info: Any, in_dims: tuple[int, None], input: Tensor, scale: float
    ) -> tuple[Tensor, int]:
        # The rule that torch would generate applies the scale after the product was rounded.
        batch = input.movedim(in_dims[0], 0)
        output = _GramMatrix.apply(batch.flatten(0, 1), scale)  # type: ignore[no-untyped-call]
        return output.unflatten(0, batch.shape[:2]), 0


def pull_back(cotangent: Tensor, input: Tensor, scale: float) -> Tensor:
    """Turn a cotangent of the Gram matrices into that of the features, with one product."""
    product = _scaled_product(_symmetric(cotangent), _features(input), 2 * scale)
    return product.reshape(input.shape)


def _symmetric(cotangent: Tensor) -> Tensor:
    # Of two halves the sum stays finite in float16 wherever the cotangent is.
    half = cotangent / 2
    return half + half.mT


def _features(input: Tensor) -> Tensor:
    return input.reshape(*input.shape[:2], prod(input.shape[2:]))


def _scaled_product(left: Tensor, right: Tensor, scale: float) -> Tensor:
    # With beta=0 the first argument is never read: one number, broadcast, costs no memory.
    ignored = left.new_empty(1)
    return torch.baddbmm(ignored, left, right, beta=0, alpha=scale)
