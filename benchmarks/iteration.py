"""One iteration of a style transfer, with the losses of backpass against plain ones."""

from collections.abc import Iterator

import torch
from _objective import objective
from _paired import Row, difference, interleaved, main, row
from torch import Tensor

from backpass.style import efficientnet_lite0, pattern


def measure(rounds: int) -> Iterator[Row]:
    """Yield one row for each size."""
    network = efficientnet_lite0()
    for size in (128, 256, 384, 512):
        content, style = pattern("rings", size), pattern("glass", size)
        gradients, steps = {}, {}
        for losses in ("plain", "ours"):
            total = objective(network, content, style, losses)
            canvas = content.clone().requires_grad_()
            (gradients[losses],) = torch.autograd.grad(total(canvas), canvas)
            adam = torch.optim.Adam([canvas], lr=0.03)

            def step(total=total, canvas=canvas, adam=adam) -> Tensor:  # noqa: ANN001
                adam.zero_grad()
                total(canvas).backward()
                adam.step()
                with torch.no_grad():
                    return canvas.clamp_(0, 1)

            steps[losses] = step
        times = interleaved(steps, rounds)
        yield row(f"{size} × {size}", "plain losses", times["plain"], times["ours"]) | {
            "relative_difference": difference(gradients["plain"], gradients["ours"])
        }


if __name__ == "__main__":
    main("iteration", measure, label="Picture", rounds=25)
