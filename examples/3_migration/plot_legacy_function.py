r"""
Five edits turn a legacy Function into one of today
===================================================

Old code makes an object of a Function and calls the object. PyTorch refuses this since 1.5. Three
common repairs fail, one of them without an error, and five edits work.

In short
--------

**What went to the constructor goes to apply, and its gradient is None.** This is the finished code.
"""

import warnings

import matplotlib.pyplot as plt
import torch
from torch.autograd import Function, gradcheck, gradgradcheck


class Power(Function):
    @staticmethod
    def forward(input, k):
        return input**k

    @staticmethod
    def setup_context(ctx, inputs, output):
        input, ctx.k = inputs
        ctx.save_for_backward(input)

    @staticmethod
    def backward(ctx, grad_output):
        (input,) = ctx.saved_tensors
        return grad_output * ctx.k * input ** (ctx.k - 1), None


# %%
# Numbers to predict
# ------------------
#
# A power has the derivative
#
# .. math::
#
#     \frac{d}{dx} x^k = k\, x^{k-1}
#
# At 1, 2 and 3 with ``k = 3`` this is **3, 12, 27**. The new Function must give these numbers, and
# the old one gave them too. It did not give the second derivative, 6 times the input. Today it is
# there: at 3 it is **18**.

x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
(gradient,) = torch.autograd.grad(Power.apply(x, 3).sum(), x, create_graph=True)
(second,) = torch.autograd.grad(gradient.sum(), x)
print(gradient)
print(second)

# %%
# The old code
# ------------
#
# This is how the same Function was written before. The exponent goes to the constructor, and the
# object remembers it. The methods have no ``@staticmethod``, and ``self`` is the object.


class LegacyPower(Function):
    def __init__(self, k):
        super().__init__()
        self.k = k

    def forward(self, input):
        self.save_for_backward(input)
        return input**self.k

    def backward(self, grad_output):
        (input,) = self.saved_tensors
        return grad_output * self.k * input ** (self.k - 1)


# %%
# What it did is not told from memory. The same class, there named ``Power``, was run on old
# releases. On torch 1.0.0:
#
# .. recorded: legacy_function torch-1.0.0
#
# .. code-block:: none
#
#     >>> x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
#     >>> y = Power(3)(x)
#     >>> y
#     tensor([ 1.,  8., 27.], grad_fn=<Power>)
#     >>> y.sum().backward()
#     >>> x.grad
#     tensor([ 3., 12., 27.])
#
# Torch 1.4.0 gave the same numbers and a warning. The release that it names was already past.
#
# .. recorded: legacy_function torch-1.4.0
#
# .. code-block:: none
#
#     >>> y = Power(3)(x)
#     UserWarning: Legacy autograd function with non-static forward method is deprecated and will be removed in 1.3. Please use new-style autograd function with static forward method. (Example: https://pytorch.org/docs/stable/autograd.html#torch.autograd.Function)
#     >>> y
#     tensor([ 1.,  8., 27.], grad_fn=<Power>)
#
# Torch 1.5.0 refused.
#
# .. recorded: legacy_function torch-1.5.0
#
# .. code-block:: none
#
#     >>> y = Power(3)(x)
#     RuntimeError: Legacy autograd function with non-static forward method is deprecated. Please use new-style autograd function with static forward method. (Example: https://pytorch.org/docs/stable/autograd.html#torch.autograd.Function)
#
# Today the constructor warns, and the call raises the same error. Search for its first words, and
# you find it in many issue trackers.


def construct(cls, *arguments):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        return cls(*arguments), caught


legacy_power, caught = construct(LegacyPower, 3)
print(f"{caught[0].category.__name__}: {caught[0].message}")
try:
    legacy_power(x)
except RuntimeError as error:
    legacy_message = str(error)
    print(f"RuntimeError: {legacy_message}")

# %%
# The five edits
# --------------
#
# The old object kept its argument and its saved tensors. Now ``apply`` makes an object for each
# call by itself. It is ``ctx``, and the class is only a place for functions.
#
# .. list-table::
#    :header-rows: 1
#
#    * - Then
#      - Now
#    * - ``def __init__(self, k)``
#      - deleted: ``k`` is an argument of ``forward``
#    * - ``def forward(self, input)``
#      - ``@staticmethod`` and ``def forward(input, k)``
#    * - ``self.save_for_backward(input)`` in ``forward``
#      - ``ctx.save_for_backward(input)`` in ``setup_context``
#    * - one gradient from ``backward``
#      - one for each argument of ``forward``, with ``None`` for ``k``
#    * - ``Power(3)(x)``
#      - ``Power.apply(x, 3)``
#
# The formulas stay as they are. The class above is the result.
#
# What goes wrong: only adding ``@staticmethod``
# ----------------------------------------------
#
# The message says non-static, so many people add the decorator and nothing else. The old call then
# raises the very same message, although ``forward`` is static now. The new call runs into the lost
# constructor: ``self`` is no longer the object that got ``k``.


class OnlyDecorated(LegacyPower):
    forward = staticmethod(LegacyPower.forward)
    backward = staticmethod(LegacyPower.backward)


decorated, _ = construct(OnlyDecorated, 3)
for call in (decorated, decorated.apply):
    try:
        call(x)
    except (RuntimeError, AttributeError) as error:
        print(f"{type(error).__name__}: {str(error).split('. ')[0]}")

# %%
# What goes wrong: calling ``forward``
# ------------------------------------
#
# The other advice is to write ``.forward``. This runs, and it is worse. It is an ordinary call of
# an ordinary method: autograd records the operations inside, and your backward is never called. A
# power does not show it, because its operations have the right derivative anyway. A sign does. Its
# derivative is 0, and a network with signs trains only because its Function lets the gradient pass
# where the input is between -1 and 1.


class LegacySign(Function):
    def forward(self, input):
        self.save_for_backward(input)
        return input.sign()

    def backward(self, grad_output):
        (input,) = self.saved_tensors
        return grad_output * (input.abs() <= 1)


class Sign(Function):
    @staticmethod
    def forward(input):
        return input.sign()

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx, grad_output):
        (input,) = ctx.saved_tensors
        return grad_output * (input.abs() <= 1)


# %%
# The input is -2, -1, 0, 1, 2. How many elements get a gradient? Three should, and with ``forward``
# it is **0**. The network no longer trains, and nothing says so.

legacy_sign, _ = construct(LegacySign)
signs = {"legacy_sign.forward": legacy_sign.forward, "Sign.apply": Sign.apply}
reached = {}
for name, sign in signs.items():
    points = torch.tensor([-2.0, -1.0, 0.0, 1.0, 2.0], requires_grad=True)
    output = sign(points)
    output.sum().backward()
    reached[name] = points.grad.count_nonzero().item()
    print(f"{name:20}", output.grad_fn.name(), points.grad)

# %%
# The picture
# -----------
#
# The outputs of the two calls are equal. Only the gradients differ.

figure, axes = plt.subplots(1, 2, figsize=(7, 3), sharey=True, layout="constrained")
for ax, (name, sign) in zip(axes, signs.items(), strict=True):
    points = torch.linspace(-2, 2, 401, requires_grad=True)
    output = sign(points)
    output.sum().backward()
    ax.plot(points.detach(), output.detach(), color="0.6", label="output")
    ax.plot(points.detach(), points.grad, linewidth=2, label="input.grad")
    ax.set(title=name, xlabel="input")
axes[0].legend(loc="upper left")

# %%
# What goes wrong: ``self.saved_for_backward``
# --------------------------------------------
#
# Much old code keeps its tensors in ``self.saved_for_backward``. The name sounds like torch, but it
# is a plain attribute. ``saved_tensors`` stays empty, and nobody notices when a tensor is changed.
# On torch 1.4.0 such a ``Square`` gave ten times the right gradient, where a ``Power`` that used
# ``save_for_backward`` raised an error.
#
# .. recorded: legacy_function torch-1.4.0
#
# .. code-block:: none
#
#     >>> z *= 10
#     >>> y.sum().backward()
#     RuntimeError: one of the variables needed for gradient computation has been modified by an inplace operation: [torch.FloatTensor [3]], which is output 0 of MulBackward0, is at version 1; expected version 0 instead. Hint: enable anomaly detection to find the operation that failed to compute its gradient, with torch.autograd.set_detect_anomaly(True).
#     [...]
#     >>> y = Square()(z)
#     [...]
#     >>> z *= 10
#     >>> y.sum().backward()
#     saved_tensors = ()
#     >>> x.grad
#     tensor([20., 40., 60.])
#
# The new ``Power`` has the protection.

z = x * 1
y = Power.apply(z, 2)
z *= 10
try:
    y.sum().backward()
except RuntimeError as error:
    print(str(error).split(":")[0])

# %%
# What was not there before
# -------------------------
#
# A legacy backward was a constant to autograd. If the second derivative needed it, an error came.
#
# .. recorded: legacy_function torch-1.4.0
#
# .. code-block:: none
#
#     >>> (g,) = torch.autograd.grad((y * y).sum(), x, create_graph=True)
#     >>> g.sum().backward()
#     RuntimeError: PowerLegacyBackward is not differentiable twice
#
# The static backward is recorded, so the second derivative exists now. No error stands in the way
# if it is wrong. Check it.
#
# Proof
# -----

double = torch.tensor([1.0, 2.0, 3.0], dtype=torch.float64, requires_grad=True)
assert gradcheck(lambda input: Power.apply(input, 3), double)
assert gradgradcheck(lambda input: Power.apply(input, 3), double)
assert legacy_message.startswith("Legacy autograd function with non-static forward method")

# %%
# Try it
# ------
#
# 1. Forget the fourth edit: leave out ``None`` in ``backward``. Predict the message.
# 2. Change ``setup_context`` so that it keeps the input as ``ctx.input``, and multiply ``z`` by 10
#    as above. Predict the gradient of ``Power.apply(z, 2)``.
# 3. The old code is static, but its ``backward`` has lost the decorator. Does it run today?
#
# Answers
# -------
#
# 1. Two arguments, one gradient. The message counts them.


class WithoutNone(Power):
    @staticmethod
    def backward(ctx, grad_output):
        return Power.backward(ctx, grad_output)[0]


try:
    WithoutNone.apply(x, 3).sum().backward()
except RuntimeError as error:
    print(error)

# %%
# 2. It is 20, 40, 60 again, as on torch 1.4.0. An attribute of ``ctx`` is no better than one of
#    ``self``.


class KeepsInput(Function):
    @staticmethod
    def forward(input, k):
        return input**k

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.input, ctx.k = inputs

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * ctx.k * ctx.input ** (ctx.k - 1), None


z = x * 1
y = KeepsInput.apply(z, 2)
z *= 10
print(torch.autograd.grad(y.sum(), x)[0])

# %%
# 3. Yes. ``apply`` takes the function from the class, and an undecorated one is the same there. It
#    ran on all recorded releases too.


class Undecorated(Power):
    def backward(ctx, grad_output):
        return Power.backward(ctx, grad_output)


print(torch.autograd.grad(Undecorated.apply(x, 3).sum(), x)[0])

# %%
# The new Function gives 3, 12, 27 and the second derivative 18 at 3. With ``forward`` the gradient
# reached 0 elements, as you predicted.

assert gradient.tolist() == [3, 12, 27]
assert second[2] == 18
assert list(reached.values()) == [0, 3]

# %%
# Next
# ----
#
# - :ref:`migration-table`: every old line and its new form.
# - :ref:`guide-writing-a-function`: the form of today, step by step.
# - :ref:`sphx_glr_gallery_4_verification_plot_silent_mistakes.py`: why no tensor belongs on
#   ``ctx``.
# - :ref:`sphx_glr_gallery_3_migration_plot_legacy_losses.py`: the old Modules with a ``backward``.
