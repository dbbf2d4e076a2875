r"""
gradcheck compares your backward with two forwards per element
==============================================================

It moves each element of the input a little down and a little up, and looks at the outputs. This
page builds the check by hand, then shows where it gives a false alarm and where it is blind.

In short
--------

**Check with float64 inputs, away from kinks, once for each branch, and call gradgradcheck too.**
"""

import warnings

import matplotlib.pyplot as plt
import torch
from torch.autograd import Function, gradcheck, gradgradcheck


class Cube(Function):
    @staticmethod
    def forward(input):
        return input**3

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx, grad_output):
        (input,) = ctx.saved_tensors
        return grad_output * 3 * input**2


input = torch.tensor([1.0, 2.0, 3.0], dtype=torch.float64, requires_grad=True)
print(gradcheck(Cube.apply, input), gradgradcheck(Cube.apply, input))

# %%
# Two numbers to predict
# ----------------------
#
# The derivative of the cube at 2 is 12. Now measure it with a step of 0.1, from 1.9 to 2.1. The
# cubes are 6.859 and 9.261. Which slope do you get? It is **12.01**: the error is the square of the
# step.
#
# The second number: the input has 3 elements, and each is moved down and up. For how many moved
# inputs does ``gradcheck`` run the forward? It is **6**.
#
# The formula
# -----------
#
# The numerical Jacobian comes from central differences. Row :math:`i` belongs to the input element
# that is moved, by the unit vector :math:`e_i`, and column :math:`j` to an output element. This is
# the transpose of the usual Jacobian, and it is the order in which ``gradcheck`` prints it.
#
# .. math::
#
#     \text{numerical}_{ij}
#     = \frac{f_j(x + \varepsilon e_i) - f_j(x - \varepsilon e_i)}{2 \varepsilon}
#
# The analytical Jacobian comes from the backward. It is called once for each output element, with a
# ``grad_output`` that is 1 there and 0 elsewhere.


def numerical_jacobian(function, input, eps):
    rows = []
    for unit in torch.eye(input.numel(), dtype=input.dtype):
        up, down = function(input + eps * unit), function(input - eps * unit)
        rows.append((up - down) / (2 * eps))
    return torch.stack(rows).detach()


def analytical_jacobian(function, input):
    output = function(input)
    columns = []
    for grad_output in torch.eye(output.numel(), dtype=output.dtype):
        columns += torch.autograd.grad(output, input, grad_output, retain_graph=True)
    return torch.stack(columns, dim=1)


coarse = numerical_jacobian(Cube.apply, input, eps=0.1)
analytical = analytical_jacobian(Cube.apply, input)
print(coarse)
print(analytical)

# %%
# The check itself is one comparison. The step is ``1e-6``, and an entry may differ by ``1e-5`` plus
# a thousandth of the numerical value.


def gradcheck_by_hand(function, input):
    numerical = numerical_jacobian(function, input, eps=1e-6)
    return torch.allclose(analytical_jacobian(function, input), numerical, rtol=1e-3, atol=1e-5)


print(gradcheck_by_hand(Cube.apply, input))

# %%
# Does ``gradcheck`` really do this? We record every input that reaches the forward, as a number of
# steps away from the start.

start = input.detach().clone()
steps = []


def recorded(input):
    steps.append(((input.detach() - start) / 1e-6).round().int().tolist())
    return Cube.apply(input)


gradcheck(recorded, input)
for step in steps:
    print(step)
moved = [step for step in steps if any(step)]

# %%
# The first forward gives the analytical Jacobian. Six moved ones follow. The last one serves
# another check: a ``grad_output`` may be undefined, and it must count as zero.
#
# The cost grows with the size of the input, so check small inputs: three elements find
# most mistakes that three million would find.
#
# The picture
# -----------
#
# Why is the step ``1e-6``? A large step measures the slope of a long chord, and for the cube its
# error is exactly the square of ``eps``. A small step subtracts two numbers that agree in nearly
# all their digits, and what is left is rounding. The error falls, reaches a lowest point, and rises
# again.

exponents = range(-1, -11, -1)
figure, ax = plt.subplots(figsize=(7, 3.4), layout="constrained")
lowest = {}
for dtype in (torch.float64, torch.float32):
    point = input.detach().to(dtype)
    errors = {}
    for exponent in exponents:
        error = numerical_jacobian(Cube.apply, point, 10.0**exponent) - analytical.to(dtype)
        errors[10.0**exponent] = error.abs().max().item()
    lowest[dtype] = min(errors, key=errors.get)
    print(dtype, "lowest at", lowest[dtype])
    print(*(f"{eps:.0e}: {error:.0e}" for eps, error in errors.items()), sep="   ")
    ax.loglog(errors.keys(), errors.values(), "o-", label=str(dtype))
ax.loglog([1e-1, 1e-5], [1e-2, 1e-10], "k:", label="eps**2")
ax.axvline(1e-6, color="k", linewidth=0.8, label="eps = 1e-6")
ax.set(title="(numerical - analytical).abs().max()", xlabel="eps", ylim=(1e-11, 1e3))
ax.legend(loc="upper right", ncols=2)

# %%
# In ``float64`` the error at ``1e-6`` is far below the tolerance. In ``float32`` there are too few
# digits: with a step of ``1e-6`` the error is larger than 1, and from ``1e-7`` on some elements do
# not move at all.
#
# What goes wrong: float32
# ------------------------
#
# So ``gradcheck`` warns about ``float32`` inputs, and then it fails although the backward is right.
# The numerical part is the wrong one here: its 25.7 should be 27. Use ``float64``.

with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    try:
        gradcheck(Cube.apply, input.detach().float().requires_grad_())
    except RuntimeError as error:
        print(caught[0].message)
        print(error)

# %%
# What goes wrong: a kink
# -----------------------
#
# At 0 the chord of ReLU goes from the flat side to the steep side, and its slope is one half. The
# backward must choose 0 or 1. Both are far from one half, so this is a false alarm. It reaches as
# far as the step does.

for value in (0.0, 1e-7, 1e-5):
    at_kink = torch.tensor([value], dtype=torch.float64, requires_grad=True)
    passed = gradcheck(torch.relu, at_kink, raise_exception=False)
    print(value, numerical_jacobian(torch.relu, at_kink, eps=1e-6).item(), passed)

# %%
# The repair is an input whose elements stay away from the kink by more than the step. What the
# gradient is at the kink itself is a decision, and it needs a test of its own.
#
# What goes wrong: a wrong backward
# ---------------------------------
#
# This is what the check is for. The factor should be 3.


class WrongCube(Cube):
    @staticmethod
    def backward(ctx, grad_output):
        (input,) = ctx.saved_tensors
        return grad_output * 2 * input**2


try:
    gradcheck(WrongCube.apply, input)
except RuntimeError as error:
    message = str(error)
    print(message)

# %%
# Compare the two matrices entry by entry. Here each ratio is 3 to 2, so a factor is wrong. If the
# entries beside the diagonal differ, look for a sum or a transpose that was forgotten.
#
# What goes wrong: the other branch
# ---------------------------------
#
# The check sees one point. This backward lets the gradient pass everywhere, and three positive
# numbers do not notice. Choose inputs that reach every branch.


class WrongReLU(Function):
    @staticmethod
    def forward(input):
        return input.clamp(min=0)

    @staticmethod
    def setup_context(ctx, inputs, output):
        pass

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output.clone()


both_signs = torch.tensor([-1.0, 2.0, 3.0], dtype=torch.float64, requires_grad=True)
print(gradcheck(WrongReLU.apply, input, raise_exception=False))
print(gradcheck(WrongReLU.apply, both_signs, raise_exception=False))

# %%
# Two checks for two questions
# ----------------------------
#
# :func:`torch.autograd.gradcheck` asks whether the backward is the derivative of the forward.
# ``gradgradcheck`` asks whether the backward itself can be differentiated: it runs the same
# comparison on the backward, as a function of ``input`` and ``grad_output``. Neither contains the
# other. The backward of ``WrongCube`` is a wrong formula with a right derivative. The one of
# ``DetachedCube`` is a right formula that hides from autograd how it depends on the input.


class DetachedCube(Cube):
    @staticmethod
    def backward(ctx, grad_output):
        (input,) = ctx.saved_tensors
        return grad_output * 3 * input.detach() ** 2


for cube in (Cube, WrongCube, DetachedCube):
    first = gradcheck(cube.apply, input, raise_exception=False)
    second = gradgradcheck(cube.apply, input, raise_exception=False)
    print(f"{cube.__name__:12}", first, second)

# %%
# Proof
# -----
#
# The check of this page must give the same verdict as the one of torch, for right and for wrong
# backwards.

cases = [
    (Cube.apply, input),
    (WrongCube.apply, input),
    (WrongReLU.apply, input),
    (WrongReLU.apply, both_signs),
    (torch.relu, at_kink.detach().zero_().requires_grad_()),
]
verdicts = [gradcheck(function, point, raise_exception=False) for function, point in cases]
assert verdicts == [gradcheck_by_hand(function, point) for function, point in cases]
print(verdicts)

# %%
# Try it
# ------
#
# 1. Change the factor 2 in ``WrongCube`` to 3.002, then to 3.004. Which one passes?
# 2. Measure the slope of the absolute value at its kink. Does ``gradcheck`` give a false alarm?
# 3. Call ``gradcheck`` with ``fast_mode=True`` and count the forwards.
#
# Answers
# -------
#
# 1. The first. The tolerance is a thousandth, and 0.002 of 3 is less. A small relative error is not
#    found with the default ``rtol``.


def cube_with_factor(factor):
    class AlmostCube(Cube):
        @staticmethod
        def backward(ctx, grad_output):
            (input,) = ctx.saved_tensors
            return grad_output * factor * input**2

    return AlmostCube.apply


for factor in (3.002, 3.004):
    print(factor, gradcheck(cube_with_factor(factor), input, raise_exception=False))

# %%
# 2. No. The chord has the slope 0, and torch takes 0 as the gradient there.

zero = torch.zeros(1, dtype=torch.float64, requires_grad=True)
print(numerical_jacobian(torch.abs, zero, eps=1e-6).item(), gradcheck(torch.abs, zero))

# %%
# 3. There are four, and two of them are moved: the fast mode moves all elements together, in one
#    random direction. It compares two numbers instead of two matrices.

steps.clear()
gradcheck(recorded, input, fast_mode=True)
print(len(steps))

# %%
# The step of 0.1 gave 12.01, and the forward ran for 6 moved inputs, as you predicted.

assert round(coarse[1, 1].item(), 9) == 12.01
assert len(moved) == 6
assert message.startswith("Jacobian mismatch for output 0 with respect to input 0")

# %%
# Next
# ----
#
# - :ref:`sphx_glr_gallery_4_verification_plot_silent_mistakes.py`: mistakes that pass this check.
# - :ref:`guide-writing-a-function`: the check as the last step of writing a Function.
# - :func:`backpass.functions.relu`: a gradient whose value at the kink is stated and tested.
