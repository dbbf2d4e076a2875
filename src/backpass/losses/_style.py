"""Style loss: the mean squared difference of Gram matrices, through their own backward."""

from math import prod
from typing import Any, Self

from torch import Tensor, nn
from torch.nn import functional as F

from backpass import _checks
from backpass._checks import Reduction
from backpass.functions import gram_matrix


def style_loss(
    input: Tensor, target_gram: Tensor, *, weight: float = 1.0, reduction: Reduction = "mean"
) -> Tensor:
    r"""Compare the Gram matrix of feature maps with a target Gram matrix.

    .. math::

        G = \frac{F F^\top}{C P} \qquad
        \ell = \frac{w}{N C^2} \sum_{n,i,j} (G_{nij} - A_{nij})^2 \qquad
        \bar{F} = \frac{2 w \, \bar{\ell}}{N C^3 P} (D + D^\top) F, \quad D = G - A

    :math:`F` is one sample of ``input`` as a matrix of :math:`C` channels by :math:`P` pixels,
    :math:`A` is ``target_gram``, :math:`w` is ``weight`` and :math:`\bar{\ell}` the cotangent of
    the mean. For one sample the value is that of PyTorch's 0.4 tutorial. Use it for the style
    term of a style transfer.

    Args:
        input: The feature maps of the picture that is optimised.
        target_gram: The Gram matrices :math:`A` to come close to, divided by :math:`C P` of their
            own features: :meth:`StyleLoss.from_features` does that. A tensor of features is
            never taken for one, whatever its shape.
        weight: The factor :math:`w`.
        reduction: ``'mean'``, ``'sum'``, or ``'none'`` for one value per entry of the matrices.

    Returns:
        The loss, 0-d unless ``reduction`` is ``'none'``.

    Raises:
        TypeError: If a tensor is not of a real floating-point dtype, the dtypes differ, or
            ``weight`` is not a Python number.
        ValueError: If ``input`` has fewer than two dimensions, ``target_gram`` does not have the
            shape of its Gram matrices, the devices differ, ``weight`` is not finite, or
            ``reduction`` is unknown.

    Shape:
        - input: :math:`(N, C, *)`, where :math:`N` is the number of samples, :math:`C` that of
          channels and :math:`*` any number of spatial dimensions of :math:`P` pixels together.
        - target_gram: :math:`(N, C, C)`; for one style and many samples, expand it.
        - output: :math:`()`, or :math:`(N, C, C)` for the reduction ``'none'``.

    Dtype:
        ``float16``, ``bfloat16``, ``float32``, ``float64``. Under autocast the first three may
        be mixed, the Gram matrix is computed in the autocast dtype and the result is ``float32``.

    Gradient:
        Exact, any order, for ``input`` and ``target_gram``, which need not be symmetric.

    Saved:
        ``input`` and ``target_gram`` as references, and the Gram matrix: :math:`N C^2` elements.

    Transforms:
        ``torch.vmap``, ``torch.func.grad``, ``vjp`` and ``jacrev``; ``torch.compile`` with
        ``fullgraph=True``. No forward mode: ``jacfwd`` and ``hessian`` raise.

    Example:
        >>> import torch
        >>> from backpass.losses import style_loss
        >>> features = torch.tensor([[[2.0, 0.0]]], dtype=torch.float64)
        >>> style_loss(features, torch.zeros(1, 1, 1, dtype=torch.float64))
        tensor(4., dtype=torch.float64)

    References:
        - L. A. Gatys, A. S. Ecker and M. Bethge, *Image style transfer using convolutional
          neural networks*, CVPR 2016, equations 3 and 4.
        - Alexis Jacq, *Neural transfer using PyTorch*, the tutorial as of PyTorch 0.4.
    """
    _checks.floating("style_loss", input=input, target_gram=target_gram)
    _checks.alike("style_loss", input=input, target_gram=target_gram)
    _checks.shape("style_loss", "input", input, "(N, C, *spatial)", holds=input.dim() >= 2)
    expected = (*input.shape[:2], input.shape[1])
    fits = target_gram.shape == expected
    _checks.shape("style_loss", "target_gram", target_gram, f"{expected}", holds=fits)
    weight = _checks.number("style_loss", "weight", weight)
    _checks.reduction("style_loss", reduction)
    return weight * F.mse_loss(normalised_gram(input), target_gram, reduction=reduction)


class StyleLoss(nn.Module):
    """Hold a target Gram matrix and return the :func:`style_loss` of each input.

    Args:
        target_gram: The Gram matrices to come close to; a detached copy is kept. From feature
            maps they are made by :meth:`from_features`.
        weight: The factor of the loss.
        reduction: ``'mean'``, ``'sum'`` or ``'none'``.

    Example:
        >>> import torch
        >>> from backpass.losses import StyleLoss
        >>> features = torch.tensor([[[2.0, 0.0]]])
        >>> criterion = StyleLoss.from_features(features)
        >>> criterion(features.flip(-1))
        tensor(0.)
        >>> criterion
        StyleLoss(target_gram=(1, 1, 1), weight=1.0, reduction='mean')
    """

    target_gram: Tensor

    def __init__(
        self, target_gram: Tensor, *, weight: float = 1.0, reduction: Reduction = "mean"
    ) -> None:
        super().__init__()
        name = type(self).__name__
        _checks.floating(name, target_gram=target_gram)
        square = target_gram.dim() == 3 and target_gram.shape[1] == target_gram.shape[2]
        _checks.shape(name, "target_gram", target_gram, "(N, C, C)", holds=square)
        _checks.reduction(name, reduction)
        self.register_buffer("target_gram", target_gram.detach().clone())
        self.weight = float(_checks.number(name, "weight", weight))
        self.reduction = reduction

    @classmethod
    def from_features(
        cls, features: Tensor, *, weight: float = 1.0, reduction: Reduction = "mean"
    ) -> Self:
        """Take the normalised Gram matrices of ``features``, ``(N, C, *)``, as the target."""
        _checks.floating(cls.__name__, features=features)
        expected = "(N, C, *spatial)"
        _checks.shape(cls.__name__, "features", features, expected, holds=features.dim() >= 2)
        # Autocast decides the dtype of a computation, not that of what is kept.
        target_gram = normalised_gram(features.detach()).to(features.dtype)
        return cls(target_gram, weight=weight, reduction=reduction)

    def forward(self, input: Tensor) -> Tensor:
        """Return the loss of ``input``."""
        return style_loss(input, self.target_gram, weight=self.weight, reduction=self.reduction)

    def extra_repr(self) -> str:
        """Say the arguments, the target by its shape."""
        target = tuple(self.target_gram.shape)
        return f"target_gram={target}, weight={self.weight}, reduction={self.reduction!r}"


class StyleRecorder(StyleLoss):
    """Return the input unchanged and keep its :class:`StyleLoss` in ``loss``.

    This is the transparent layer of the PyTorch 0.4 tutorial, with the price that
    :class:`ContentRecorder` states. Prefer :class:`StyleLoss`, which keeps nothing.

    Args:
        target_gram: The Gram matrices to come close to; a detached copy is kept.
        weight: The factor of the loss.
        reduction: ``'mean'``, ``'sum'`` or ``'none'``.

    Example:
        >>> import torch
        >>> from backpass.losses import StyleRecorder
        >>> layer = StyleRecorder.from_features(torch.tensor([[[2.0, 0.0]]]))
        >>> layer(torch.tensor([[[0.0, 0.0]]]))
        tensor([[[0., 0.]]])
        >>> layer.loss
        tensor(4.)
    """

    loss: Tensor | None = None

    def forward(self, input: Tensor) -> Tensor:
        """Record the loss of ``input`` and return ``input`` itself."""
        self.loss = super().forward(input)
        return input

    def __getstate__(self) -> dict[str, Any]:
        # A recorded loss has a graph, which can be neither copied nor pickled.
        return {**super().__getstate__(), "loss": None}  # type: ignore[no-untyped-call]


def normalised_gram(features: Tensor) -> Tensor:
    """Divide the Gram matrices by the number of elements of a sample."""
    # An empty feature map has the Gram matrix 0, which no factor changes.
    return gram_matrix(features, scale=1 / max(1, prod(features.shape[1:])))
