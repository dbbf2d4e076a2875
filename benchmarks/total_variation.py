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


def measure(rounds: int) -> Iterator[Row]:
    """Yield one row for each power and size."""
    for p in (2, 1):
        for side in (256, 512):
            generator = torch.Generator().manual_seed(0)
            picture = torch.rand(1, 3, side, side, generator=generator).requires_grad_()
            forwards = {
                "plain": lambda: sliced(picture, p),
                "ours": lambda: total_variation(picture, p=p),
            }
            plain, ours = steps = [
                lambda forward=forward: torch.autograd.grad(forward(), picture)[0]
                for forward in forwards.values()
            ]
            times = interleaved({"plain": plain, "ours": ours}, rounds)
            label = f"p = {p}, 3 × {side} × {side}"
            yield row(label, "plain autograd", times["plain"], times["ours"]) | {
                "relative_difference": difference(plain(), ours()),
                "columns": {
                    "Saved, MB": [saved_megabytes(each, picture) for each in forwards.values()],
                    "Peak, MB": [peak_megabytes(step) for step in steps],
                },
            }


if __name__ == "__main__":
    main("total_variation", measure, label="Picture", rounds=101)
