r"""
A difference saved in the forward is a constant in the second derivative
========================================================================

A loss wants to keep a tensor that its forward computed anyway. ``save_for_backward`` takes it, the
gradient is right, and the gradient of a gradient is wrong without an error.

In short
--------

**Save inputs and outputs, and nothing else. What you want to keep, return.** It is then an output,
and the backward gets a cotangent for it. This Function compares the Gram matrix of ``input`` with a
target. It keeps the difference, and all its derivatives are right.
"""

import matplotlib.pyplot as plt
import torch
from torch.autograd import Function
from torch.autograd.function import once_differentiable
from torch.utils._python_dispatch import TorchDispatchMode

from backpass.functions import gram_mse


class ReturnsDifference(Function):
    @staticmethod
    def forward(input, target_gram):
        difference = input @ input.mT - target_gram
        return difference.square().mean(), difference

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(inputs[0], output[1])

    @staticmethod
    def backward(ctx, grad_loss, grad_difference):
        input, difference = ctx.saved_tensors
        cotangent = grad_difference + 2 / difference.numel() * grad_loss * difference
        return (cotangent + cotangent.mT) @ input, -cotangent


# %%
# :func:`backpass.functions.gram_mse` is this Function for a batch of feature maps. Only the loss is
# for the caller.


def loss_of(function):
    def loss_function(input, target_gram):
        loss, _ = function.apply(input, target_gram)
        return loss

    return loss_function


returns_difference = loss_of(ReturnsDifference)


def by_autograd(input, target_gram):
    return (input @ input.mT - target_gram).square().mean()


def by_library(input, target_gram):
    return gram_mse(input[None], target_gram[None])


# %%
# A number to predict
# -------------------
#
# Take one channel and one pixel: the matrices are numbers. The pixel is 2 and the target is 3. The
# difference is 4 minus 3, which is 1, and the loss is 1 too.
#
# .. math::
#
#     \ell = (x^2 - 3)^2 \qquad
#     \ell' = 4 x \, (x^2 - 3) \qquad
#     \ell'' = 4 \, (x^2 - 3) + 8 x^2
#
# At 2 the gradient is 8. The second derivative has two terms, 4 and 32, and is **36**. The second
# term comes from the difference, which depends on :math:`x`. Who takes the difference for a
# constant gets **4**.
#
# A gradient penalty is the square of the gradient, as part of a loss. Its derivative is
# :math:`2 \ell' \ell''`: 2 times 8 times 36 is **576**. With the constant it is 2 times 8 times 4,
# and that is **64**.

F = torch.tensor([[2.0]], dtype=torch.float64, requires_grad=True)
A = torch.tensor([[3.0]], dtype=torch.float64)


def penalty_gradient(loss_function):
    loss = loss_function(F, A)
    (grad_input,) = torch.autograd.grad(loss, F, create_graph=True)
    penalty = grad_input.square().sum()
    (gradient,) = torch.autograd.grad(penalty, F)
    return gradient.item()


print(penalty_gradient(by_autograd), penalty_gradient(returns_difference))

# %%
# The formula
# -----------
#
# .. math::
#
#     \ell = \frac{1}{n} \sum_{i,j} D_{ij}^2 \qquad
#     D = F F^\top - A \qquad
#     \bar{F} = \frac{2}{n} \, \bar{\ell} \, (D + D^\top) F \qquad
#     \bar{A} = -\frac{2}{n} \, \bar{\ell} \, D
#
# :math:`F` is ``input``, :math:`A` is ``target_gram``, :math:`D` is ``difference`` and
# :math:`\bar{\ell}` is ``grad_loss``. To have :math:`D` again in the backward, you must keep it or
# pay for the product again.
#
# What goes wrong: the difference is saved only
# ---------------------------------------------
#
# The first idea is to give it to ``save_for_backward``.


class SavesDifference(Function):
    @staticmethod
    def forward(ctx, input, target_gram):
        difference = input @ input.mT - target_gram
        ctx.save_for_backward(input, difference)
        return difference.square().mean()

    @staticmethod
    def backward(ctx, grad_loss):
        input, difference = ctx.saved_tensors
        cotangent = 2 / difference.numel() * grad_loss * difference
        return (cotangent + cotangent.mT) @ input, -cotangent


# %%
# The gradient is right, and :func:`torch.autograd.gradcheck` agrees. But the penalty has the
# derivative 64, and there is no error.

torch.manual_seed(0)
features = torch.rand(2, 3, dtype=torch.float64, requires_grad=True)
target = torch.rand(2, 2, dtype=torch.float64, requires_grad=True)

print(torch.autograd.gradcheck(SavesDifference.apply, (features, target)))
wrong = penalty_gradient(SavesDifference.apply)
print(wrong)

# %%
# The second derivative has a check of its own. Here is the first line of what it says.

try:
    torch.autograd.gradgradcheck(SavesDifference.apply, (features, target))
except RuntimeError as error:
    print(str(error).splitlines()[0])

# %%
# Why? PyTorch runs the forward of a Function without recording. An input brings its history along,
# and an output gets the Function as its history. A tensor in between has none, and to a second
# derivative it is a constant. Let us ask the saved tensors whether they require a gradient.

for loss in (SavesDifference.apply(F, A), returns_difference(F, A)):
    print([tensor.requires_grad for tensor in loss.grad_fn.saved_tensors])

# %%
# The picture
# -----------
#
# On the left is the second derivative for one pixel, as :math:`x` changes, and our two numbers at 2. The
# wrong curve is nowhere the right one. In the grey part even its sign is wrong: there, a small step
# against the gradient of the penalty makes the penalty larger. At the right end of the grey part
# the loss has its minimum, and the wrong curve is 0.
#
# On the right are all second derivatives of a loss with two channels of three pixels, a matrix of 6
# by 6. The upper left and the lower right part are the two channels.


def hessian(loss_function, input, target_gram):
    def loss(input):
        return loss_function(input, target_gram)

    return torch.autograd.functional.hessian(loss, input).reshape(input.numel(), input.numel())


x = torch.linspace(0.5, 2.2, 35, dtype=torch.float64)
functions = {
    "SavesDifference": SavesDifference.apply,
    "ReturnsDifference": returns_difference,
    "autograd": by_autograd,
}
matrices = {name: hessian(f, features.detach(), target.detach()) for name, f in functions.items()}
limit = max(matrix.abs().max().item() for matrix in matrices.values())

figure, axes = plt.subplots(
    1, 4, figsize=(7, 2.6), layout="constrained", width_ratios=[1.6, 1, 1, 1]
)
for (name, function), color, style in zip(
    functions.items(), ("C3", "C0", "black"), ("-", "-", ":"), strict=True
):
    curve = [hessian(function, point.view(1, 1), A).item() for point in x]
    axes[0].plot(x, curve, style, color=color, label=name)
axes[0].plot([2, 2], [4, 36], "o", color="black")
axes[0].axvspan(1, 3**0.5, color="0.9")
axes[0].axhline(0, color="0.6", linewidth=0.8)
axes[0].set_title("hessian", fontsize=9)
axes[0].set_xlabel("x")
axes[0].legend(fontsize=6, loc="upper left")
for ax, (name, matrix) in zip(axes[1:], matrices.items(), strict=True):
    ax.imshow(matrix.numpy(), cmap="coolwarm", vmin=-limit, vmax=limit)
    ax.set_title(name, fontsize=9)
    ax.set_xticks([])
    ax.set_yticks([])

# %%
# The left matrix lacks most of the numbers. It couples each pixel only with the same pixel of the
# channels. How much is missing in all, compared with the norm of the right-hand matrix?

exact = matrices["autograd"]
for name, matrix in matrices.items():
    print(f"{name:18}{((matrix - exact).norm() / exact.norm()).item():.2f}")

# %%
# The other repair: compute it again
# ----------------------------------
#
# With ``create_graph=True`` the backward is recorded. A difference that is made there, from saved
# inputs, has a history. This is right too, and short. Its price is a product in each backward,
# whether anybody needs a second derivative or not.


class RebuildsDifference(Function):
    @staticmethod
    def forward(input, target_gram):
        return (input @ input.mT - target_gram).square().mean()

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx, grad_loss):
        input, target_gram = ctx.saved_tensors
        difference = input @ input.mT - target_gram
        cotangent = 2 / difference.numel() * grad_loss * difference
        return (cotangent + cotangent.mT) @ input, -cotangent


print(penalty_gradient(RebuildsDifference.apply))

# %%
# Let us count the matrix products. Predict those of the backward: **2** if it computes the
# difference again, **1** if the forward has returned it. Autograd takes 2 as well, one for each
# factor of the Gram matrix.


class Products(TorchDispatchMode):
    count = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.count += func.overloadpacket.__name__ in ("mm", "bmm", "baddbmm")
        return func(*args, **(kwargs or {}))


def count_products(loss_function):
    with Products() as forward:
        loss = loss_function(features, target)
    with Products() as backward:
        (grad_input,) = torch.autograd.grad(loss, features, create_graph=True)
    with Products() as double_backward:
        torch.autograd.grad(grad_input.sum(), features)
    return [forward.count, backward.count, double_backward.count]


functions["RebuildsDifference"] = RebuildsDifference.apply
functions["gram_mse"] = by_library
counts = {name: count_products(function) for name, function in functions.items()}
for name, count in counts.items():
    print(f"{name:18}", *count)

# %%
# In the double backward, ``SavesDifference`` has the lowest count. It does not compute what it has
# lost. ``ReturnsDifference`` takes 3: two for the factors of the product in the backward, and one
# to bring the cotangent of the difference to the input.
#
# What is this cotangent? In the first backward nobody has used the difference, and
# ``grad_difference`` is zero. In the second one it is not: the gradient is :math:`4 x` times the
# difference. For one pixel the factor :math:`4 x` is 8, and the square of the gradient brings 2
# times 8. Together they are **128**.

arrived = []


class Watches(ReturnsDifference):
    @staticmethod
    def backward(ctx, grad_loss, grad_difference):
        arrived.append(grad_difference.item())
        return ReturnsDifference.backward(ctx, grad_loss, grad_difference)


total = penalty_gradient(loss_of(Watches))
print(arrived, total)

# %%
# The difference is :math:`x^2 - 3`, with the derivative 4 at 2. So 128 becomes 512, and this is
# what was lost between 64 and 576.
#
# What goes wrong: a target that is not symmetric
# -----------------------------------------------
#
# A Gram matrix is symmetric, and mostly its target is one too. Then :math:`D + D^\top` is
# :math:`2 D`. For a target that is not symmetric it is not.


class AssumesSymmetry(ReturnsDifference):
    @staticmethod
    def backward(ctx, grad_loss, grad_difference):
        input, difference = ctx.saved_tensors
        cotangent = grad_difference + 2 / difference.numel() * grad_loss * difference
        return 2 * cotangent @ input, -cotangent


assumes_symmetry = loss_of(AssumesSymmetry)
symmetric = (target + target.mT).detach()
print(torch.autograd.gradcheck(assumes_symmetry, (features, symmetric)))
try:
    torch.autograd.gradcheck(assumes_symmetry, (features, target))
except RuntimeError as error:
    print(str(error).splitlines()[0])

# %%
# So check with numbers that have no symmetry. Random numbers have none.
#
# What goes wrong: a promise that is not kept
# -------------------------------------------
#
# ``once_differentiable`` says that a backward has no derivative. A second derivative should then be
# an error. But if the loss is the end of the graph, the gradient comes back as a constant, and you
# can add the penalty to the loss without any effect. The derivative of the sum is **8**, that of
# the loss alone. Right is 8 plus 576.


class Once(SavesDifference):
    @staticmethod
    @once_differentiable
    def backward(ctx, grad_loss):
        return SavesDifference.backward(ctx, grad_loss)


def gradient_of_sum(loss_function):
    loss = loss_function(F, A)
    (grad_input,) = torch.autograd.grad(loss, F, create_graph=True)
    print("requires_grad:", grad_input.requires_grad)
    (gradient,) = torch.autograd.grad(loss + grad_input.square().sum(), F)
    return gradient.item()


print(gradient_of_sum(returns_difference))
constant = gradient_of_sum(Once.apply)
print(constant)

# %%
# Proof
# -----
#
# Finite differences agree with the first and the second derivative of both repairs and of the
# library, for the input and for a target without symmetry. Their matrices of second derivatives are
# those of autograd.

for function in (RebuildsDifference.apply, returns_difference, by_library):
    assert torch.autograd.gradcheck(function, (features, target))
    assert torch.autograd.gradgradcheck(function, (features, target))
    torch.testing.assert_close(hessian(function, features.detach(), target.detach()), exact)

# %%
# Try it
# ------
#
# 1. Change the target from 3 to 4, so that the loss is 0. Predict the second derivative of
#    ``SavesDifference`` and of ``ReturnsDifference``.
# 2. The caller does not use the difference. Somebody calls ``ctx.mark_non_differentiable`` for it.
#    Predict the derivative of the penalty.
# 3. For a symmetric target ``AssumesSymmetry`` passes ``gradcheck``. Does it pass
#    ``gradgradcheck``?
#
# Answers
# -------
#
# 1. The term with the difference is 0, and only the other one is left, 8 times 4. It is 32. And
#    this is the term that ``SavesDifference`` loses: where a loss has reached its target, its
#    second derivative is 0.

four = torch.tensor([[4.0]], dtype=torch.float64)
for function in (SavesDifference.apply, returns_difference):
    print(hessian(function, F.detach(), four).item())

# %%
# 2. It is 64 again. An output that is not differentiable has no history, and its cotangent is lost.


class NotDifferentiable(ReturnsDifference):
    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.mark_non_differentiable(output[1])
        ReturnsDifference.setup_context(ctx, inputs, output)


print(penalty_gradient(loss_of(NotDifferentiable)))

# %%
# 3. No. The difference is symmetric, but the cotangent that comes back for it is not.

try:
    torch.autograd.gradgradcheck(assumes_symmetry, (features, symmetric))
except RuntimeError as error:
    print(str(error).splitlines()[0])

# %%
# The derivative of the penalty is 576, and 64 where the difference was only saved, as you
# predicted. To compute the difference again takes a second product in the backward. To return it
# takes none.

assert wrong == 64
assert constant == 8
for function in (RebuildsDifference.apply, returns_difference, by_library, by_autograd):
    assert penalty_gradient(function) == 576
assert arrived == [0, 128]
assert counts["autograd"] == [1, 2, 6]
assert counts["RebuildsDifference"][:2] == [1, 2]
assert counts["ReturnsDifference"] == counts["gram_mse"] == [1, 1, 3]

# %%
# Next
# ----
#
# - :func:`backpass.functions.gram_mse` in the reference.
# - :ref:`sphx_glr_gallery_1_functions_plot_gram_matrix.py`: why one product is enough.
# - :ref:`sphx_glr_gallery_1_functions_plot_saving.py`: what else ``save_for_backward`` does for you.
# - :ref:`sphx_glr_gallery_4_verification_plot_silent_mistakes.py`: what ``gradgradcheck`` finds, and
#   what it does not.
