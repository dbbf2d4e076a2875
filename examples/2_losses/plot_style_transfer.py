r"""
One hundred steps turn a photograph into stained glass
======================================================

A style transfer descends on the pixels of a picture. One call does it, every loss is reported at
every step, and the losses are those of the other lessons in this section.

In short
--------

**Give** :class:`backpass.style.StyleTransfer` **two pictures: it changes the pixels of the first
until its statistics are those of the second.** The network that compares them comes with the
package, so nothing is downloaded.

Install what this page needs with ``pip install "backpass[style]" matplotlib scikit-image``. The
photograph is the coffee cup of scikit-image, by Rachel Michetti, courtesy of Pikolo Espresso Bar,
without copyright restrictions (CC0). The style is drawn by a formula.
"""

import os
from pathlib import Path

import matplotlib.pyplot as plt
import torch
from skimage import data
from torch.nn import functional as F

from backpass.losses import StyleLoss
from backpass.style import StyleTransfer, features, pattern, vgg19

photo = torch.from_numpy(data.coffee()[:, 100:500].copy())
content = photo.movedim(-1, 0)[None] / 255
style = pattern("glass")

records = []
transfer = StyleTransfer()
picture = transfer.run(content, style, sizes=[128], steps=100, callback=records.append)

# %%
# The three pictures are tensors of the shape ``(1, 3, height, width)`` with values from 0 to 1. The
# callback got a :class:`backpass.style.Progress` after each step, and the list keeps them.


def show(pictures):
    _, axes = plt.subplots(1, len(pictures), figsize=(7, 2.1), layout="constrained")
    for ax, (title, image) in zip(axes, pictures.items(), strict=True):
        ax.imshow(image[0].movedim(0, -1).numpy())
        ax.set_title(title, fontsize=9)
        ax.axis("off")


show({"content": content, "style": style, "picture": picture})

# %%
# A number to predict
# -------------------
#
# A layer of the network turns a picture into features. The style loss compares their Gram matrix
# with that of the style, and ``StyleTransfer`` divides it by the size of the target. So its unit is
# the same for every layer and every network.
#
# What is this relative loss if all features are 0, and what is it if they are twice as large as
# those of the style? Without features the Gram matrix is 0, and the difference is the whole target:
# the loss is **1**. Twice the features give four times the Gram matrix, and the difference is three
# times the target: the loss is **9**.


def relative(features, share=1.0):
    gram = StyleLoss.from_features(features).target_gram
    return StyleLoss(gram, weight=share / gram.square().mean().item())


torch.manual_seed(0)
layer = torch.rand(1, 8, 6, 6)
criterion = relative(layer)
print(f"{criterion(0 * layer).item():.4f} {criterion(2 * layer).item():.4f}")

# %%
# The style terms of the layers share this unit, so their sum is a relative loss too. The run begins
# below 1, because any two pictures have something in common. Its hundred steps divide the sum by
# **more than 10**.


def style_sum(progress):
    return sum(loss for name, loss in progress.losses.items() if name.startswith("style"))


first, last = style_sum(records[0]), style_sum(records[-1])
print(0.1 < first < 1, first / last > 10)

# %%
# The formula
# -----------
#
# .. math::
#
#     \ell = \sum_l \frac{1}{L} \frac{\lVert G_l - A_l \rVert^2}{\lVert A_l \rVert^2}
#     + c \, \frac{\lVert F - P \rVert^2}{\lVert P \rVert^2} + v \, \mathrm{TV}
#
# :math:`G_l` is the Gram matrix of the picture in one of the :math:`L` style layers and :math:`A_l`
# that of the style. :math:`F` are the features of the picture in the content layer and :math:`P`
# those of the content. :math:`\mathrm{TV}` is the total variation, which calms noise. The weights
# are :math:`c = 0.03` and :math:`v = 0.3`.
#
# The gradient of this one number flows back through the frozen network to the pixels. Adam moves
# them, and they are clamped to the range from 0 to 1 after each step.

for name in records[-1].losses:
    print(name)

# %%
# The picture
# -----------
#
# The first picture is the start: the content with a little noise. Thin dark lines appear first.
# They close to cells, and at last the cells take the colours of the glass.

show({f"step = {step}": records[step - 1].picture for step in (1, 5, 20, 100)})

# %%
# Each line of the next figure is one term of the loss. The style layers are drawn from the first
# one, which is dark, to the last one, which is bright. All of them fall together, because each is
# measured by its own target.
#
# The content term is higher at the end than at the start. The run begins at the content, so it can
# only move away from it. The weight says how far.

figure, ax = plt.subplots(figsize=(7, 3.2), layout="constrained")
steps = range(1, len(records) + 1)
for number, name in enumerate(records[0].losses):
    look = {"color": plt.get_cmap("viridis")(number / 7)}
    if not name.startswith("style"):
        look = {"color": "black", "linestyle": "--" if name == "variation" else "-"}
    ax.plot(steps, [progress.losses[name] for progress in records], label=name, **look)
ax.set(title="progress.losses", xlabel="progress.step", yscale="log")
figure.legend(loc="outside right upper", fontsize=8)

kept = [progress.losses["content block4"] for progress in records]
print("the content term has risen:", kept[-1] > kept[0])

# %%
# What the content weight does
# ----------------------------
#
# With the weight 1 a change of the content costs as much as the same relative change of the style,
# and only colours and fine lines get through. With 0.001 the cells spread over the inside of the
# cup, whose shape hardly counts. The default stands between them. Forty steps at 96 pixels are enough
# to see it.
#
# The fourth picture has the default weight and keeps the colours of the content:
# ``colour="keep"`` takes only the brightness from the painting.

small = {}
for name, value in [("content_weight", 1.0), ("content_weight", 0.03), ("content_weight", 0.001)]:
    painter = StyleTransfer(transfer.network, **{name: value})
    small[f"{name} = {value}"] = painter.run(content, style, sizes=[96], steps=40)
keeper = StyleTransfer(transfer.network, colour="keep")
small["colour = 'keep'"] = keeper.run(content, style, sizes=[96], steps=40)
show(small)

# %%
# What goes wrong: losses that are not divided by their targets
# -------------------------------------------------------------
#
# Old recipes weight the style with a million and the content with 1. These numbers suit one network
# and one list of layers. Take a network whose features are 8 times as large. The content loss is a
# square and grows by :math:`8^2 = 64`. The style loss is a square of squares and grows by
# :math:`8^4 = 4096`. The balance has moved by 64, and nobody gets an error.

target, seen = torch.rand(1, 8, 6, 6), torch.rand(1, 8, 6, 6)
raw = StyleLoss.from_features(target)(seen)
louder = StyleLoss.from_features(8 * target)(8 * seen)
print((louder / raw).item(), (relative(8 * target)(8 * seen) / relative(target)(seen)).item())

# %%
# This is not a matter of different networks only. Look at the targets of the default network, layer
# by layer. Their squares differ by more than 10,000 times. In a sum of raw losses, half of the
# layers would count for nothing.

grams = {
    name: StyleLoss.from_features(each).target_gram.square().mean().item()
    for name, each in features(transfer.network, style, transfer.style_layers).items()
}
print(max(grams, key=grams.get), min(grams, key=grams.get))
print(max(grams.values()) / min(grams.values()) > 10_000)

# %%
# The other common mistake is a picture of bytes. Divide it by 255, as in the first cell.

try:
    transfer.run(255 * content, style)
except ValueError as error:
    print(error)

# %%
# VGG19 with your own weights
# ---------------------------
#
# Most papers use VGG19. Its weights are half a gigabyte, so no package holds them. If you have
# torchvision's file ``vgg19-dcbb9e9d.pth``, put it beside this script or let ``VGG19_WEIGHTS`` name
# it. The weights of the losses stay as they are, because the losses are relative.

weights = Path(os.environ.get("VGG19_WEIGHTS", "vgg19-dcbb9e9d.pth"))
if weights.is_file():
    painted = StyleTransfer(vgg19(weights)).run(content, style, sizes=[128], steps=40)
    show({"content": content, "vgg19": painted})
else:
    print("no file vgg19-dcbb9e9d.pth: this cell has nothing to do")

# %%
# Proof
# -----
#
# The reported losses are those of the other lessons. Here a run of one step reports the losses of
# its start. Without a margin, the start is the picture that we get. We compute each style term by
# hand, with the same features minus 1: the shift lets a flat region count too.

exact = StyleTransfer(transfer.network, margin=0)
glass = pattern("glass", 96)
(start,) = exact.steps(content, glass, sizes=[96], steps=1)
names = exact.style_layers
targets = features(exact.network, glass, names)
seen = features(exact.network, start.picture, names)
for name in names:
    by_hand = relative(targets[name] - 1, share=1 / len(names))(seen[name] - 1)
    torch.testing.assert_close(by_hand.item(), start.losses[f"style {name}"], rtol=1e-4, atol=0)
print(len(names), "style terms agree")

# %%
# Try it
# ------
#
# 1. What does ``run`` return for ``steps=1``? Predict how far it is from the content.
# 2. Give every style layer the weight 2 instead of 1. Predict the losses of the first step.
# 3. Make the picture that keeps the colours yourself, from the content and the painting.
#
# Answers
# -------
#
# 1. It returns the picture with the smallest loss so far, and this is the start: the content with
#    noise of standard deviation 0.05. The mean absolute value of such noise is 0.8 times that, so
#    the pictures are about 0.04 apart.

goal = F.interpolate(content, 128, mode="bicubic", antialias=True).clamp(0, 1)
print(f"{(records[0].picture - goal).abs().mean().item():.2f}")

# %%
# 2. Nothing changes. The weights of the layers are shares, and equal weights are equal shares.

doubled = StyleTransfer(transfer.network, style_layers=dict.fromkeys(names, 2.0), margin=0)
(again,) = doubled.steps(content, glass, sizes=[96], steps=1)
print(again.losses == start.losses)

# %%
# 3. Take the brightness of both, and add the difference to all three colours of the content.


def brightness(picture):
    red, green, blue = picture.unbind(1)
    return (0.299 * red + 0.587 * green + 0.114 * blue).unsqueeze(1)


goal = F.interpolate(content, 96, mode="bicubic", antialias=True).clamp(0, 1)
painting = small["content_weight = 0.03"]
by_hand = (goal + brightness(painting) - brightness(goal)).clamp(0, 1)
print(torch.allclose(by_hand, small["colour = 'keep'"], atol=1e-5))

# %%
# The relative loss is 1 without features and 9 with doubled ones, and one hundred steps have divided
# the sum of the style terms by more than 10, as predicted.

torch.testing.assert_close(criterion(0 * layer).item(), 1.0, rtol=1e-5, atol=0)
torch.testing.assert_close(criterion(2 * layer).item(), 9.0, rtol=1e-5, atol=0)
assert first / last > 10

# %%
# Next
# ----
#
# - :class:`backpass.style.StyleTransfer` in the reference, and :ref:`guide-style-transfer`: the
#   command, larger pictures, and what to do when a picture disappoints.
# - :ref:`sphx_glr_gallery_2_losses_plot_which_layers.py`: the same loop by hand, and what each layer
#   knows about a picture.
# - :ref:`sphx_glr_gallery_2_losses_plot_style_loss.py`: the Gram matrix and its gradient.
# - :ref:`sphx_glr_gallery_2_losses_plot_total_variation.py`: the term that calms the noise.
