r"""
Total variation needs nothing but its input to go backward
==========================================================

Total variation measures how much neighbouring pixels differ. Its backward is so cheap to compute
anew that a Function of its own saves no further byte, where plain slicing keeps two whole pictures.

In short
--------

**If the backward can be computed from the input, save the input and nothing else.** The library's
:func:`backpass.functions.total_variation` does it.

Install what this page needs with ``pip install backpass matplotlib scikit-image``. The photograph
is the coffee cup of scikit-image, by Rachel Michetti, courtesy of Pikolo Espresso Bar, without
copyright restrictions (CC0).

For squared differences, this is the whole Function:
"""

import matplotlib.pyplot as plt
import torch
from skimage import data
from torch.autograd import Function, gradcheck, gradgradcheck
from torch.nn import functional as F

from backpass.functions import total_variation
from backpass.losses import total_variation_loss


class TotalVariation(Function):
    @staticmethod
    def forward(input):
        return input.diff(dim=-2).square().sum() + input.diff(dim=-1).square().sum()

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx, grad_output):
        (input,) = ctx.saved_tensors
        down, across = input.diff(dim=-2), input.diff(dim=-1)
        vertical = F.pad(down, (0, 0, 1, 0)) - F.pad(down, (0, 0, 0, 1))
        horizontal = F.pad(across, (1, 0)) - F.pad(across, (0, 1))
        return 2 * grad_output * (vertical + horizontal)


# %%
# A number to predict
# -------------------
#
# The picture has two rows, 0 and 1 above 0 and 3. Downwards the pixels differ by 0 and 2, to the
# right by 1 and 3. The sum of the squares is 4 + 1 + 9, which is **14**.
#
# The pixel with the 3 is at the end of two differences, 2 and 3. Its gradient is twice their sum,
# **10**. The gradient of all four pixels together is **0**: if all of them rise by the same amount,
# no difference changes.

x = torch.tensor([[0.0, 1.0], [0.0, 3.0]], dtype=torch.float64, requires_grad=True)
value = TotalVariation.apply(x)
(grad_x,) = torch.autograd.grad(value, x)
print(value.item())
print(grad_x)
print(grad_x.sum().item())

# %%
# The formula
# -----------
#
# .. math::
#
#     \ell = \sum_i (\partial x)_i^2 + \sum_j (\delta x)_j^2 \qquad
#     \bar{x} = 2 \bar{\ell} \left( \partial^\top \partial x + \delta^\top \delta x \right)
#
# :math:`\partial` takes the differences downwards and :math:`\delta` those to the right; in the
# code they are ``down`` and ``across``. Each difference is the pixel behind minus the pixel before.
# So the transposed operator adds the difference to the pixel behind and takes it from the pixel
# before: these are the two ``F.pad`` of a line.
#
# The library divides by the number of differences of each direction, so that pictures of any size can share one weight. With ``reduction="sum"`` it is the formula above.

print(total_variation(x, reduction="sum").item(), total_variation(x).item())

# %%
# What is saved
# -------------
#
# Every tensor that the forward keeps for the backward passes the hooks of
# ``torch.autograd.graph.saved_tensors_hooks``. We count the bytes of those that are not the input
# itself, which exists anyway.


def extra_bytes(function, input):
    storages = {}

    def pack(tensor):
        storage = tensor.untyped_storage()
        storages[storage.data_ptr()] = storage.nbytes()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        function(input)
    storages.pop(input.untyped_storage().data_ptr(), None)
    return sum(storages.values())


def plain_squares(x):
    down, across = x[..., 1:, :] - x[..., :-1, :], x[..., 1:] - x[..., :-1]
    return down.square().sum() + across.square().sum()


def plain_absolute(x):
    down, across = x[..., 1:, :] - x[..., :-1, :], x[..., 1:] - x[..., :-1]
    return down.abs().sum() + across.abs().sum()


# %%
# Three channels of 128 by 128 pixels have 3 · 127 · 128 differences in each direction, 97,536
# together. In ``float32`` they are 390,144 bytes. Our Function and the library's keep **0**.
#
# The derivative of an absolute difference is its sign. A sign is -1, 0 or 1 and fits into one byte:
# with ``p=1`` the library keeps 97,536 bytes, **a quarter** of what plain slicing keeps.

image = torch.rand(1, 3, 128, 128, requires_grad=True)
saved = {
    "plain p=2": extra_bytes(plain_squares, image),
    "TotalVariation": extra_bytes(TotalVariation.apply, image),
    "total_variation p=2": extra_bytes(total_variation, image),
    "plain p=1": extra_bytes(plain_absolute, image),
    "total_variation p=1": extra_bytes(lambda x: total_variation(x, p=1), image),
}
for name, count in saved.items():
    print(f"{name}: {count}")

# %%
# The picture
# -----------
#
# A photograph gets noise. We look for a picture that is close to the noisy one and has a small total
# variation. Both terms are losses, and Adam descends on the pixels. The clean photograph is not used
# until the end, when we measure the mean squared error.

photo = torch.from_numpy(data.coffee()[10:266, 170:426].copy()).movedim(-1, 0)[None] / 255
clean = F.avg_pool2d(photo, 2)
torch.manual_seed(0)
noisy = clean + 0.1 * torch.randn(clean.shape)


def denoise(noisy, weight, p):
    picture = noisy.clone().requires_grad_()
    optimizer = torch.optim.Adam([picture], lr=0.03)
    for _ in range(60):
        optimizer.zero_grad()
        loss = F.mse_loss(picture, noisy) + total_variation_loss(picture, weight=weight, p=p)
        loss.backward()
        optimizer.step()
    return picture.detach()


pictures = {
    "clean": clean,
    "noisy": noisy,
    "p = 2": denoise(noisy, weight=0.5, p=2),
    "p = 1": denoise(noisy, weight=0.12, p=1),
}
figure, axes = plt.subplots(1, 4, figsize=(7, 2.1), layout="constrained")
for ax, (name, picture) in zip(axes, pictures.items(), strict=True):
    ax.imshow(picture[0].clamp(0, 1).movedim(0, -1).numpy())
    ax.axhline(50, color="white", linewidth=0.8, linestyle=":")
    ax.set_title(name, fontsize=9)
    ax.axis("off")

# %%
# Each weight is about the best one for its power. Squares punish one large difference more than many
# small ones, so they wash the edges out before the noise is gone. Absolute values punish both the
# same: a step of 1 costs as much as ten steps of 0.1. The noise goes and the edge stays.
#
# Look at the blue channel along the dotted line. It crosses the white rim of the cup twice.

figure, axes = plt.subplots(1, 2, figsize=(7, 2.8), layout="constrained", sharey=True)
for ax, name in zip(axes, ["p = 2", "p = 1"], strict=True):
    ax.plot(noisy[0, 2, 50].numpy(), color="0.8", label="noisy")
    ax.plot(clean[0, 2, 50].numpy(), color="black", linewidth=1, label="clean")
    ax.plot(pictures[name][0, 2, 50].numpy(), color="C3", label=name)
    ax.set_title(f"picture[0, 2, 50], {name}")
    ax.legend(fontsize=8)

# %%
# The squares divide the error by more than 3, the absolute values by more than 5.

error = {name: F.mse_loss(picture, clean).item() for name, picture in pictures.items()}
print(error["noisy"] / error["p = 2"] > 3, error["noisy"] / error["p = 1"] > 5)

# %%
# What goes wrong: the border, and the saved difference
# -----------------------------------------------------
#
# Inside the picture, the gradient of a pixel is four times the pixel minus its four neighbours, times
# 2. It is tempting to write that as a convolution. But a convolution with padding sees black pixels
# outside. A picture full of ones has no differences, and its gradient is 0. The convolution says 2 at
# the border and 4 in the corners: it would draw a dark frame, without an error.


class Convolved(TotalVariation):
    @staticmethod
    def backward(ctx, grad_output):
        (input,) = ctx.saved_tensors
        kernel = input.new_tensor([[0, -1, 0], [-1, 4, -1], [0, -1, 0]])
        laplacian = F.conv2d(input[None, None], kernel[None, None], padding=1)[0, 0]
        return 2 * grad_output * laplacian


ones = torch.ones(3, 3, dtype=torch.float64, requires_grad=True)
print(torch.autograd.grad(TotalVariation.apply(ones), ones)[0].tolist())
print(torch.autograd.grad(Convolved.apply(ones), ones)[0].tolist())

# %%
# :func:`torch.autograd.gradcheck` finds it. This is the first line of its message.

try:
    gradcheck(Convolved.apply, x)
except RuntimeError as failure:
    print(str(failure).splitlines()[0])

# %%
# The other mistake saves time and costs the second derivative. The forward has the differences
# already, so why not keep them for the backward? Because they are neither inputs nor outputs. To
# autograd they are constants.


class Remembered(Function):
    @staticmethod
    def forward(ctx, input):
        ctx.down, ctx.across = input.diff(dim=-2), input.diff(dim=-1)
        return ctx.down.square().sum() + ctx.across.square().sum()

    @staticmethod
    def backward(ctx, grad_output):
        vertical = F.pad(ctx.down, (0, 0, 1, 0)) - F.pad(ctx.down, (0, 0, 0, 1))
        horizontal = F.pad(ctx.across, (1, 0)) - F.pad(ctx.across, (0, 1))
        return 2 * grad_output * (vertical + horizontal)


# %%
# The first derivative is right. For the second one, take the square of the total variation, and
# multiply its gradient by the picture, and sum. By the chain rule this is :math:`4 \ell^2`, since doubling the
# picture makes :math:`\ell` four times as large. The derivative of :math:`4 \ell^2` is :math:`8 \ell`
# times the gradient: for the pixel with the 3 it is 8 · 14 · 10 = **1120**. The Function that
# remembers says 840, and no error.


def second(function):
    (grad_x,) = torch.autograd.grad(function(x) ** 2, x, create_graph=True)
    return torch.autograd.grad((grad_x * x).sum(), x)[0][1, 1].item()


print(second(TotalVariation.apply), second(Remembered.apply))

# %%
# Proof
# -----
#
# Our Function, and the library's with both powers, pass the checks of the first and of the second
# derivative. The one that remembers passes the first check and fails the second.

picture = torch.rand(2, 4, 5, dtype=torch.float64, requires_grad=True)
for function in (TotalVariation.apply, total_variation, lambda x: total_variation(x, p=1)):
    assert gradcheck(function, picture)
    assert gradgradcheck(function, picture)

assert gradcheck(Remembered.apply, picture)
print(gradgradcheck(Remembered.apply, picture, raise_exception=False))

# %%
# Try it
# ------
#
# 1. Predict the sum of the absolute differences of ``x``, and its gradient.
# 2. Add 5 to every pixel of ``x``. What becomes of the total variation?
# 3. What is the total variation of a picture of one pixel?
#
# Answers
# -------
#
# 1. The absolute differences are 0, 2, 1 and 3, together 6. Each pixel gets the signs of the
#    differences that end in it, minus the signs of those that begin in it. Equal neighbours have the
#    sign 0.

absolute = total_variation(x, p=1, reduction="sum")
print(absolute.item(), torch.autograd.grad(absolute, x)[0].tolist())

# %%
# 2. Nothing. This is why the gradient sums to 0.

print(TotalVariation.apply(x + 5).item())

# %%
# 3. There are no neighbours, so it is 0, and so is the mean.

print(total_variation(torch.ones(1, 1)).item())

# %%
# The total variation is 14, the gradient of the last pixel is 10, and nothing but the input is saved,
# as predicted.

assert value.item() == 14
assert grad_x[1, 1].item() == 10
assert saved["TotalVariation"] == saved["total_variation p=2"] == 0
assert saved["plain p=1"] == 4 * saved["total_variation p=1"] == 390_144
assert error["noisy"] > 5 * error["p = 1"]

# %%
# Next
# ----
#
# - :func:`backpass.functions.total_variation` and :func:`backpass.losses.total_variation_loss` in the
#   reference.
# - :ref:`sphx_glr_gallery_1_functions_plot_saving.py`: what a backward keeps, and how to count it.
# - :ref:`sphx_glr_gallery_2_losses_plot_style_transfer.py`: where this term calms a painting.
