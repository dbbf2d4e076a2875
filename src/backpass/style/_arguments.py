"""The rules that the arguments of a style transfer must meet, and what they are filled in with."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias, TypeVar

from torch import Tensor, nn

from backpass import _checks

T = TypeVar("T")
Layers: TypeAlias = Sequence[str] | Mapping[str, float]

SMALLEST = 32  # pixels; below that the deepest layers have none left to reflect


def picture(name: str, picture: Tensor) -> Tensor:
    """Demand one RGB picture with values in [0, 1], and return it without its graph."""
    tensors: dict[str, Any] = {name: picture}
    _checks.floating("StyleTransfer", **tensors)
    holds = picture.dim() == 4 and picture.shape[:2] == (1, 3) and picture.numel() > 0
    _checks.shape("StyleTransfer", name, picture, "(1, 3, H, W)", holds=holds)
    low, high = picture.min().item(), picture.max().item()
    if not 0 <= low <= high <= 1:
        raise ValueError(
            f"StyleTransfer: expected {name} with values in [0, 1], got {low:.3g} to {high:.3g}; "
            "divide bytes by 255"
        )
    return picture.detach()


def layers(network: nn.Module, argument: str, given: Layers | None) -> dict[str, float]:
    """Return the weight of each layer: those given, or those that the network names."""
    given = getattr(network, argument, ()) if given is None else given
    if isinstance(given, str) or not given:
        raise ValueError(
            f"StyleTransfer: expected {argument} to name layers, got {given!r}; "
            "pass a list of names from network.named_modules()"
        )
    weights = given if isinstance(given, Mapping) else dict.fromkeys(several(argument, given), 1.0)
    for layer, weight in weights.items():
        number(f"weight of {layer!r}", weight, positive=True)
    return dict(weights)


def shares(weights: Sequence[float] | None, count: int) -> list[float]:
    """Return shares that sum to one, equal ones by default."""
    weights = [1.0] * count if weights is None else several("style_weights", weights)
    if len(weights) != count or count == 0:
        raise ValueError(
            f"StyleTransfer: expected one style weight for each of one or more styles, got "
            f"{len(weights)} for {count}"
        )
    values = [number("style weight", weight, positive=True) for weight in weights]
    return [value / sum(values) for value in values]


def stages(sizes: Sequence[int], steps: int | Sequence[int]) -> list[tuple[int, int]]:
    """Return the size and the number of steps of each stage."""
    sizes = [whole("size", size, SMALLEST) for size in several("sizes", sizes)]
    counts = [steps] * len(sizes) if isinstance(steps, int) else several("steps", steps)
    if len(counts) != len(sizes) or not sizes:
        raise ValueError(
            f"StyleTransfer: expected a number of steps for each of one or more sizes, got "
            f"{len(counts)} for {len(sizes)}"
        )
    return [(size, whole("steps", count, 1)) for size, count in zip(sizes, counts, strict=True)]


def several(argument: str, values: Iterable[T]) -> list[T]:
    if not isinstance(values, Iterable):
        got = type(values).__name__  # type: ignore[unreachable]
        raise TypeError(f"StyleTransfer: expected {argument} to be a list, got {got}")
    return list(values)


def number(argument: str, value: float, *, positive: bool = False) -> float:
    """Demand a finite number that is not negative, or that is positive."""
    checked = _checks.number("StyleTransfer", argument, value)
    if checked < 0 or (positive and checked == 0):
        rule = "positive" if positive else "non-negative"
        raise ValueError(f"StyleTransfer: expected a {rule} {argument}, got {value}")
    return checked


def whole(argument: str, value: object, least: int) -> int:
    """Demand a whole number that torch can hold."""
    if isinstance(value, bool) or not isinstance(value, int):
        got = type(value).__name__
        raise TypeError(f"StyleTransfer: expected {argument} to be a whole number, got {got}")
    if not least <= value < 2**63:
        rule = f"of at least {least}" if value < least else "below 2**63"
        raise ValueError(f"StyleTransfer: expected {argument} {rule}, got {value}")
    return value


def choice(argument: str, value: str, choices: tuple[str, ...]) -> str:
    """Demand one of a few words."""
    if value not in choices:
        listed = " or ".join(map(repr, choices))
        raise ValueError(f"StyleTransfer: expected {argument} {listed}, got {value!r}")
    return value
