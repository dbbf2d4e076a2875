"""Rounding: the forward rounds, the backward pretends that it did not (a surrogate gradient)."""

from typing import Any

from torch import Tensor
from torch.autograd import Function

from backpass import _checks


def round_straight_through(input: Tensor) -> Tensor:
    r"""Round to the nearest integer; let the gradient pass as if the rounding were not there.

    .. math::

        y = \operatorname{round}(x) \qquad
        \bar{x} = \bar{y}

    Here :math:`\bar{y}` is the cotangent of the output. The derivative of rounding is zero
    wherever it exists, so nothing before it would ever learn; the straight-through estimator
    takes that of the identity instead. Use it for quantisation-aware training, never where a
    true derivative is wanted: ``torch.autograd.gradcheck`` must fail on it.

    Args:
        input: The tensor :math:`x`.

    Returns:
        The tensor :math:`y`, with halves rounded to the nearest even integer.

    Raises:
        TypeError: If ``input`` is not a tensor of a real floating-point dtype.

    Shape:
        - input: :math:`(*)`, any number of dimensions of any size, 0-d and empty included.
        - output: :math:`(*)`, the same shape.

    Dtype:
        ``float16``, ``bfloat16``, ``float32``, ``float64``. Autocast leaves the dtype unchanged.

    Gradient:
        Surrogate: the identity, for every input and cotangent. Its own derivative is zero.

    Saved:
        Nothing.

    Transforms:
        ``torch.vmap``, ``torch.func.grad``, ``vjp`` and ``jacrev``; ``torch.compile`` with
        ``fullgraph=True``. No forward mode: ``jacfwd`` and ``hessian`` raise. Inside a compiled
        ``torch.func.grad``, torch 2.13 silently replaces this backward by that of ``round``,
        which is 0 (pytorch/pytorch#193279): compile the function, not its ``grad``.

    Example:
        >>> import torch
        >>> from backpass.functions import round_straight_through
        >>> x = torch.tensor([0.4, 1.5], dtype=torch.float64, requires_grad=True)
        >>> y = round_straight_through(x)
        >>> y.detach()
        tensor([0., 2.], dtype=torch.float64)
        >>> torch.autograd.grad(y.sum(), x)
        (tensor([1., 1.], dtype=torch.float64),)

    References:
        - Y. Bengio, N. Léonard and A. Courville, *Estimating or propagating gradients through
          stochastic neurons for conditional computation*, arXiv:1308.3432, 2013.
    """
    _checks.floating("round_straight_through", input=input)
    return _RoundStraightThrough.apply(input)  # type: ignore[no-untyped-call, no-any-return]


class _RoundStraightThrough(Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(input: Tensor) -> Tensor:
        return input.round()

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor], output: Tensor) -> None:
        pass

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Tensor:
        return grad_output
