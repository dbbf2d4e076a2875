r"""
Early layers hold colours, later ones hold shapes
=================================================

Match the Gram matrices of a few layers, starting from grey, and see which texture they remember.
Match the features of one layer, and see how much of a photograph is left.

In short
--------

**A layer remembers what fits into the square of pixels that it sees.** A style needs several layers,
from the first one for the colours to a late one for the shapes. A content needs one late layer,
which keeps the shapes and lets the colours go.

Install what this page needs with ``pip install "backpass[style]" matplotlib scikit-image``. The
photograph is the coffee cup of scikit-image, by Rachel Michetti, courtesy of Pikolo Espresso Bar,
without copyright restrictions (CC0). The texture is drawn by a formula.
"""

import matplotlib.pyplot as plt
import torch
from skimage import data
from torch.nn import functional as F

from backpass.losses import ContentLoss, StyleLoss, content_loss, total_variation_loss
from backpass.style import efficientnet_lite0, features, pattern

network = efficientnet_lite0()
layers = ["stem", "block1", "block3", "block5"]
for name, output in features(network, pattern("glass", 96), layers).items():
    print(name, tuple(output.shape))

# %%
# A number to predict
# -------------------
#
# How many pixels does one feature see, along a row? The stem is a convolution of width 3, so it sees
# **3**. It takes every second pixel, so the next convolution of width 3 reaches two pixels further on
# each side, and sees 7. Each convolution of width :math:`k` adds :math:`(k - 1) s` pixels, where
# :math:`s` is the product of the strides before it.
#
# After the stem, the convolutions of the six blocks that look at neighbours have the widths 3, 3, 3,
# 5, 5 and 3, and the strides before them are 2, 2, 4, 4, 8 and 8. So a feature of ``block1`` sees
# 3 + 4 + 4 = **11** pixels, one of ``block3`` sees 11 + 8 + 16 = **35**, and one of ``block5`` sees
# 35 + 32 + 16 = **83**.
#
# We need not trust the sum. The gradient of a feature in the middle is not 0 at exactly those pixels
# that it sees.


def seen_pixels(name):
    picture = torch.rand(1, 3, 192, 192, requires_grad=True)
    output = features(network, picture, [name])[name]
    middle = output.shape[-1] // 2
    (grad_picture,) = torch.autograd.grad(output[0, :, middle, middle].sum(), picture)
    return (grad_picture != 0).any(dim=-2).any(dim=(0, 1)).sum().item()


torch.manual_seed(0)
seen = {name: seen_pixels(name) for name in layers}
print(seen)

# %%
# The formula
# -----------
#
# .. math::
#
#     \ell = \frac{1}{L} \sum_{l=1}^{L} \frac{\lVert G_l - A_l \rVert^2}{\lVert A_l \rVert^2}
#     + v \, \mathrm{TV}
#
# :math:`G_l` is the Gram matrix of the picture in a layer and :math:`A_l` that of the texture. The
# features are lowered by 1 before, so that flat regions count too. Each term is relative: it is 1
# where these features are 0. A little total variation keeps the pixels calm where no layer says
# anything.
#
# Nothing in the loop is hidden: the criteria of the layers, Adam on the pixels, and a clamp.


def relative_style(features):
    gram = StyleLoss.from_features(features - 1).target_gram
    criterion = StyleLoss(gram, weight=1 / gram.square().mean().item())
    return lambda features: criterion(features - 1)


def descend(criteria, steps):
    generator = torch.Generator().manual_seed(0)
    picture = (0.4 + 0.2 * torch.rand(1, 3, 96, 96, generator=generator)).requires_grad_()
    optimizer = torch.optim.Adam([picture], lr=0.03)
    for _ in range(steps):
        optimizer.zero_grad()
        outputs = features(network, picture, criteria)
        terms = [criteria[name](output) for name, output in outputs.items()]
        loss = sum(terms) / len(terms) + total_variation_loss(picture, weight=0.3)
        loss.backward()
        optimizer.step()
        with torch.no_grad():
            picture.clamp_(0, 1)
    return picture.detach()


# %%
# The picture
# -----------
#
# The texture is stained glass, ten cells across 96 pixels. The upper row matches one layer alone, the
# lower row all layers up to it. All start from the same grey noise.

texture = F.interpolate(pattern("glass"), 96, mode="bicubic", antialias=True).clamp(0, 1)
criteria = {
    name: relative_style(output) for name, output in features(network, texture, layers).items()
}
alone = {name: descend({name: criteria[name]}, steps=80) for name in layers}
together = {"stem": alone["stem"]}
for last in range(1, len(layers)):
    chosen = {name: criteria[name] for name in layers[: last + 1]}
    together[layers[last]] = descend(chosen, steps=80)


def show(axes, pictures):
    for ax, (title, picture) in zip(axes, pictures.items(), strict=True):
        ax.imshow(picture[0].movedim(0, -1).numpy())
        ax.set_title(title, fontsize=9)
        ax.axis("off")


figure, axes = plt.subplots(2, 5, figsize=(7, 3.2), layout="constrained")
show(axes[0], {"texture": texture} | alone)
rows = [f"layers[:{count}]" for count in range(1, 5)]
show(axes[1], {"texture": texture} | dict(zip(rows, together.values(), strict=True)))

# %%
# The stem alone gives the right colours in no order. ``block1`` alone draws short dark edges, and its
# colours are pale. ``block3`` and ``block5`` alone make a few cells, and leave grey around them.
#
# Together they share the work. With every layer the cells become larger and rounder, and the colours
# of the stem stay.
#
# The mean colour says the same as a number. It is the largest error of the three means. Grey is far
# from the texture, and ``block5`` alone has not left it.


def colour_error(picture):
    return (picture.mean(dim=(0, 2, 3)) - texture.mean(dim=(0, 2, 3))).abs().max().item()


print("stem:", colour_error(alone["stem"]) < 0.07)
print("block5:", colour_error(alone["block5"]) > 0.15)

# %%
# What does one layer know about the others? Each row of the next figure is a picture of the lower row
# above, and each column the relative style loss in one layer. On the diagonal and left of it are the
# layers that were matched. Right of it are those that were not.

losses = torch.zeros(4, 4)
for row, picture in enumerate(together.values()):
    outputs = features(network, picture, layers)
    losses[row] = torch.stack([criteria[name](outputs[name]) for name in layers])

figure, ax = plt.subplots(figsize=(5, 3.2), layout="constrained")
ax.imshow(losses.log10().numpy(), cmap="viridis_r")
for row in range(4):
    for column in range(4):
        ink = "white" if losses[row, column] > 0.1 else "black"
        ax.text(column, row, f"{losses[row, column]:.2f}", ha="center", va="center", color=ink)
ax.set_xticks(range(4), layers)
ax.set_yticks(range(4), rows)
ax.set_title("criteria[name](outputs[name])")

# %%
# Every loss that was matched is below 0.1. With the stem alone, the loss of ``block5`` is about 1:
# no better than no features at all. The right colours say nothing about shapes.

matched = torch.ones(4, 4).tril().bool()
print((losses[matched] < 0.1).all().item(), losses[0, 3].item() > 0.5)

# %%
# What a content layer keeps
# --------------------------
#
# Now match the features themselves, not their Gram matrices: the content loss. From ``block1`` the
# photograph comes back, with paler colours. From ``block4``, the content layer of
# :class:`backpass.style.StyleTransfer`, the outlines come back at their places and the colours do
# not. From ``block5`` even the outlines begin to dissolve. This freedom is what a style needs.

photo = torch.from_numpy(data.coffee()[:, 100:500].copy()).movedim(-1, 0)[None] / 255
content = F.interpolate(photo, 96, mode="bicubic", antialias=True).clamp(0, 1)
kept = {}
for name, output in features(network, content, ["block1", "block4", "block5"]).items():
    criterion = ContentLoss(output, weight=1 / output.square().mean().item())
    kept[name] = descend({name: criterion}, steps=60)

figure, axes = plt.subplots(1, 4, figsize=(7, 2.1), layout="constrained")
show(axes, {"content": content} | kept)
errors = [content_loss(picture, content).item() for picture in kept.values()]
print("the error of the pixels grows with the depth:", errors == sorted(errors))

# %%
# What goes wrong: the picture is not a leaf, or clamped in the open
# ------------------------------------------------------------------
#
# An optimiser moves leaves. A picture that was computed from another tensor is none. So the noise is
# scaled first, and ``requires_grad_`` comes last.

picture = 0.4 + 0.2 * torch.rand(1, 3, 96, 96, requires_grad=True)
try:
    torch.optim.Adam([picture], lr=0.03)
except ValueError as error:
    print(error)

# %%
# The clamp changes the leaf in place. Autograd refuses that while it records; ``torch.no_grad`` says
# that the change is not a part of the function.

picture = torch.rand(1, 3, 96, 96, requires_grad=True)
try:
    picture.clamp_(0, 1)
except RuntimeError as error:
    print(error)

# %%
# Proof
# -----
#
# Is it the features that hold the texture, or the loop that makes it? Ask the gradient. At the
# texture itself every style term is 0, and so is its gradient: the loop would stay there. Moved by
# half a picture, the texture has other pixels and almost the same statistics.

still = texture.clone().requires_grad_()
outputs = features(network, still, layers)
total = sum(criteria[name](outputs[name]) for name in layers)
(grad_still,) = torch.autograd.grad(total, still)
print(total.item() < 1e-9, grad_still.abs().max().item() < 1e-6)

moved = texture.roll(48, dims=-1)
outputs = features(network, moved, layers)
shifted = [criteria[name](outputs[name]).item() for name in layers]
print(max(shifted) < 0.1, content_loss(moved, texture).item() > 0.05)

# %%
# Try it
# ------
#
# 1. How many different numbers do the four Gram matrices hold, and how many does the picture?
# 2. How many pixels does a feature of ``block4`` see? Its convolution has the width 5, and 8 is the
#    product of the strides before it.
# 3. Change ``pattern("glass")`` to ``pattern("swirl")``. Predict the mean colour that the stem alone
#    paints.
#
# Answers
# -------
#
# 1. The layers have 32, 24, 40 and 80 channels, and a symmetric matrix of :math:`C` channels has
#    :math:`C (C + 1) / 2` different entries. The picture has more than five times as many numbers, so
#    many pictures share the same statistics.

channels = [output.shape[1] for output in features(network, texture, layers).values()]
print(sum(c * (c + 1) // 2 for c in channels), texture.numel())

# %%
# 2. It sees 35 + 4 · 8 = 67.

print(seen_pixels("block4"))

# %%
# 3. It is blue, as that of the texture.

swirl = F.interpolate(pattern("swirl"), 96, mode="bicubic", antialias=True).clamp(0, 1)
target = {"stem": relative_style(features(network, swirl, ["stem"])["stem"])}
for picture in (swirl, descend(target, steps=60)):
    red, green, blue = picture.mean(dim=(0, 2, 3)).tolist()
    print(red < green < blue)

# %%
# A feature sees 3, 11, 35 or 83 pixels, as predicted. The matched layers agree with the texture, and
# the colours of the stem say nothing about ``block5``.

assert list(seen.values()) == [3, 11, 35, 83]
assert (losses[matched] < 0.1).all()
assert losses[0, 3] > 0.5
assert errors == sorted(errors)

# %%
# Next
# ----
#
# - :func:`backpass.style.features` and :func:`backpass.style.efficientnet_lite0` in the reference.
# - :ref:`sphx_glr_gallery_2_losses_plot_style_transfer.py`: both losses in one call.
# - :ref:`sphx_glr_gallery_2_losses_plot_style_loss.py`: the Gram matrix with random filters.
# - :ref:`guide-style-transfer`: which layers to choose in a network of your own.
