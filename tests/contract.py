"""The contract: each check demands one promise of an operation, real or mutated."""

import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from functools import partial
from itertools import product
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.autograd import gradcheck, gradgradcheck
from torch.autograd.function import BackwardCFunction
from torch.autograd.gradcheck import GradcheckError
from torch.autograd.graph import Node, saved_tensors_hooks
from torch.testing import assert_close

from cases import Case

Operation = Callable[..., Tensor]

NO_FORWARD_MODE = (
    r"^You must implement the jvp function for custom autograd\.Function to use it with "
    r"forward mode AD\.$"
)


@contextmanager
def _tolerating(message: str, category: type[Warning]) -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message, category)
        yield


def check_value(case: Case, operation: Operation) -> None:
    """Forward and gradient are the reference's, at every size and at kinks and ties."""
    for keywords, shapes in product(case.keywords, case.shapes):
        drawn = case.inputs(shapes)
        halves = [_leaf((2 * x).trunc() / 2) if x is not None else None for x in drawn]
        for inputs in (drawn, halves):
            with _uninitialised_memory_is_nan():
                output = operation(*inputs, **keywords)
                cotangent = _cotangent(output)
                actual = _gradients(output, inputs, cotangent)
            assert_close(output, case.reference(*inputs, **keywords), equal_nan=True)
            expected = _derivative(case, inputs, cotangent, **keywords)
            assert_close(actual, expected, equal_nan=True)


def check_first_derivative(case: Case, operation: Operation) -> None:
    """An exact gradient passes gradcheck, a surrogate one must not."""
    for function, inputs in _numerically(case, operation):
        if case.surrogate is None:
            assert gradcheck(function, inputs, check_batched_grad=True, check_undefined_grad=True)
        else:
            with pytest.raises(GradcheckError, match="Jacobian mismatch"):
                gradcheck(function, inputs)


def check_second_derivative(case: Case, operation: Operation) -> None:
    """The derivative of the backward is exact, whichever gradient it computes."""
    for function, inputs in _numerically(case, operation):
        assert gradgradcheck(function, inputs, check_batched_grad=True, check_undefined_grad=True)


# 2026-12, torch 2.13: the batching rule of mse_loss resizes, if only the target is batched.
@_tolerating("An output with one or more elements was resized", UserWarning)
def check_vmap(case: Case, operation: Operation) -> None:
    """``vmap`` over any inputs and any dimension is a loop, and so is its gradient."""
    samples = case.inputs([(3, *shape) for shape in case.shapes[0]])
    _, *every = product((None, 0, -1), repeat=len(samples))
    for keywords, in_dims in product(case.keywords, every):
        inputs = [
            _leaf(x[0] if dim is None else x.movedim(0, dim))
            for x, dim in zip(samples, in_dims, strict=True)
        ]
        rows = [
            [x if dim is None else x.select(dim, k) for x, dim in zip(inputs, in_dims, strict=True)]
            for k in range(3)
        ]
        expected = torch.stack([operation(*row, **keywords) for row in rows])
        with _uninitialised_memory_is_nan():
            actual = torch.vmap(partial(operation, **keywords), in_dims)(*inputs)
        assert_close(actual, expected)
        cotangent = _cotangent(expected)
        assert_close(_gradients(actual, inputs, cotangent), _gradients(expected, inputs, cotangent))


def check_func(case: Case, operation: Operation) -> None:
    """``torch.func.grad``, alone and under ``vmap``, and ``jacrev`` equal ``autograd.grad``."""
    for keywords in case.keywords:
        inputs = case.inputs()
        plain = [x.detach() for x in inputs]
        every = tuple(range(len(inputs)))
        output = operation(*inputs, **keywords)
        entries = output.flatten().unbind()

        gradient = torch.func.grad(lambda *x, k=keywords: operation(*x, **k).sum(), every)
        summed = _gradients(output.sum(), inputs)
        assert_close(gradient(*plain), summed)
        twice = torch.vmap(gradient)(*[torch.stack([x, x]) for x in plain])
        assert_close(twice, tuple(torch.stack([x, x]) for x in summed))

        rows = [_gradients(entry, inputs) for entry in entries]
        jacobian = torch.func.jacrev(partial(operation, **keywords), every)(*plain)
        expected = tuple(torch.stack(column) for column in zip(*rows, strict=True))
        assert_close(
            jacobian,
            tuple(j.reshape(output.shape + x.shape) for j, x in zip(expected, inputs, strict=True)),
        )


def check_reverse_over_reverse(case: Case, operation: Operation) -> None:
    """``jacrev(jacrev(f))`` is the second derivative of the function that is differentiated."""
    for keywords in case.keywords:
        plain = [x.detach() for x in case.inputs()]
        every = tuple(range(len(plain)))

        def second(function: Operation, keywords=keywords, every=every) -> Operation:
            return torch.func.jacrev(torch.func.jacrev(partial(function, **keywords), every), every)

        assert_close(second(operation)(*plain), second(case.surrogate or case.reference)(*plain))


# 2026-12, torch 2.13: its forward mode loads decompositions with what it has deprecated itself.
@_tolerating("`torch.jit.script` is deprecated", DeprecationWarning)
def check_forward_mode(case: Case, operation: Operation) -> None:
    """Forward mode gives the reference's derivatives, or is refused in torch's own words."""
    for transform, keywords in product((torch.func.jacfwd, torch.func.hessian), case.keywords):
        plain = [x.detach() for x in case.inputs()]
        every = tuple(range(len(plain)))
        function = transform(partial(operation, **keywords), every)
        if case.forward_mode:
            expected = transform(partial(case.reference, **keywords), every)(*plain)
            assert_close(function(*plain), expected)
        else:
            with pytest.raises(RuntimeError, match=NO_FORWARD_MODE):
                function(*plain)


# 2026-12, torch 2.13: dynamo makes an instance of Function to stand for the context.
@_tolerating(".*should not be instantiated", DeprecationWarning)
def check_compile(case: Case, operation: Operation) -> None:
    """``torch.compile`` takes forward and backward as one graph each, and changes nothing."""
    for backend, keywords in product(("eager", "aot_eager"), case.keywords):
        torch._dynamo.reset()
        compiled = torch.compile(operation, fullgraph=True, backend=backend)
        inputs = case.inputs()
        output, expected = compiled(*inputs, **keywords), operation(*inputs, **keywords)
        assert_close(output, expected)
        cotangent = _cotangent(output)
        assert_close(_gradients(output, inputs, cotangent), _gradients(expected, inputs, cotangent))


# 2026-12, torch 2.13: dynamo makes an instance of Function to stand for the context.
@_tolerating(".*should not be instantiated", DeprecationWarning)
def check_compile_symbolic(case: Case, operation: Operation) -> None:
    """It is compiled as well where sizes and numbers are symbols, which no rule may ask to be real."""
    for keywords in case.keywords:
        torch._dynamo.reset()
        compiled = torch.compile(operation, fullgraph=True, backend="eager", dynamic=True)
        for factor, shapes in enumerate(case.shapes[:3], 1):
            inputs = case.inputs(shapes)
            varied = {k: factor * v if isinstance(v, float) else v for k, v in keywords.items()}
            assert_close(compiled(*inputs, **varied), operation(*inputs, **varied), equal_nan=True)


def check_dtypes(case: Case, operation: Operation) -> None:
    """Output and gradient have the dtype of the inputs, and are right to its precision."""
    for dtype, keywords in product(case.dtypes, case.keywords):
        inputs = case.inputs(dtype=dtype)
        wide = [
            _leaf(x.to(torch.complex128 if dtype.is_complex else torch.float64)) for x in inputs
        ]
        output = operation(*inputs, **keywords)
        expected = case.reference(*wide, **keywords)
        cotangent = torch.ones_like(output)
        near = 16 * torch.finfo(dtype).eps
        assert_close(output, expected.to(dtype), rtol=near, atol=near)
        assert_close(
            _gradients(output, inputs, cotangent),
            tuple(
                g.to(dtype)
                for g in _derivative(case, wide, cotangent.to(expected.dtype), **keywords)
            ),
            rtol=near,
            atol=near,
        )


def check_autocast(case: Case, operation: Operation) -> None:
    """Under autocast dtypes and values are the twin's, wherever the backward runs."""
    near = {"rtol": 0.1, "atol": 0.1}
    arguments = len(case.shapes[0])
    uniform = [(dtype,) * arguments for dtype in case.dtypes]
    mixed = [(torch.float32, torch.bfloat16, torch.float32)[:arguments]]
    for dtypes, keywords, inside in product(uniform + mixed, case.keywords, (True, False)):
        outputs, gradients = [], []
        for function in (operation, case.twin):
            inputs = [case.inputs(dtype=dtype)[position] for position, dtype in enumerate(dtypes)]
            autocast = torch.autocast("cpu", dtype=torch.bfloat16)
            with autocast:
                output = function(*inputs, **keywords)
                derived = output
                if function is case.twin and case.surrogate is not None:
                    derived = case.surrogate(*inputs, **keywords)
            with autocast if inside else nullcontext():
                gradients.append(_gradients(derived, inputs, torch.ones_like(output)))
            outputs.append(output)
        assert_close(*outputs, **near)
        assert_close(*gradients, **near)


def check_contents_unread(case: Case, operation: Operation) -> None:
    """Forward and backward work without any values, so they never wait for a device."""
    for dtype, keywords in product(case.dtypes, case.keywords):
        real = case.inputs(dtype=dtype)
        inputs = [_leaf(x.to("meta")) for x in real]
        output = operation(*inputs, **keywords)
        assert_close(output, case.reference(*real, **keywords).to("meta"))
        gradients = _gradients(output, inputs, torch.empty_like(output))
        assert_close(gradients, tuple(x.detach() for x in inputs))


def check_layouts(case: Case, operation: Operation) -> None:
    """Strides of the inputs do not matter: transposed, skipping, expanded, overlapping."""
    for keywords in case.keywords:
        for laid_out in zip(*(_layouts(x.detach()) for x in case.inputs()), strict=True):
            inputs = [x.requires_grad_() for x in laid_out]
            packed = [_leaf(_contiguous(x)) for x in inputs]
            output, expected = operation(*inputs, **keywords), operation(*packed, **keywords)
            assert_close(output, expected)
            cotangent = _cotangent(output)
            assert_close(
                _gradients(output, inputs, cotangent), _gradients(expected, packed, cotangent)
            )


def check_cotangents(case: Case, operation: Operation) -> None:
    """Strides of the cotangent do not matter either, and backward never writes into it."""
    for keywords in case.keywords:
        inputs = case.inputs()
        for cotangent in _layouts(_cotangent(operation(*inputs, **keywords))):
            before, version = _contiguous(cotangent), cotangent._version
            actual = _gradients(operation(*inputs, **keywords), inputs, cotangent)
            assert cotangent._version == version, "backward has written into the cotangent"
            assert_close(cotangent, before, rtol=0, atol=0)
            assert_close(actual, _derivative(case, inputs, before, **keywords))


def check_backward_by_hand(case: Case, operation: Operation) -> None:
    """Without the engine, which reduces and casts, backward returns the same gradients."""
    for dtype, keywords in product(case.dtypes, case.keywords):
        inputs = case.inputs(dtype=dtype)
        output = operation(*inputs, **keywords)
        if isinstance(output.grad_fn, BackwardCFunction):
            cotangent = torch.ones_like(output)
            others = [
                torch.zeros(m.shape, dtype=m.dtype) for m in output.grad_fn._input_metadata[1:]
            ]
            by_hand = output.grad_fn.apply(cotangent, *others)
            by_hand = by_hand if isinstance(by_hand, tuple) else (by_hand,)
            tensors = tuple(g for g in by_hand if g is not None)
            assert_close(tensors, _gradients(output, inputs, cotangent))


def check_context(case: Case, operation: Operation) -> None:
    """No node keeps a tensor as an attribute, where hooks and version checks do not see it."""
    for keywords in case.keywords:
        for node in _nodes(operation(*case.inputs(), **keywords).grad_fn):
            kept = {k: v for k, v in getattr(node, "__dict__", {}).items() if _holds_tensor(v)}
            assert not kept, f"{node.name()} keeps a tensor as {', '.join(kept)}"


def check_aliasing(case: Case, operation: Operation) -> None:
    """The output is memory of its own, which may be written, and the inputs stay as they are."""
    for keywords, recorded in product(case.keywords, (True, False)):
        inputs = case.inputs()
        before = [(x.clone(), x._version) for x in inputs]
        with torch.set_grad_enabled(recorded):
            output = operation(*inputs, **keywords)
        storage = output.untyped_storage().data_ptr()
        assert storage not in {x.untyped_storage().data_ptr() for x in inputs}, "output is an input"
        output.add_(1)
        for x, (value, version) in zip(inputs, before, strict=True):
            assert x._version == version, "an input was written"
            assert_close(x, value, rtol=0, atol=0)


def check_saved(case: Case, operation: Operation) -> None:
    """For backward are kept the inputs that the table says, and so many bytes besides."""
    _, *some = product((False, True), repeat=len(case.inputs()))
    for keywords, needed in product(case.keywords, some):
        inputs = [x.requires_grad_(n) for x, n in zip(case.inputs(), needed, strict=True)]
        kept, owned = [], []
        addresses = {x.untyped_storage().data_ptr() for x in inputs}

        def pack(tensor: Tensor, kept=kept, owned=owned, addresses=addresses) -> Tensor:
            given = tensor.untyped_storage().data_ptr() in addresses
            (kept if given else owned).append(tensor)
            return tensor

        with saved_tensors_hooks(pack, lambda tensor: tensor):
            operation(*inputs, **keywords)
        expected, size = case.saved(*inputs, **keywords)
        assert {x.data_ptr() for x in kept} == {x.data_ptr() for x in expected}, "other inputs kept"
        assert sum(x.nbytes for x in owned) == size, "other bytes kept"


CHECKS = tuple(value for name, value in list(globals().items()) if name.startswith("check_"))


def _leaf(tensor: Tensor) -> Tensor:
    return tensor.detach().requires_grad_()


def _contiguous(tensor: Tensor) -> Tensor:
    return tensor.detach().clone(memory_format=torch.contiguous_format)


def _cotangent(output: Tensor) -> Tensor:
    """Return different numbers of both signs, in no symmetry."""
    return torch.linspace(-1, 2, output.numel(), dtype=output.dtype).reshape(output.shape)


def _gradients(
    output: Tensor, inputs: Sequence[Tensor | None], cotangent: Tensor | None = None
) -> tuple[Tensor, ...]:
    """Return the gradients of the inputs that are there."""
    wanted = [x for x in inputs if x is not None]
    return torch.autograd.grad(output, wanted, cotangent, retain_graph=True)


def _derivative(
    case: Case, inputs: Sequence[Tensor | None], cotangent: Tensor, **keywords: Any
) -> tuple[Tensor, ...]:
    """Return the gradients that the case promises, computed by autograd."""
    differentiated = case.surrogate or case.reference
    return _gradients(differentiated(*inputs, **keywords), inputs, cotangent)


def _numerically(case: Case, operation: Operation) -> Iterator[tuple[Operation, Any]]:
    precise = [dtype for dtype in (torch.float64, torch.complex128) if dtype in case.dtypes]
    for keywords, dtype in product(case.keywords, precise):
        yield partial(operation, **keywords), case.inputs(dtype=dtype)


def _layouts(tensor: Tensor) -> Iterator[Tensor]:
    """Yield tensors of the same shape, values partly others, in unusual strides."""
    backwards = tuple(reversed(range(tensor.dim())))
    yield _contiguous(tensor.permute(backwards)).permute(backwards)
    yield torch.stack([tensor, tensor], -1)[..., 0]
    yield tensor.flatten()[0].expand(tensor.shape)
    yield tensor.flatten().as_strided(tensor.shape, (1,) * tensor.dim())


def _nodes(root: Node | None) -> set[Node]:
    found, pending = set(), [root]
    while pending:
        node = pending.pop()
        if node is not None and node not in found:
            found.add(node)
            pending.extend(parent for parent, _ in node.next_functions)
    return found


def _holds_tensor(value: object) -> bool:
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list | tuple | set):
        return any(map(_holds_tensor, value))
    return isinstance(value, Tensor)


@contextmanager
def _uninitialised_memory_is_nan() -> Iterator[None]:
    torch.use_deterministic_algorithms(True)
    try:
        yield
    finally:
        torch.use_deterministic_algorithms(False)
