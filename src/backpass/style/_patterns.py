"""Style pictures drawn by formulas: free of rights, the same everywhere, and of any size."""

from collections.abc import Callable
from typing import Literal, TypeAlias

import torch
from torch import Generator, Tensor
from torch.nn import functional as F

Pattern: TypeAlias = Literal["glass", "rings", "swirl"]


def pattern(name: Pattern, size: int = 256, *, seed: int = 0) -> Tensor:
    """Draw a picture for its style.

    Args:
        name: ``'glass'``: coloured cells with lead between them. ``'rings'``: concentric rings
            around scattered centres. ``'swirl'``: brush strokes that follow eddies.
        size: The sides of the square, in pixels.
        seed: The seed of the places and colours.

    Returns:
        A picture ``(1, 3, size, size)`` with values in [0, 1].

    Raises:
        ValueError: If the name is unknown or the size is not positive.

    Example:
        >>> from backpass.style import pattern
        >>> pattern("glass", 64).shape
        torch.Size([1, 3, 64, 64])
    """
    if name not in PATTERNS:
        listed = ", ".join(map(repr, PATTERNS))
        raise ValueError(f"pattern: expected one of {listed}, got {name!r}")
    if size < 1:
        raise ValueError(f"pattern: expected a positive size, got {size}")
    place = torch.linspace(0, 1, size)
    points = torch.cartesian_prod(place, place)  # row and column of each pixel
    colours = PATTERNS[name](points, torch.Generator().manual_seed(seed))
    return colours.clamp(0, 1).T.contiguous().view(1, 3, size, size)


def _glass(points: Tensor, generator: Generator) -> Tensor:
    """Colour each point by the nearest centre, dark where a second one is almost as near."""
    centres = _scattered(10, generator)
    colours = _mixed(_GLASS, len(centres), generator)
    distances, nearest = torch.cdist(points, centres).topk(2, largest=False)
    glow = 1.15 - 5 * distances[:, :1]
    lead = (distances[:, 1] - distances[:, 0] < 0.011).unsqueeze(1)
    return torch.where(lead, torch.tensor([0.07, 0.06, 0.06]), colours[nearest[:, 0]] * glow)


def _rings(points: Tensor, generator: Generator) -> Tensor:
    """Colour each point by its distance from the nearest centre, in steps."""
    centres = _scattered(4, generator)
    colours = _mixed(_RINGS, 16 * 12, generator).reshape(16, 12, 3)
    distance, nearest = torch.cdist(points, centres).min(1)
    rings = 40 * distance
    edge = ((rings % 1 < 0.12) & (distance > 0.02)).unsqueeze(1)
    return torch.where(edge, torch.tensor(0.08), colours[nearest, rings.long() % 12])


def _swirl(points: Tensor, generator: Generator) -> Tensor:
    """Smear noise along the streams of a few eddies, with a light in each."""
    size = round(len(points) ** 0.5)
    centres = _scattered(3, generator)
    spins = torch.randn(9, generator=generator).sign() * 0.02
    offset = points.unsqueeze(1) - centres
    square = offset.square().sum(2, keepdim=True)
    around = torch.stack([-offset[..., 1], offset[..., 0]], 2) * spins.view(-1, 1)
    stream = (around / (square + 0.004)).sum(1) + torch.tensor([0.0, 0.12])
    stream = 0.004 * stream / stream.norm(dim=1, keepdim=True)
    fine = torch.rand(1, 1, 160, 160, generator=generator)
    broad = torch.rand(1, 1, 14, 14, generator=generator)
    tone, texture = torch.zeros(len(points)), torch.zeros(len(points))
    walked = points
    for _ in range(24):
        sampled = (2 * walked.flip(1) - 1).view(1, size, size, 2)
        texture += _looked_up(fine, sampled) / 24
        tone += _looked_up(broad, sampled) / 24
        field = stream.T.reshape(1, 2, size, size)
        step = F.grid_sample(field, sampled, padding_mode="border", align_corners=True)
        walked = walked + step.view(2, -1).T
    strokes = 1 + 2.2 * (texture - 0.5).unsqueeze(1)
    night = _between(_NIGHT, ((tone - 0.2) / 0.6).clamp(0, 1)) * strokes
    light = torch.exp(-square.squeeze(2) / 0.0022).sum(1).clamp(0, 1).unsqueeze(1)
    return torch.lerp(night, torch.tensor([0.98, 0.86, 0.35]) * strokes, light)


def _looked_up(noise: Tensor, places: Tensor) -> Tensor:
    return F.grid_sample(noise, places, padding_mode="reflection", align_corners=True).flatten()


def _scattered(count: int, generator: Generator) -> Tensor:
    """Draw one point in each cell of a grid of ``count`` by ``count``."""
    cells = torch.cartesian_prod(torch.arange(count), torch.arange(count))
    return (cells + torch.rand(count**2, 2, generator=generator)) / count


def _mixed(palette: list[tuple[float, float, float]], count: int, generator: Generator) -> Tensor:
    """Draw colours from a palette, each a little different."""
    chosen = torch.randint(len(palette), (count,), generator=generator)
    return torch.tensor(palette)[chosen] + 0.06 * torch.randn(count, 3, generator=generator)


def _between(palette: list[tuple[float, float, float]], where: Tensor) -> Tensor:
    """Interpolate a palette at numbers from 0 to 1."""
    colours = torch.tensor(palette)
    position = where * (len(palette) - 1)
    first = position.floor().clamp(max=len(palette) - 2).long()
    return torch.lerp(colours[first], colours[first + 1], (position - first).unsqueeze(1))


_GLASS = [
    (0.80, 0.12, 0.10), (0.95, 0.62, 0.10), (0.98, 0.85, 0.30), (0.10, 0.45, 0.22),
    (0.08, 0.22, 0.60), (0.20, 0.62, 0.75), (0.45, 0.15, 0.50), (0.93, 0.90, 0.80),
]  # fmt: skip
_RINGS = [
    (0.85, 0.20, 0.15), (0.95, 0.70, 0.20), (0.96, 0.93, 0.82), (0.12, 0.35, 0.55),
    (0.15, 0.60, 0.55), (0.30, 0.18, 0.40), (0.90, 0.45, 0.55),
]  # fmt: skip
_NIGHT = [
    (0.03, 0.06, 0.20), (0.08, 0.20, 0.50), (0.20, 0.42, 0.75), (0.55, 0.75, 0.85),
    (0.93, 0.90, 0.70),
]  # fmt: skip

PATTERNS: dict[str, Callable[[Tensor, Generator], Tensor]] = {
    "glass": _glass,
    "rings": _rings,
    "swirl": _swirl,
}
