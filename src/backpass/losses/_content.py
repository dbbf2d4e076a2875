"""Content loss: the mean squared difference of two feature maps; its backward is torch's own."""

from typing import Any

from torch import Tensor, nn
from torch.nn import functional as F

from backpass import _checks
from backpass._checks import Reduction


def content_loss(
    input: Tensor, target: Tensor, *, weight: float = 1.0, reduction: Reduction = "mean"
) -> Tensor:
    r"""Compare two feature maps element by element.

    .. math::

        \ell = \frac{w}{n} \sum_i (x_i - t_i)^2 \qquad
        \bar{x}_i = \frac{2 w}{n} (x_i - t_i) \, \bar{\ell}

    :math:`x` is ``input``, :math:`t` is ``target``, :math:`n` their number of elements (1 for the
    reduction ``'sum'``), :math:`w` is ``weight`` and :math:`\bar{\ell}` the cotangent. Use it for
    the content term of a style transfer. The weight multiplies the loss: the Module of the time
    before PyTorch 0.4 multiplied both tensors, which is ``weight ** 2``
    (:func:`backpass.legacy.equivalent_weight`).

    Args:
        input: The features :math:`x` of the picture that is optimised.
        target: The features :math:`t` to come close to. Detach them: a target that requires a
            gradient gets one.
        weight: The factor :math:`w`.
        reduction: ``'mean'``, ``'sum'``, or ``'none'`` for one value per element.

    Returns:
        The loss, 0-d unless ``reduction`` is ``'none'``.

    Raises:
        TypeError: If a tensor is not of a real floating-point dtype, the dtypes differ, or
            ``weight`` is not a Python number.
        ValueError: If the shapes or devices differ, ``weight`` is not finite, or ``reduction`` is
            unknown.

    Shape:
        - input, target: :math:`(*)`, the same shape; nothing is broadcast. Of an empty tensor
          the mean is NaN and the sum 0, as everywhere in torch.
        - output: :math:`()`, or :math:`(*)` for the reduction ``'none'``.

    Dtype:
        ``float16``, ``bfloat16``, ``float32``, ``float64``. Under autocast the first three may
        be mixed, and the result is ``float32``, as that of ``torch.nn.functional.mse_loss``.

    Gradient:
        Exact, any order, for ``input`` and ``target``.

    Saved:
        ``input`` and ``target``: references, no extra byte.

    Transforms:
        All of torch's: ``torch.vmap``, ``torch.func``, forward mode, ``torch.compile`` with
        ``fullgraph=True``.

    Example:
        >>> import torch
        >>> from backpass.losses import content_loss
        >>> x = torch.tensor([1.0, 5.0], dtype=torch.float64, requires_grad=True)
        >>> loss = content_loss(x, torch.zeros_like(x), weight=3.0)
        >>> loss.item(), torch.autograd.grad(loss, x)
        (39.0, (tensor([ 3., 15.], dtype=torch.float64),))

    References:
        - L. A. Gatys, A. S. Ecker and M. Bethge, *Image style transfer using convolutional
          neural networks*, CVPR 2016, equation 1, which has a half in place of the mean.
    """
    _checks.floating("content_loss", input=input, target=target)
    _checks.alike("content_loss", input=input, target=target)
    expected = f"{tuple(input.shape)} as input"
    _checks.shape("content_loss", "target", target, expected, holds=target.shape == input.shape)
    weight = _checks.number("content_loss", "weight", weight)
    _checks.reduction("content_loss", reduction)
    return weight * F.mse_loss(input, target, reduction=reduction)


class ContentLoss(nn.Module):
    """Hold a target and return the :func:`content_loss` of each input.

    Args:
        target: The features to come close to. A detached copy is kept, so that an in-place
            operation on the features afterwards does not change it.
        weight: The factor of the loss.
        reduction: ``'mean'``, ``'sum'`` or ``'none'``.

    Example:
        >>> import torch
        >>> from backpass.losses import ContentLoss
        >>> criterion = ContentLoss(torch.zeros(1, 2), weight=3.0)
        >>> criterion(torch.ones(1, 2))
        tensor(3.)
        >>> criterion
        ContentLoss(target=(1, 2), weight=3.0, reduction='mean')
    """

    target: Tensor

    def __init__(
        self, target: Tensor, *, weight: float = 1.0, reduction: Reduction = "mean"
    ) -> None:
        super().__init__()
        name = type(self).__name__
        _checks.floating(name, target=target)
        _checks.reduction(name, reduction)
        self.register_buffer("target", target.detach().clone())
        self.weight = float(_checks.number(name, "weight", weight))
        self.reduction = reduction

    def forward(self, input: Tensor) -> Tensor:
        """Return the loss of ``input``."""
        return content_loss(input, self.target, weight=self.weight, reduction=self.reduction)

    def extra_repr(self) -> str:
        """Say the arguments, the target by its shape."""
        target = tuple(self.target.shape)
        return f"target={target}, weight={self.weight}, reduction={self.reduction!r}"


class ContentRecorder(ContentLoss):
    """Return the input unchanged and keep its :class:`ContentLoss` in ``loss``.

    This is the transparent layer of the PyTorch 0.4 tutorial: put into ``nn.Sequential``, it
    records a loss while the features pass. Its price: ``loss`` keeps the graph of the last
    forward alive until the next one, with all that it saved unless a backward has freed it, and
    one instance cannot serve two threads. Prefer :class:`ContentLoss`, which keeps nothing.

    Args:
        target: The features to come close to; a detached copy is kept.
        weight: The factor of the loss.
        reduction: ``'mean'``, ``'sum'`` or ``'none'``.

    Example:
        >>> import torch
        >>> from backpass.losses import ContentRecorder
        >>> layer = ContentRecorder(torch.zeros(1, 2))
        >>> layer(torch.ones(1, 2))
        tensor([[1., 1.]])
        >>> layer.loss
        tensor(1.)
    """

    loss: Tensor | None = None

    def forward(self, input: Tensor) -> Tensor:
        """Record the loss of ``input`` and return ``input`` itself."""
        self.loss = super().forward(input)
        return input

    def __getstate__(self) -> dict[str, Any]:
        # A recorded loss has a graph, which can be neither copied nor pickled.
        return {**super().__getstate__(), "loss": None}  # type: ignore[no-untyped-call]
