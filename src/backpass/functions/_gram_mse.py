"""Gram loss: the forward compares Gram matrices, the backward is one product with their difference."""

from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function

from backpass import _checks
from backpass._checks import ToANumber
from backpass.functions._gram_matrix import gram_matrix, pull_back


def gram_mse(
    input: Tensor, target_gram: Tensor, *, scale: float = 1.0, reduction: ToANumber = "mean"
) -> Tensor:
    r"""Compare scaled Gram matrices with a target, and keep their difference for the backward.

    .. math::

        \ell = \frac{1}{n} \sum_{k,i,j} D_{kij}^2, \quad D = s \, F F^\top - A \qquad
        \bar{F} = \frac{2 s}{n} \, \bar{\ell} \, (D + D^\top) F \qquad
        \bar{A} = -\frac{2}{n} \, \bar{\ell} \, D

    :math:`F` is one sample of ``input`` as a matrix with one row for each channel, :math:`s` is
    ``scale``, :math:`A` is ``target_gram``, :math:`n` the number of entries of all matrices (1 for
    the reduction ``'sum'``) and :math:`\bar{\ell}` the cotangent. Use it where :math:`A` is
    made anew at each step: it need not stay alive for the backward. Otherwise it gains nothing
    measurable on :func:`gram_matrix` and ``torch.nn.functional.mse_loss``, of which
    :func:`backpass.losses.style_loss` consists: the time is that of the two products, and
    :math:`D` has the size of the Gram matrices.

    Args:
        input: The feature maps.
        target_gram: The matrices :math:`A` to come close to; they need not be symmetric.
        scale: The factor :math:`s`, applied inside the product as by :func:`gram_matrix`.
        reduction: ``'mean'`` or ``'sum'``. For single differences, subtract from
            :func:`gram_matrix`.

    Returns:
        The loss :math:`\ell`.

    Raises:
        TypeError: If a tensor is not of a real floating-point dtype, the dtypes differ, or
            ``scale`` is not a Python number.
        ValueError: If ``input`` has fewer than two dimensions, ``target_gram`` does not have the
            shape of its Gram matrices, the devices differ, ``scale`` is not finite, or
            ``reduction`` is unknown.

    Shape:
        - input: :math:`(N, C, *)`, where :math:`N` is the number of samples, :math:`C` that of
          channels and :math:`*` any number of spatial dimensions, none included. Every size may
          be 0 or 1; without samples or channels the mean is NaN, as everywhere in torch.
        - target_gram: :math:`(N, C, C)`; for one target and many samples, expand it.
        - output: :math:`()`.

    Dtype:
        ``float16``, ``bfloat16``, ``float32``, ``float64``. Under autocast the first three may
        be mixed, the Gram matrices are computed in the autocast dtype, and the difference and
        the result are ``float32``.

    Gradient:
        Exact, any order, for ``input`` and ``target_gram``.

    Saved:
        :math:`D`, :math:`N C^2` elements, and ``input`` if its gradient is needed: a reference,
        no extra byte.

    Transforms:
        ``torch.vmap``, ``torch.func.grad``, ``vjp`` and ``jacrev``; ``torch.compile`` with
        ``fullgraph=True``. No forward mode: ``jacfwd`` and ``hessian`` raise.

    Example:
        >>> import torch
        >>> from backpass.functions import gram_mse
        >>> x = torch.tensor([[[1.0, 2.0]]], dtype=torch.float64, requires_grad=True)
        >>> loss = gram_mse(x, torch.tensor([[[3.0]]], dtype=torch.float64))
        >>> loss.item(), torch.autograd.grad(loss, x)
        (4.0, (tensor([[[ 8., 16.]]], dtype=torch.float64),))

    References:
        - L. A. Gatys, A. S. Ecker and M. Bethge, *Image style transfer using convolutional
          neural networks*, CVPR 2016, equations 3 to 6.
    """
    _checks.floating("gram_mse", input=input, target_gram=target_gram)
    _checks.alike("gram_mse", input=input, target_gram=target_gram)
    _checks.shape("gram_mse", "input", input, "(N, C, *spatial)", holds=input.dim() >= 2)
    expected = (*input.shape[:2], input.shape[1])
    fits = target_gram.shape == expected
    _checks.shape("gram_mse", "target_gram", target_gram, f"{expected}", holds=fits)
    scale = _checks.number("gram_mse", "scale", scale)
    _checks.to_a_number("gram_mse", reduction)
    input, target_gram = _checks.autocast(input), _checks.autocast(target_gram, torch.float32)
    loss, _ = _GramMSE.apply(input, target_gram, scale, reduction)  # type: ignore[no-untyped-call]
    return loss  # type: ignore[no-any-return]


class _GramMSE(Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(
        input: Tensor, target_gram: Tensor, scale: float, reduction: str
    ) -> tuple[Tensor, Tensor]:
        difference = gram_matrix(input, scale=scale).to(target_gram.dtype) - target_gram
        squares = difference.square()
        return squares.mean() if reduction == "mean" else squares.sum(), difference

    @staticmethod
    def setup_context(
        ctx: Any, inputs: tuple[Tensor, Tensor, float, str], output: tuple[Tensor, Tensor]
    ) -> None:
        input, _, ctx.scale, reduction = inputs
        _, difference = output
        ctx.factor = 2 / max(1, difference.numel()) if reduction == "mean" else 2
        ctx.save_for_backward(input if ctx.needs_input_grad[0] else None, difference)

    @staticmethod
    def backward(
        ctx: Any, grad_loss: Tensor, grad_difference: Tensor
    ) -> tuple[Tensor | None, Tensor | None, None, None]:
        input, difference = ctx.saved_tensors
        # The difference is an output too: saved alone it would be a constant to a second
        # derivative, without a message. What depends on it there comes back as its cotangent.
        cotangent = grad_difference + ctx.factor * grad_loss * difference
        grad_input = None
        if ctx.needs_input_grad[0]:
            grad_input = pull_back(cotangent.to(input.dtype), input, ctx.scale)
        grad_target = -cotangent if ctx.needs_input_grad[1] else None
        return grad_input, grad_target, None, None
