"""The Module around :func:`backpass.functions.relu`."""

from torch import Tensor, nn

from backpass.functions import relu


class ReLU(nn.Module):
    """Apply :func:`backpass.functions.relu`, which states the mathematics.

    It has no ``inplace`` argument: the function returns a new tensor.

    Example:
        >>> import torch
        >>> from backpass.modules import ReLU
        >>> ReLU()(torch.tensor([-1.0, 2.0]))
        tensor([0., 2.])
    """

    def forward(self, input: Tensor) -> Tensor:
        """Apply the function."""
        return relu(input)
