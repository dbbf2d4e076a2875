"""The style loss, forward and backward, against the tutorial's arithmetic, as it is and compiled."""

from collections.abc import Iterator

import torch
from _paired import Row, difference, interleaved, main, peak_megabytes, row, saved_megabytes
from torch import Tensor
from torch.nn import functional as F

from backpass.losses import style_loss

SHAPES = [(64, 256), (128, 128), (256, 64), (512, 32)]


def tutorial(features: Tensor, target: Tensor) -> Tensor:
    """Return the loss as the tutorial computes it."""
    matrix = features.view(features.shape[1], -1)
    return F.mse_loss(matrix @ matrix.T / matrix.numel(), target)


def measure(rounds: int) -> Iterator[Row]:
    """Yield two rows for each shape."""
    compiled = torch.compile(tutorial, dynamic=False)
    for channels, side in SHAPES:
        generator = torch.Generator().manual_seed(0)
        features = torch.randn(1, channels, side, side, generator=generator, requires_grad=True)
        target = torch.randn(channels, channels, generator=generator) / channels
        forwards = {
            "plain autograd": lambda: tutorial(features, target),
            "`torch.compile`": lambda: compiled(features, target),
            "ours": lambda: style_loss(features, target[None]),
        }
        steps = {
            name: lambda forward=forward: torch.autograd.grad(forward(), features)[0]
            for name, forward in forwards.items()
        }
        times = interleaved(steps, rounds)
        saved = {n: saved_megabytes(f, features, target) for n, f in forwards.items()}
        peak = {name: peak_megabytes(step) for name, step in steps.items()}
        for anchor in list(steps)[:2]:
            found = row(f"{channels} × {side} × {side}", anchor, times[anchor], times["ours"])
            yield found | {
                "relative_difference": difference(steps[anchor](), steps["ours"]()),
                "columns": {
                    "Saved, MB": [saved[anchor], saved["ours"]],
                    "Peak, MB": [peak[anchor], peak["ours"]],
                },
            }


if __name__ == "__main__":
    main("style_loss", measure, label="Shape", rounds=41)
