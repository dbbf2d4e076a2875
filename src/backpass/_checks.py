"""The rules that inputs must meet; every error has the form ``name: expected …, got …; hint``.

No rule reads a tensor's contents: that would synchronise a GPU and break ``torch.compile``.
"""

import sys
from typing import Literal, TypeAlias, get_args

import torch
from torch import Tensor

Reduction: TypeAlias = Literal["mean", "sum", "none"]
ToANumber: TypeAlias = Literal["mean", "sum"]

REAL = (torch.float16, torch.bfloat16, torch.float32, torch.float64)
COMPLEX = (torch.complex64, torch.complex128)
LARGEST = sys.float_info.max


def floating(name: str, *, allow_complex: bool = False, **tensors: object) -> None:
    """Demand dense tensors of a floating-point dtype with which torch computes."""
    dtypes = REAL + COMPLEX if allow_complex else REAL
    kind = "floating-point or complex" if allow_complex else "real floating-point"
    for argument, tensor in tensors.items():
        if not isinstance(tensor, Tensor):
            got = type(tensor).__name__
            raise TypeError(
                f"{name}: expected {argument} to be a torch.Tensor, got {got}; "
                "wrap it in torch.as_tensor"
            )
        if tensor.layout != torch.strided:
            raise TypeError(
                f"{name}: expected {argument} to be a dense tensor, got the layout "
                f"{tensor.layout}; convert it with {argument}.to_dense()"
            )
        if tensor.dtype not in dtypes:
            raise TypeError(
                f"{name}: expected {argument} of a {kind} dtype, got {tensor.dtype}; "
                f"convert it, for example with {argument}.to(torch.float32)"
            )


def alike(name: str, **tensors: Tensor | None) -> None:
    """Demand one dtype, as autocast leaves it, and one device, those of the first tensor."""
    (first, reference), *others = ((k, t) for k, t in tensors.items() if t is not None)
    for argument, tensor in others:
        if _autocast_dtype(tensor) != _autocast_dtype(reference):
            raise TypeError(
                f"{name}: expected {argument} of dtype {reference.dtype} as {first}, "
                f"got {tensor.dtype}; convert one of them with .to()"
            )
        if tensor.device != reference.device:
            raise ValueError(
                f"{name}: expected {argument} on {reference.device} as {first}, "
                f"got {tensor.device}; move one of them with .to()"
            )


def shape(name: str, argument: str, tensor: Tensor, expected: str, *, holds: bool) -> None:
    """Demand that ``holds``, a statement about the shape that ``expected`` says in words."""
    if not holds:
        raise ValueError(f"{name}: expected {argument} of shape {expected}, got {_of(tensor)}")


def number(name: str, argument: str, value: object) -> float:
    """Demand a finite Python number: a tensor here would get no gradient, silently."""
    # A compiler may trace a number as a symbol, of which math.isfinite and float know nothing.
    if isinstance(value, bool) or not isinstance(
        value, int | float | torch.SymInt | torch.SymFloat
    ):
        raise TypeError(
            f"{name}: expected {argument} to be a Python number, got {type(value).__name__}; "
            "multiply the result where a tensor is meant"
        )
    if not -LARGEST <= value <= LARGEST:
        raise ValueError(f"{name}: expected a finite {argument}, got {value}")
    return value  # type: ignore[return-value]  # a symbol stands for a float


def reduction(name: str, value: str) -> None:
    """Demand one of the three reductions."""
    if value not in get_args(Reduction):
        raise ValueError(f"{name}: expected reduction 'mean', 'sum' or 'none', got {value!r}")


def to_a_number(name: str, value: str) -> None:
    """Demand a reduction that leaves one number."""
    if value not in get_args(ToANumber):
        raise ValueError(f"{name}: expected reduction 'mean' or 'sum', got {value!r}")


def power(name: str, value: int) -> None:
    """Demand the power of an absolute or of a squared difference."""
    if value not in (1, 2):
        raise ValueError(f"{name}: expected p to be 1 or 2, got {value!r}")


def autocast(tensor: Tensor, dtype: torch.dtype | None = None) -> Tensor:
    """Cast as autocast casts the operands of a matrix product; ``float64`` is left as it is.

    ``dtype`` replaces autocast's own: ``torch.float32`` is that of its losses.

    ``torch.amp.custom_fwd`` would do this, but cannot be combined with ``setup_context``
    (pytorch/pytorch#132388): use it instead as soon as that is fixed.
    """
    return tensor.to(_autocast_dtype(tensor, dtype))


def _autocast_dtype(tensor: Tensor, dtype: torch.dtype | None = None) -> torch.dtype:
    device = tensor.device.type
    eligible = tensor.is_floating_point() and tensor.dtype != torch.float64
    # Of the meta device torch does not even answer whether autocast is enabled.
    if eligible and torch.amp.is_autocast_available(device) and torch.is_autocast_enabled(device):
        return dtype or torch.get_autocast_dtype(device)
    return tensor.dtype


def _of(tensor: Tensor) -> str:
    return str(tuple(tensor.shape))
