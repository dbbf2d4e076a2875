"""ReLU: the forward keeps what is positive, the backward lets the gradient pass there."""

from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function

from backpass import _checks


def relu(input: Tensor) -> Tensor:
    r"""Replace negative elements by zero; let the gradient pass where the output is positive.

    .. math::

        y = \max(x, 0) \qquad
        \bar{x} = \bar{y} \odot \mathbb{1}[y > 0]

    Here :math:`\bar{y}` is the cotangent of the output. Use this function to read how a custom
    Function is written; in a network, ``torch.nn.functional.relu`` is as right and a little faster.

    Args:
        input: The tensor :math:`x`.

    Returns:
        The tensor :math:`y`, a new tensor with the shape and dtype of ``input``.

    Raises:
        TypeError: If ``input`` is not a tensor of a real floating-point dtype.

    Shape:
        - input: :math:`(*)`, any number of dimensions of any size, 0-d and empty included.
        - output: :math:`(*)`, the same shape.

    Dtype:
        ``float16``, ``bfloat16``, ``float32``, ``float64``. Autocast leaves the dtype unchanged.

    Gradient:
        Exact, any order. At the kink :math:`x = 0` the gradient is 0, one of the subgradients in
        :math:`[0, 1]` and the one that ``torch.nn.functional.relu`` takes. Where :math:`x` is NaN
        the cotangent passes; an infinite cotangent is blocked where :math:`x \le 0`, without NaN.

    Saved:
        The output: no extra byte when the next layer saves its input anyway, otherwise the
        itemsize of the dtype for each element.

    Transforms:
        ``torch.vmap``, ``torch.func.grad``, ``vjp`` and ``jacrev``; ``torch.compile`` with
        ``fullgraph=True``. No forward mode: ``jacfwd`` and ``hessian`` raise. Inside a compiled
        ``torch.func.grad``, torch 2.13 replaces this backward by that of ``clamp``, which is 1
        at the kink (pytorch/pytorch#193279).

    Example:
        >>> import torch
        >>> from backpass.functions import relu
        >>> x = torch.tensor([-1.0, 0.0, 2.0], dtype=torch.float64, requires_grad=True)
        >>> relu(x).sum().backward()
        >>> x.grad
        tensor([0., 0., 1.], dtype=torch.float64)

    References:
        - V. Nair and G. E. Hinton, *Rectified linear units improve restricted Boltzmann
          machines*, ICML 2010.
    """
    _checks.floating("relu", input=input)
    return _ReLU.apply(input)  # type: ignore[no-untyped-call, no-any-return]


class _ReLU(Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(input: Tensor) -> Tensor:
        return input.clamp(min=0)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor], output: Tensor) -> None:
        ctx.save_for_backward(output)

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Tensor:
        (output,) = ctx.saved_tensors
        # A product with the mask would turn an infinite cotangent into NaN where it is blocked.
        return torch.ops.aten.threshold_backward(grad_output, output, 0)  # type: ignore[no-any-return]
