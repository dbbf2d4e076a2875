"""Linear map: the forward is one matrix product, the backward is one for each factor."""

from math import prod
from typing import Any

from torch import Tensor
from torch.autograd import Function

from backpass import _checks


def linear(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    r"""Multiply by the transposed weight and add the bias, with one product per gradient.

    .. math::

        Y = X W^\top + b \qquad
        \bar{X} = \bar{Y} \, \overline{W} \qquad
        \bar{W} = \bar{Y}^\top \overline{X} \qquad
        \bar{b} = \sum_i \bar{Y}_i

    The rows of :math:`X` are all leading dimensions taken together, :math:`\bar{Y}` is the
    cotangent of the output, and :math:`\overline{W}`, :math:`\overline{X}` are complex
    conjugates, which leave real numbers as they are. Use this function to read how several
    inputs and an optional one are handled; ``torch.nn.functional.linear`` computes the same.

    Args:
        input: The tensor :math:`X`.
        weight: The matrix :math:`W`, one row for each output feature.
        bias: The vector :math:`b`, or ``None`` for none.

    Returns:
        The tensor :math:`Y`.

    Raises:
        TypeError: If an argument is not a tensor of a floating-point or complex dtype, or the
            dtypes differ.
        ValueError: If the shapes do not fit each other, or the devices differ.

    Shape:
        - input: :math:`(*, I)`, where :math:`*` is any number of dimensions, none included, and
          :math:`I` the number of input features. Every size may be 0 or 1.
        - weight: :math:`(O, I)`, where :math:`O` is the number of output features.
        - bias: :math:`(O)`.
        - output: :math:`(*, O)`.

    Dtype:
        ``float16``, ``bfloat16``, ``float32``, ``float64``, ``complex64``, ``complex128``.
        Under autocast the arguments are cast to the autocast dtype, ``float64`` excepted.

    Gradient:
        Exact, any order. Only the gradients that are needed are computed.

    Saved:
        ``weight`` if the gradient of ``input`` is needed, and ``input`` if that of ``weight``
        is: references, no extra byte.

    Transforms:
        ``torch.vmap``, ``torch.func.grad``, ``vjp`` and ``jacrev``; ``torch.compile`` with
        ``fullgraph=True``. No forward mode: ``jacfwd`` and ``hessian`` raise.

    Example:
        >>> import torch
        >>> from backpass.functions import linear
        >>> x = torch.tensor([[1.0, 2.0]], dtype=torch.float64)
        >>> w = torch.tensor([[3.0, 4.0]], dtype=torch.float64, requires_grad=True)
        >>> y = linear(x, w)
        >>> y.backward()
        >>> y.item(), w.grad
        (11.0, tensor([[1., 2.]], dtype=torch.float64))

    References:
        - M. B. Giles, *Collected matrix derivative results for forward and reverse mode
          algorithmic differentiation*, 2008, section 2.2.2.
    """
    _checks.floating("linear", allow_complex=True, input=input, weight=weight)
    _checks.shape("linear", "input", input, "(*, in_features)", holds=input.dim() >= 1)
    rows = f"(out_features, {input.shape[-1]})"
    fits = weight.dim() == 2 and weight.shape[1] == input.shape[-1]
    _checks.shape("linear", "weight", weight, rows, holds=fits)
    if bias is not None:
        _checks.floating("linear", allow_complex=True, bias=bias)
        expected = tuple(weight.shape[:1])
        _checks.shape("linear", "bias", bias, f"{expected}", holds=bias.shape == expected)
    input, weight = _checks.autocast(input), _checks.autocast(weight)
    bias = None if bias is None else _checks.autocast(bias)
    _checks.alike("linear", input=input, weight=weight, bias=bias)
    return _Linear.apply(input, weight, bias)  # type: ignore[no-untyped-call, no-any-return]


class _Linear(Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(input: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        output = input @ weight.mT
        return output if bias is None else output + bias

    @staticmethod
    def setup_context(
        ctx: Any, inputs: tuple[Tensor, Tensor, Tensor | None], output: Tensor
    ) -> None:
        input, weight, _ = inputs
        # Each gradient needs the other factor, so a frozen weight keeps no activation alive.
        needs_input, needs_weight, _ = ctx.needs_input_grad
        ctx.save_for_backward(input if needs_weight else None, weight if needs_input else None)

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> tuple[Tensor | None, ...]:
        input, weight = ctx.saved_tensors
        grad_input = grad_weight = grad_bias = None
        if ctx.needs_input_grad[0]:
            grad_input = grad_output @ weight.conj()
        if ctx.needs_input_grad[1]:
            grad_weight = _rows(grad_output).mT @ _rows(input).conj()
        if ctx.needs_input_grad[2]:
            grad_bias = _rows(grad_output).sum(0)
        return grad_input, grad_weight, grad_bias


def _rows(tensor: Tensor) -> Tensor:
    # reshape(-1, n) is ambiguous for n == 0, and flatten(0, -2) fails for one dimension.
    return tensor.reshape(prod(tensor.shape[:-1]), tensor.shape[-1])
