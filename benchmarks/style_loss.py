"""The style loss, forward and backward, against the tutorial's arithmetic, as it is and compiled."""

from collections.abc import Iterator

import torch
from _paired import Row, difference, interleaved, main, peak_megabytes, row, saved_megabytes
from gram_matrix import SHAPES
from torch import Tensor
from torch.nn import functional as F

from backpass.losses import style_loss


def tutorial(features: Tensor, target: Tensor) -> Tensor:
    """Return the loss as the tutorial computes it."""
    matrix = features.view(features.shape[1], -1)
    return F.mse_loss(matrix @ matrix.T / matrix.numel(), target)


compiled = torch.compile(tutorial, dynamic=False)


def compare(rounds: int, channels: int, side: int) -> Iterator[Row]:
    """Yield the rows of one shape."""
    generator = torch.Generator().manual_seed(0)
    features = torch.randn(1, channels, side, side, generator=generator, requires_grad=True)
    target = torch.randn(channels, channels, generator=generator) / channels
    losses = {
        "plain autograd": lambda: tutorial(features, target),
        "`torch.compile`": lambda: compiled(features, target),
        "ours": lambda: style_loss(features, target[None]),
    }
    steps = {
        name: lambda loss=loss: torch.autograd.grad(loss(), features)[0]
        for name, loss in losses.items()
    }
    times = interleaved(steps, rounds)
    saved = {name: saved_megabytes(loss, features, target) for name, loss in losses.items()}
    peak = {name: peak_megabytes(step) for name, step in steps.items()}
    for anchor in list(steps)[:-1]:
        yield row(f"{channels} × {side} × {side}", anchor, times[anchor], times["ours"]) | {
            "relative_difference": difference(steps[anchor](), steps["ours"]()),
            "columns": {
                "Saved, MB": [saved[anchor], saved["ours"]],
                "Peak, MB": [peak[anchor], peak["ours"]],
            },
        }


if __name__ == "__main__":
    main("style_loss", compare, SHAPES, rounds=41, label="Shape", ours="backpass")
