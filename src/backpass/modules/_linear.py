"""The Module around :func:`backpass.functions.linear`."""

import math
from operator import index

import torch
from torch import Tensor, nn

from backpass.functions import linear


class Linear(nn.Module):
    """Hold a weight and a bias, and apply :func:`backpass.functions.linear`.

    The parameters have the names, shapes and initial distribution of ``torch.nn.Linear``, so
    that a ``state_dict`` goes either way.

    Args:
        in_features: The size of the last dimension of the input, 0 or more.
        out_features: The size of the last dimension of the output, 0 or more.
        bias: Whether a bias is added.
        device: The device of the parameters.
        dtype: The dtype of the parameters.

    Raises:
        TypeError: If a number of features is not an integer.
        ValueError: If a number of features is negative.

    Example:
        >>> import torch
        >>> from backpass.modules import Linear
        >>> layer = Linear(3, 2)
        >>> layer(torch.zeros(4, 3)).shape
        torch.Size([4, 2])
        >>> layer
        Linear(in_features=3, out_features=2, bias=True)
    """

    bias: nn.Parameter | None

    def __init__(
        self,
        in_features: int,
        out_features: int,
        bias: bool = True,
        *,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        self.in_features = _count("in_features", in_features)
        self.out_features = _count("out_features", out_features)
        weight = torch.empty(out_features, in_features, device=device, dtype=dtype)
        self.weight = nn.Parameter(weight)
        self.bias = nn.Parameter(weight.new_empty(out_features)) if bias else None
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw weight and bias anew from the uniform distribution of ``torch.nn.Linear``."""
        bound = 1 / math.sqrt(self.in_features) if self.in_features else 0.0
        for parameter in (self.weight, self.bias):
            if parameter is not None:
                nn.init.uniform_(parameter, -bound, bound)

    def forward(self, input: Tensor) -> Tensor:
        """Apply the function to the input and the parameters."""
        return linear(input, self.weight, self.bias)

    def extra_repr(self) -> str:
        """Say the arguments."""
        return (
            f"in_features={self.in_features}, out_features={self.out_features}, "
            f"bias={self.bias is not None}"
        )


def _count(argument: str, value: int) -> int:
    try:
        value = index(value)
    except TypeError:
        raise TypeError(
            f"Linear: expected {argument} to be an integer, got {type(value).__name__}"
        ) from None
    if value < 0:
        raise ValueError(f"Linear: expected {argument} of 0 or more, got {value}")
    return value
