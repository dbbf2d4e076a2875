"""Loss Modules with a backward of their own, which the training loop has to call by hand."""

from torch import Tensor, nn
from torch.nn import functional as F

from backpass import _checks
from backpass.losses._style import normalised_gram


def equivalent_weight(old: float) -> float:
    """Return the weight of today's loss that equals the weight ``old`` of a legacy loss.

    The legacy Modules multiply the target *and* the input by the weight, inside the square:
    ``mse(w * x, w * t) == w ** 2 * mse(x, t)``.

    Args:
        old: The weight given to the legacy Module.

    Returns:
        ``old ** 2``.

    Raises:
        TypeError: If ``old`` is not a Python number.
        ValueError: If ``old`` is not finite.

    Example:
        >>> from backpass.legacy import equivalent_weight
        >>> equivalent_weight(3)
        9.0
    """
    return float(_checks.number("equivalent_weight", "old", old)) ** 2


class ContentLoss(nn.Module):
    """Return the input, keep a loss of scaled features, and run a backward on demand.

    Autograd never calls :meth:`backward`: a Module has none as far as it is concerned. The old
    training loop did, once for each loss. New code uses :class:`backpass.losses.ContentLoss`.

    Args:
        target: The features to come close to.
        weight: Multiplies target and input, so the loss has the factor ``weight ** 2``.

    Example:
        >>> import torch
        >>> from backpass import legacy
        >>> criterion = legacy.ContentLoss(torch.zeros(2), weight=3)
        >>> x = torch.ones(2, requires_grad=True)
        >>> _ = criterion(x)
        >>> criterion.backward().item(), x.grad
        (9.0, tensor([9., 9.]))
    """

    target: Tensor
    loss: Tensor

    def __init__(self, target: Tensor, weight: float) -> None:
        super().__init__()
        _checks.floating("legacy.ContentLoss", target=target)
        self.weight = _checks.number("legacy.ContentLoss", "weight", weight)
        self.register_buffer("target", target.detach() * self.weight)

    def forward(self, input: Tensor) -> Tensor:
        """Keep the loss and return ``input`` itself."""
        self.loss = F.mse_loss(input * self.weight, self.target)
        return input

    def backward(self, retain_graph: bool = True) -> Tensor:
        """Run the backward pass of the kept loss and return the loss."""
        return _backward(self, retain_graph=retain_graph)


class StyleLoss(nn.Module):
    """Return the input, keep a loss of scaled Gram matrices, and run a backward on demand.

    The same pattern as :class:`ContentLoss`; new code uses :class:`backpass.losses.StyleLoss`.

    Args:
        target: The normalised Gram matrices to come close to, ``(N, C, C)``. The old tutorial
            knew ``N = 1`` only.
        weight: Multiplies both Gram matrices, so the loss has the factor ``weight ** 2``.

    Example:
        >>> import torch
        >>> from backpass import legacy
        >>> criterion = legacy.StyleLoss(torch.zeros(1, 1, 1), weight=3)
        >>> x = torch.tensor([[[2.0, 0.0]]], requires_grad=True)
        >>> _ = criterion(x)
        >>> criterion.backward().item()
        36.0
    """

    target: Tensor
    loss: Tensor

    def __init__(self, target: Tensor, weight: float) -> None:
        super().__init__()
        _checks.floating("legacy.StyleLoss", target=target)
        square = target.dim() == 3 and target.shape[1] == target.shape[2]
        _checks.shape("legacy.StyleLoss", "target", target, "(N, C, C)", holds=square)
        self.weight = _checks.number("legacy.StyleLoss", "weight", weight)
        self.register_buffer("target", target.detach() * self.weight)

    def forward(self, input: Tensor) -> Tensor:
        """Keep the loss and return ``input`` itself."""
        self.loss = F.mse_loss(normalised_gram(input) * self.weight, self.target)
        return input

    def backward(self, retain_graph: bool = True) -> Tensor:
        """Run the backward pass of the kept loss and return the loss."""
        return _backward(self, retain_graph=retain_graph)


def _backward(module: ContentLoss | StyleLoss, *, retain_graph: bool) -> Tensor:
    if "loss" not in module.__dict__:
        name = f"legacy.{type(module).__name__}"
        raise RuntimeError(f"{name}: expected a forward before backward, got none; call it first")
    module.loss.backward(retain_graph=retain_graph)  # type: ignore[no-untyped-call]
    return module.loss
