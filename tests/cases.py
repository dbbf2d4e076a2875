"""The table: one Case for each public operation, from which the contract is proved."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import Any, TypeAlias

import torch
from torch import Tensor
from torch.nn import functional as F

from backpass import functions, losses

Shape: TypeAlias = tuple[int, ...]

REAL = (torch.float16, torch.bfloat16, torch.float32, torch.float64)
COMPLEX = (torch.complex64, torch.complex128)


@dataclass(frozen=True, kw_only=True)
class Case:
    """What an operation promises.

    Attributes:
        operation: The public operation.
        reference: The same mathematics in elementary operations of torch.
        twin: What a user would write with torch alone; dtypes follow it, also under autocast.
        shapes: Rows of input shapes, ``None`` for an argument that is left out. The first row is
            the ordinary one, the others have sizes 0 and 1 in every dimension.
        saved: From the inputs and keywords to those inputs that are kept for backward, and to the
            number of bytes that are kept besides.
        keywords: The keyword arguments to try.
        surrogate: The function whose derivative is taken instead; ``None`` for an exact gradient.
        dtypes: The accepted dtypes.
        forward_mode: Whether forward-mode differentiation is supported; else it is refused.
    """

    operation: Callable[..., Tensor]
    reference: Callable[..., Tensor]
    twin: Callable[..., Tensor]
    shapes: Sequence[tuple[Shape | None, ...]]
    saved: Callable[..., tuple[tuple[Tensor, ...], int]]
    keywords: Sequence[Mapping[str, Any]] = ({},)
    surrogate: Callable[..., Tensor] | None = None
    dtypes: Sequence[torch.dtype] = REAL
    forward_mode: bool = False

    @property
    def name(self) -> str:
        return self.operation.__name__

    def inputs(
        self, shapes: Sequence[Shape | None] | None = None, dtype: torch.dtype = torch.float64
    ) -> list[Tensor | None]:
        """Draw leaves that require a gradient, the same ones at every call."""
        generator = torch.Generator().manual_seed(0)
        draw = torch.complex128 if dtype.is_complex else torch.float64
        return [
            None
            if shape is None
            else torch.randn(shape, dtype=draw, generator=generator).to(dtype).requires_grad_()
            for shape in shapes or self.shapes[0]
        ]


def _round(input: Tensor) -> Tensor:
    above = torch.floor(input + 0.5)
    odd_tie = (above - input == 0.5) & (above % 2 == 1)
    return above - odd_tie.to(input.dtype)


def _linear(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    output = (input.unsqueeze(-2) * weight).sum(-1)
    return output if bias is None else output + bias


def _features(input: Tensor) -> Tensor:
    return input.reshape(*input.shape[:2], prod(input.shape[2:]))


def _gram(input: Tensor, scale: float = 1.0) -> Tensor:
    features = _features(input)
    return scale * (features.unsqueeze(1) * features.unsqueeze(2)).sum(-1)


def _gram_twin(input: Tensor, scale: float = 1.0) -> Tensor:
    return scale * torch.bmm(_features(input), _features(input).mT)


def _mean_square(difference: Tensor, weight: float = 1.0, reduction: str = "mean") -> Tensor:
    reduced = {"mean": torch.mean, "sum": torch.sum, "none": torch.clone}[reduction]
    return weight * reduced(difference * difference)


def _content(input: Tensor, target: Tensor, **keywords: Any) -> Tensor:
    return _mean_square(input - target, **keywords)


def _content_twin(
    input: Tensor, target: Tensor, weight: float = 1.0, reduction: str = "mean"
) -> Tensor:
    return weight * F.mse_loss(input, target, reduction=reduction)


def _gram_mse(input: Tensor, target: Tensor, scale: float = 1.0, **keywords: Any) -> Tensor:
    return _mean_square(_gram(input, scale) - target, **keywords)


def _gram_mse_twin(input: Tensor, target: Tensor, scale: float = 1.0, **keywords: Any) -> Tensor:
    return _content_twin(_gram_twin(input, scale), target, **keywords)


def _variation(input: Tensor, p: int = 2, reduction: str = "mean") -> Tensor:
    total = input.new_zeros(())
    for difference in _differences(input):
        count = max(1, difference.numel()) if reduction == "mean" else 1
        total = total + (difference.abs() if p == 1 else difference.square()).sum() / count
    return total


def _differences(input: Tensor) -> tuple[Tensor, Tensor]:
    return input[..., 1:, :] - input[..., :-1, :], input[..., 1:] - input[..., :-1]


def _weighted_variation(input: Tensor, weight: float = 1.0, **keywords: Any) -> Tensor:
    return weight * _variation(input, **keywords)


def _variation_saved(input: Tensor, p: int = 2, **_: Any) -> tuple[tuple[Tensor, ...], int]:
    signs = sum(difference.numel() for difference in _differences(input))
    return ((), signs) if p == 1 else ((input,), 0)


def _normalisation(input: Tensor) -> float:
    return 1 / max(1, prod(input.shape[1:]))


def _style(input: Tensor, target_gram: Tensor, **keywords: Any) -> Tensor:
    return _mean_square(_gram(input, _normalisation(input)) - target_gram, **keywords)


def _style_twin(input: Tensor, target_gram: Tensor, **keywords: Any) -> Tensor:
    return _content_twin(_gram_twin(input, _normalisation(input)), target_gram, **keywords)


_ANY = [(2, 3), (), (0,), (1,), *product((0, 1, 2), repeat=3)]
_FEATURES = [(2, 3, 2, 2), (2, 3), (2, 3, 2, 1, 2), *product((0, 1, 2), repeat=3)]
_LINEAR = [
    ((4, 3), (2, 3), (2,)),
    ((4, 3), (2, 3), None),
    ((3,), (2, 3), (2,)),
    ((3,), (1, 3), None),
    ((2, 0, 3), (2, 3), (2,)),
    ((2, 1, 4, 3), (1, 3), (1,)),
    *(((n, i), (o, i), (o,)) for n, i, o in product((0, 1, 2), repeat=3)),
]
_PICTURES = [(2, 3, 4), (3, 4), (2, 2, 4, 3), *product((0, 1, 2), repeat=3)]
_POWERS = ({}, {"p": 1}, {"reduction": "sum"}, {"p": 1, "reduction": "sum"})
_REDUCTIONS = ({"reduction": "none"}, {}, {"weight": -3.0}, {"reduction": "sum", "weight": 0.5})

CASES = (
    Case(
        operation=functions.gram_matrix,
        reference=_gram,
        twin=_gram_twin,
        shapes=[(shape,) for shape in _FEATURES],
        saved=lambda input, **_: ((input,), 0),
        keywords=({}, {"scale": -0.3}),
    ),
    Case(
        operation=functions.gram_mse,
        reference=_gram_mse,
        twin=_gram_mse_twin,
        shapes=[(shape, (*shape[:2], shape[1])) for shape in _FEATURES],
        saved=lambda input, target, **_: ((input,) if input.requires_grad else (), target.nbytes),
        keywords=({}, {"scale": -0.3}, {"scale": 0.5, "reduction": "sum"}),
    ),
    Case(
        operation=functions.linear,
        reference=_linear,
        twin=F.linear,
        shapes=_LINEAR,
        saved=lambda input, weight, _: (
            tuple(x for x, y in ((input, weight), (weight, input)) if y.requires_grad),
            0,
        ),
        dtypes=(*REAL, *COMPLEX),
    ),
    Case(
        operation=functions.relu,
        reference=lambda input: torch.where(input > 0, input, 0),
        twin=F.relu,
        shapes=[(shape,) for shape in _ANY],
        saved=lambda input: ((), input.nbytes),
    ),
    Case(
        operation=functions.round_straight_through,
        reference=_round,
        twin=torch.round,
        shapes=[(shape,) for shape in _ANY],
        saved=lambda _: ((), 0),
        surrogate=torch.clone,
    ),
    Case(
        operation=functions.total_variation,
        reference=_variation,
        twin=_variation,
        shapes=[(shape,) for shape in _PICTURES],
        saved=_variation_saved,
        keywords=_POWERS,
    ),
    Case(
        operation=losses.content_loss,
        reference=_content,
        twin=_content_twin,
        shapes=[(shape, shape) for shape in _ANY],
        saved=lambda input, target, **_: ((input, target), 0),
        keywords=_REDUCTIONS,
        forward_mode=True,
    ),
    Case(
        operation=losses.style_loss,
        reference=_style,
        twin=_style_twin,
        shapes=[(shape, (*shape[:2], shape[1])) for shape in _FEATURES],
        saved=lambda input, target, **_: (
            (input, target) if input.requires_grad else (target,),
            target.nbytes,
        ),
        keywords=_REDUCTIONS,
    ),
    Case(
        operation=losses.total_variation_loss,
        reference=_weighted_variation,
        twin=_weighted_variation,
        shapes=[(shape,) for shape in _PICTURES],
        saved=_variation_saved,
        keywords=[
            {"weight": weight, **power}
            for weight, power in zip((1, -3.0, 0.5, 2.0), _POWERS, strict=True)
        ],
    ),
)
