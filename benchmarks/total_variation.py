"""Total variation, forward and backward, against differences of slices under plain autograd."""

from collections.abc import Iterator

import torch
from _paired import Row, difference, interleaved, main, peak_megabytes, row, saved_megabytes
from torch import Tensor

from backpass.functions import total_variation


def sliced(picture: Tensor, p: int) -> Tensor:
    """Return the total variation as most programs compute it."""
    vertical = picture[..., 1:, :] - picture[..., :-1, :]
    horizontal = picture[..., 1:] - picture[..., :-1]
    if p == 1:
        return vertical.abs().mean() + horizontal.abs().mean()
    return vertical.square().mean() + horizontal.square().mean()


def compare(rounds: int, p: int, side: int) -> Iterator[Row]:
    """Yield the row of one power and size."""
    generator = torch.Generator().manual_seed(0)
    picture = torch.rand(1, 3, side, side, generator=generator).requires_grad_()
    losses = [lambda: sliced(picture, p), lambda: total_variation(picture, p=p)]
    plain, ours = steps = [
        lambda loss=loss: torch.autograd.grad(loss(), picture)[0] for loss in losses
    ]
    times = interleaved({"plain": plain, "ours": ours}, rounds)
    label = f"p = {p}, 3 × {side} × {side}"
    yield row(label, "plain autograd", times["plain"], times["ours"]) | {
        "relative_difference": difference(plain(), ours()),
        "columns": {
            "Saved, MB": [saved_megabytes(loss, picture) for loss in losses],
            "Peak, MB": [peak_megabytes(step) for step in steps],
        },
    }


if __name__ == "__main__":
    cases = [(2, 256), (2, 512), (1, 256), (1, 512)]
    main("total_variation", compare, cases, rounds=101, label="Picture", ours="backpass")
