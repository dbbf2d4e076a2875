"""Total variation loss: the weighted total variation of a picture, with its own backward."""

from typing import Literal

from torch import Tensor, nn

from backpass import _checks
from backpass._checks import ToANumber
from backpass.functions import total_variation


def total_variation_loss(
    input: Tensor, *, weight: float = 1.0, p: Literal[1, 2] = 2, reduction: ToANumber = "mean"
) -> Tensor:
    r"""Weight the total variation of pictures.

    .. math::

        \ell = w \, \operatorname{TV}_p(x) \qquad
        \bar{x} = w \, \bar{\ell} \, \nabla \operatorname{TV}_p(x)

    :math:`x` is ``input``, :math:`w` is ``weight``, :math:`\bar{\ell}` the cotangent and
    :math:`\operatorname{TV}_p` the function :func:`backpass.functions.total_variation`, which
    states its gradient. Use it to keep a picture that is optimised free of noise.

    Args:
        input: The pictures :math:`x`.
        weight: The factor :math:`w`.
        p: The power: 2 for squared differences, 1 for absolute ones, which keep edges.
        reduction: ``'mean'``, that of the vertical differences plus that of the horizontal ones,
            or ``'sum'``.

    Returns:
        The loss, 0-d.

    Raises:
        TypeError: If ``input`` is not a tensor of a real floating-point dtype, or ``weight`` is
            not a Python number.
        ValueError: If ``input`` has fewer than two dimensions, ``weight`` is not finite, ``p`` is
            neither 1 nor 2, or ``reduction`` is unknown.

    Shape:
        - input: :math:`(*, H, W)`, where :math:`H` is the height, :math:`W` the width and
          :math:`*` any number of dimensions, none included. Every size may be 0 or 1; where there
          are no neighbours, the loss is 0.
        - output: :math:`()`.

    Dtype:
        ``float16``, ``bfloat16``, ``float32``, ``float64``. Autocast leaves the dtype unchanged.

    Gradient:
        Exact, any order; for :math:`p = 1` equal neighbours have the derivative 0.

    Saved:
        For :math:`p = 2`, ``input``: a reference, no extra byte. For :math:`p = 1` the signs, one
        byte for each difference.

    Transforms:
        ``torch.vmap``, ``torch.func.grad``, ``vjp`` and ``jacrev``; ``torch.compile`` with
        ``fullgraph=True``. No forward mode: ``jacfwd`` and ``hessian`` raise.

    Example:
        >>> import torch
        >>> from backpass.losses import total_variation_loss
        >>> x = torch.tensor([[0.0, 1.0], [0.0, 3.0]], dtype=torch.float64)
        >>> total_variation_loss(x, weight=0.5)
        tensor(3.5000, dtype=torch.float64)

    References:
        - A. Mahendran and A. Vedaldi, *Understanding deep image representations by inverting
          them*, CVPR 2015, section 2.
    """
    _checks.floating("total_variation_loss", input=input)
    _checks.shape("total_variation_loss", "input", input, "(*, H, W)", holds=input.dim() >= 2)
    weight = _checks.number("total_variation_loss", "weight", weight)
    _checks.power("total_variation_loss", p)
    _checks.to_a_number("total_variation_loss", reduction)
    return weight * total_variation(input, p=p, reduction=reduction)


class TotalVariationLoss(nn.Module):
    """Hold the settings and return the :func:`total_variation_loss` of each input.

    Args:
        weight: The factor of the loss.
        p: The power: 2 for squared differences, 1 for absolute ones.
        reduction: ``'mean'`` or ``'sum'``.

    Example:
        >>> import torch
        >>> from backpass.losses import TotalVariationLoss
        >>> criterion = TotalVariationLoss(weight=2, p=1)
        >>> criterion(torch.tensor([[0.0, 1.0], [0.0, 3.0]]))
        tensor(6.)
        >>> criterion
        TotalVariationLoss(weight=2.0, p=1, reduction='mean')
    """

    def __init__(
        self, *, weight: float = 1.0, p: Literal[1, 2] = 2, reduction: ToANumber = "mean"
    ) -> None:
        super().__init__()
        name = type(self).__name__
        self.weight = float(_checks.number(name, "weight", weight))
        _checks.power(name, p)
        _checks.to_a_number(name, reduction)
        self.p = p
        self.reduction = reduction

    def forward(self, input: Tensor) -> Tensor:
        """Return the loss of ``input``."""
        return total_variation_loss(input, weight=self.weight, p=self.p, reduction=self.reduction)

    def extra_repr(self) -> str:
        """Say the arguments."""
        return f"weight={self.weight}, p={self.p}, reduction={self.reduction!r}"
