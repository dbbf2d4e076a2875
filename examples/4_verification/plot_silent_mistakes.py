r"""
gradcheck passes eight mistakes, and one line finds each
========================================================

Each mistake of this page runs without an error, and ``gradcheck`` sees the right derivative. One
more line of a test shows what is wrong.

In short
--------

**gradcheck calls a Function alone and reads its numbers. What the Function does to its neighbours
needs a line of its own.** This is the Function without a mistake. Five of the eight are small
changes to it.
"""

import gc
import weakref

import matplotlib.pyplot as plt
import torch
from torch.autograd import Function, gradcheck, gradgradcheck


class Square(Function):
    @staticmethod
    def forward(input):
        return input * input

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx, grad_output):
        (input,) = ctx.saved_tensors
        return grad_output * 2 * input


# %%
# Numbers to predict
# ------------------
#
# A residual block adds the input to the output, :math:`h + h^2`. Its derivative is
#
# .. math::
#
#     \frac{d}{dh} (h + h^2) = 1 + 2h
#
# and at 3 this is 7. The first Function below multiplies ``grad_output`` in place by :math:`2h`.
# The block uses the same tensor for the other branch, which adds :math:`2h` instead of 1. So the
# gradient is no longer 7. It is **12**.
#
# And of the eight mistakes, how many does ``gradcheck`` find? **None.** ``gradgradcheck`` finds
# two.
#
# Two helpers: an input, and a call of a check. A function that works in place needs an input that
# is not a leaf, so every function is checked on a product of the input. A helper that never finds
# anything would prove nothing: this one finds a derivative that is half of the right one.


def leaf():
    return torch.tensor([1.0, 2.0, 3.0], dtype=torch.float64, requires_grad=True)


def finds(check, function):
    try:
        check(lambda input: function(input * 1), leaf())
    except RuntimeError:
        return True
    return False


print(finds(gradcheck, lambda input: input.detach() * input))

# %%
# 1. Writing to grad_output
# -------------------------
#
# The backward saves an allocation and changes a tensor that is not its own. The derivative is
# right, but whoever shares ``grad_output`` gets other numbers. A plain ``sum`` after the block
# would hide this: its ``grad_output`` is one number, expanded, which torch refuses to change in
# place.


class WritesGradOutput(Square):
    @staticmethod
    def backward(ctx, grad_output):
        (input,) = ctx.saved_tensors
        return grad_output.mul_(2 * input)


def residual_gradient(function):
    input = leaf()
    hidden = input * 1
    (hidden + function(hidden)).backward(torch.ones_like(hidden))
    return input.grad


print(residual_gradient(Square.apply))
print(residual_gradient(WritesGradOutput.apply))

# %%
# A detector gets a function and says whether it has the mistake. This one uses that every tensor
# counts its changes in place: after the backward the count must still be 0.


def writes_grad_output(function):
    grad_output = torch.ones(3, dtype=torch.float64)
    function(leaf()).backward(grad_output)
    return grad_output._version > 0


# %%
# 2. An input kept on ctx
# -----------------------
#
# The same count protects saved tensors: ``save_for_backward`` writes it down, and the backward
# compares. A tensor that is a plain attribute of ``ctx`` has no such protection. If it is changed
# after the forward, the gradient is wrong, here by a factor of 10.


class KeepsInput(Square):
    @staticmethod
    def setup_context(ctx, inputs, output):
        (ctx.input,) = inputs

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * 2 * ctx.input


def gradient_after_change(function):
    input = leaf()
    hidden = input * 1
    output = function(hidden)
    hidden.mul_(10)
    output.sum().backward()
    return input.grad


print(gradient_after_change(KeepsInput.apply))
try:
    gradient_after_change(Square.apply)
except RuntimeError as error:
    print(str(error).split(":")[0])

# %%
# The detector: ``ctx`` is the object that the output has as its ``grad_fn``. None of its attributes
# may be a tensor.


def has_tensor_on_ctx(function):
    return any(torch.is_tensor(value) for value in vars(function(leaf()).grad_fn).values())


# %%
# 3. The output kept on ctx
# -------------------------
#
# Perhaps for a look in the debugger. The output holds its ``grad_fn``, and the ``grad_fn`` now
# holds the output. Such a circle is not freed when the last name goes. It waits for the garbage
# collector of Python, which counts objects and not bytes. ``save_for_backward`` makes no circle.


class KeepsOutput(Square):
    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)
        ctx.output = output


def alive_after_five_calls(function):
    gc.collect()
    outputs = weakref.WeakSet(function(leaf()) for _ in range(5))
    return len(outputs)


print(alive_after_five_calls(Square.apply))
print(alive_after_five_calls(KeepsOutput.apply))

# %%
# The detector: a weak reference does not keep the output alive. After ``del`` it must be empty.


def leaks_output(function):
    output = function(leaf())
    reference = weakref.ref(output)
    del output
    return reference() is not None


# %%
# 4. An intermediate kept on ctx
# ------------------------------
#
# ``setup_context`` runs without recording, so the product :math:`2h` has no history. The first
# derivative is right. The second one lacks the term that goes through ``slope``: it should be 2,
# and it is missing.


class KeepsSlope(Square):
    @staticmethod
    def setup_context(ctx, inputs, output):
        (input,) = inputs
        ctx.slope = 2 * input

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * ctx.slope


def second_derivative(function):
    input, grad_output = leaf(), torch.ones(3, dtype=torch.float64, requires_grad=True)
    (first,) = torch.autograd.grad(function(input), input, grad_output, create_graph=True)
    return torch.autograd.grad(first.sum(), input, allow_unused=True)[0]


print(second_derivative(Square.apply))
print(second_derivative(KeepsSlope.apply))

# %%
# The detector: ``gradgradcheck`` itself.


def loses_second_derivative(function):
    return finds(gradgradcheck, function)


# %%
# 5. A captured parameter
# -----------------------
#
# Autograd sees the arguments of ``apply``, and nothing else. A parameter that the forward takes
# from outside gets no gradient and is never trained. The check of the input finds nothing wrong.

weight = torch.tensor(5.0, dtype=torch.float64, requires_grad=True)


class CapturesWeight(Function):
    @staticmethod
    def forward(input):
        return input * weight

    @staticmethod
    def setup_context(ctx, inputs, output):
        pass

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * weight


class TakesWeight(Function):
    @staticmethod
    def forward(input, weight):
        return input * weight

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx, grad_output):
        input, weight = ctx.saved_tensors
        return grad_output * weight, (grad_output * input).sum()


def with_weight(input):
    return TakesWeight.apply(input, weight)


# %%
# The detector: run a backward and look at the parameter.


def forgets_weight(function):
    weight.grad = None
    function(leaf()).sum().backward()
    return weight.grad is None


forgets_weight(CapturesWeight.apply)
print(weight.grad)
forgets_weight(with_weight)
print(weight.grad)

# %%
# 6. An unmarked change of the input
# ----------------------------------
#
# The forward overwrites its input, and autograd is not told. For whoever uses ``hidden`` afterwards
# its history is out of date: both branches have the value :math:`3x`, so the gradient of their sum
# should be 6. ``mark_dirty`` tells it.


class Triples(Function):
    @staticmethod
    def forward(input):
        return input.mul_(3)

    @staticmethod
    def setup_context(ctx, inputs, output):
        pass

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * 3


class MarksDirty(Triples):
    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.mark_dirty(*inputs)


def gradient_of_both(function):
    input = leaf()
    hidden = input * 1
    output = function(hidden)
    (hidden + output).sum().backward()
    return input.grad


print(gradient_of_both(Triples.apply))
print(gradient_of_both(MarksDirty.apply))

# %%
# The detector: a changed input must have the ``grad_fn`` of the output as its own.


def changes_input(function):
    hidden = leaf() * 1
    output = function(hidden)
    return hidden._version > 0 and hidden.grad_fn is not output.grad_fn


# %%
# 7. A dense grad_output taken for granted
# ----------------------------------------
#
# A kernel in C gets a pointer and reads the numbers one after the other. ``as_strided`` does the
# same here. But a ``grad_output`` may be a view with gaps: after ``torch.stack`` it is one column
# of a matrix. The backward then reads numbers of the neighbour. ``grad_output.contiguous()`` before
# the kernel is the repair. The gradient should be 2, 4, 6.


class ReadsMemory(Square):
    @staticmethod
    def backward(ctx, grad_output):
        (input,) = ctx.saved_tensors
        return grad_output.as_strided((3,), (1,)) * 2 * input


def gradient_through_stack(function):
    input = leaf()
    columns = torch.stack([function(input), torch.zeros_like(input)], dim=1)
    (columns * torch.tensor([1.0, 10.0])).sum().backward()
    return input.grad


print(gradient_through_stack(Square.apply))
print(gradient_through_stack(ReadsMemory.apply))

# %%
# The detector: the same numbers with gaps and without must give the same gradient.


def assumes_contiguous(function):
    input, grad_output = leaf(), torch.arange(6, dtype=torch.float64)[::2]
    (with_gaps,) = torch.autograd.grad(function(input), input, grad_output)
    (without,) = torch.autograd.grad(function(input), input, grad_output.contiguous())
    return not torch.equal(with_gaps, without)


# %%
# 8. A backward on a Module
# -------------------------
#
# This Module wants half the gradient. Nothing in autograd calls a method of a Module: the gradient
# is that of the forward, and so the check passes. A Module with a gradient of its own needs a
# Function inside.


class HalvesGradient(torch.nn.Module):
    calls = 0

    def forward(self, input):
        return input * input

    def backward(self, grad_output):
        self.calls += 1
        return grad_output / 2


class SquareModule(torch.nn.Module):
    def forward(self, input):
        return Square.apply(input)


module = HalvesGradient()
input = leaf()
module(input).sum().backward()
print(input.grad, module.calls)

# %%
# The detector: no Module of torch has a ``backward``, so none of yours needs one.


def has_dead_backward(function):
    return hasattr(function, "backward")


# %%
# The picture
# -----------
#
# Now all of it together: each mistake against ``gradcheck``, ``gradgradcheck`` and its own
# detector. The last column is the proof that a detector can also say no: it runs on the repaired
# Function.

torch.manual_seed(0)
mistakes = [
    (WritesGradOutput.apply, Square.apply, writes_grad_output),
    (KeepsInput.apply, Square.apply, has_tensor_on_ctx),
    (KeepsOutput.apply, Square.apply, leaks_output),
    (KeepsSlope.apply, Square.apply, loses_second_derivative),
    (CapturesWeight.apply, with_weight, forgets_weight),
    (Triples.apply, MarksDirty.apply, changes_input),
    (ReadsMemory.apply, Square.apply, assumes_contiguous),
    (module, SquareModule(), has_dead_backward),
]
found = []
for wrong, repaired, detector in mistakes:
    checks = [finds(gradcheck, wrong), finds(gradgradcheck, wrong)]
    found.append([*checks, detector(wrong), detector(repaired)])
    print(f"{detector.__name__:24}", *found[-1])

figure, ax = plt.subplots(figsize=(7, 4), layout="constrained")
ax.imshow(found, cmap="Blues", vmin=0, vmax=2.5, aspect="auto")
for row, cells in enumerate(found):
    for column, cell in enumerate(cells):
        ax.text(column, row, cell, ha="center", va="center", fontsize=9)
ax.set_xticks(range(4), ["gradcheck", "gradgradcheck", "detector(wrong)", "detector(repaired)"])
ax.set_yticks(range(8), [detector.__name__ for _, _, detector in mistakes])
ax.set(title="found")

# %%
# ``gradgradcheck`` finds the lost second derivative, for which it is made. It finds the first
# mistake by accident: there ``grad_output`` is a leaf that requires a gradient, and such a tensor
# cannot be changed in place.

try:
    gradgradcheck(WritesGradOutput.apply, leaf())
except RuntimeError as error:
    print(error)

# %%
# Try it
# ------
#
# 1. Change ``grad_output.mul_(2 * input)`` to ``grad_output.clone().mul_(2 * input)`` and predict
#    the gradient of the residual block at 3.
# 2. One of the detectors finds three of the mistakes. Which one?
# 3. Call ``gradgradcheck`` with ``gen_non_contig_grad_outputs=True``. Does it find the seventh
#    mistake?
#
# Answers
# -------
#
# 1. It is 7 again.


class ClonesFirst(Square):
    @staticmethod
    def backward(ctx, grad_output):
        (input,) = ctx.saved_tensors
        return grad_output.clone().mul_(2 * input)


print(residual_gradient(ClonesFirst.apply)[2].item())

# %%
# 2. ``has_tensor_on_ctx``. If you keep one line of this page, keep this one.

print([has_tensor_on_ctx(cls.apply) for cls in (KeepsInput, KeepsOutput, KeepsSlope)])

# %%
# 3. No. It does hand out a ``grad_output`` with gaps. But it compares the backward with its own
#    derivative, and never with the forward.


def with_gaps(function, inputs):
    return gradgradcheck(function, inputs, gen_non_contig_grad_outputs=True)


print(finds(with_gaps, ReadsMemory.apply))

# %%
# The residual block had the gradient 12 instead of 7. ``gradcheck`` found none of the mistakes,
# ``gradgradcheck`` two, and the detectors all eight and nothing else.

assert residual_gradient(WritesGradOutput.apply)[2] == 12
assert torch.tensor(found).sum(dim=0).tolist() == [0, 2, 8, 0]

# %%
# Next
# ----
#
# - :ref:`sphx_glr_gallery_4_verification_plot_gradcheck.py`: what the check does see.
# - :ref:`guide-writing-a-function`: the rules behind these mistakes.
# - :ref:`sphx_glr_gallery_3_migration_plot_legacy_function.py`: old code, where several of them
#   come from.
