"""One iteration of a style transfer, with the losses of backpass against plain ones."""

from collections.abc import Callable, Iterator

import torch
from _objective import objective
from _paired import Row, difference, interleaved, main, row
from torch import Tensor

from backpass.style import efficientnet_lite0, pattern


def iteration(total: Callable[[Tensor], Tensor], start: Tensor) -> Callable[[], None]:
    """Return a step that descends with Adam on a canvas of its own."""
    canvas = start.clone().requires_grad_()
    adam = torch.optim.Adam([canvas], lr=0.03)

    def step() -> None:
        adam.zero_grad()
        total(canvas).backward()
        adam.step()
        with torch.no_grad():
            canvas.clamp_(0, 1)

    return step


def compare(rounds: int, size: int) -> Iterator[Row]:
    """Yield the row of one size."""
    network = efficientnet_lite0()
    content, style = pattern("rings", size), pattern("glass", size)
    plain, ours = (objective(network, content, style, losses) for losses in ("plain", "ours"))
    steps = {"plain": iteration(plain, content), "ours": iteration(ours, content)}
    times = interleaved(steps, rounds)
    canvas = style.clone().requires_grad_()
    gradients = (torch.autograd.grad(total(canvas), canvas)[0] for total in (plain, ours))
    yield row(f"{size} × {size}", "plain losses", times["plain"], times["ours"]) | {
        "relative_difference": difference(*gradients)
    }


if __name__ == "__main__":
    sizes = [(128,), (256,), (384,), (512,)]
    main("iteration", compare, sizes, rounds=25, label="Picture", ours="backpass")
