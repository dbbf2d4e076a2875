r"""
PyTorch never calls the backward of a Module
============================================

A Module has a ``forward`` and its Function has a ``backward``. If you write a ``backward`` into the
Module itself, nothing calls it and nothing complains. This page counts the calls.

In short
--------

**A gradient of your own belongs in a Function; a Module holds parameters and calls that Function in
its** ``forward``. The Function here reverses a gradient. The Module is the head of a network that
guesses where the features come from. The head learns to guess, and the layers before it learn to
hide.
"""

import matplotlib.pyplot as plt
import torch
from torch import nn
from torch.autograd import Function

from backpass.graph import draw


class Reverse(Function):
    @staticmethod
    def forward(input):
        return input.clone()

    @staticmethod
    def setup_context(ctx, inputs, output):
        pass

    @staticmethod
    def backward(ctx, grad_output):
        return -grad_output


class Head(nn.Module):
    def __init__(self, weight):
        super().__init__()
        self.weight = nn.Parameter(weight)

    def forward(self, input):
        return Reverse.apply(input) @ self.weight


# %%
# A number to predict
# -------------------
#
# Three features are 1, 2, 3 and the weight of the head is 10, 20, 30. Without any reversal the
# gradient of the features is the weight. With it, you expect **-10, -20, -30**. The gradient of the
# weight stays 1, 2, 3, because the weight comes after the reversal.
#
# The second head puts the same formula into ``Module.backward``. How often does PyTorch call it?
# **0** times, and the features get **10, 20, 30**.

weight = torch.tensor([10.0, 20.0, 30.0])


class WrongHead(Head):
    calls = 0

    def forward(self, input):
        return input.clone() @ self.weight

    def backward(self, grad_output):
        self.calls += 1
        return -grad_output


def gradient(function):
    input = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    function(input).backward()
    return input.grad


head, wrong_head = Head(weight), WrongHead(weight)
print("Head:     ", gradient(head), head.weight.grad)
print("WrongHead:", gradient(wrong_head), wrong_head.weight.grad)
print("calls of WrongHead.backward:", wrong_head.calls)

# %%
# There is no error and no warning. ``nn.Module`` does not even have a method of this name, so the
# Module has not overridden anything.

print(hasattr(nn.Module, "backward"))

# %%
# The formula
# -----------
#
# .. math::
#
#     y = x \qquad \bar{x} = -\bar{y}
#
# :math:`x` is ``input``, and :math:`\bar{y}` is ``grad_output``. This is a surrogate gradient: it
# is not the derivative of the forward, and that is its purpose. Without a Function it could not be
# said, because autograd would differentiate ``clone``.
#
# The ``clone`` is there because a Function should not return its input as it is: a later operation
# in place, such as ``nn.ReLU(inplace=True)``, would raise an error.
#
# The picture
# -----------
#
# The engine walks the graph, and a Module is not in the graph. Look at that of ``Head``: the
# Function has left its node ``ReverseBackward``, with a double outline.

input = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
draw(head(input))

# %%
# In that of ``WrongHead`` there is ``CloneBackward0`` in its place, and no trace of the Module. A
# method that no node knows cannot be called.

draw(wrong_head(input))

# %%
# What goes wrong: a Module without ``forward``
# ---------------------------------------------
#
# Old articles wrap the Function in a method ``backward`` of the Module. But it is ``forward``
# that a call of the Module runs.


class NoForward(nn.Module):
    def backward(self, input):
        return Reverse.apply(input)


try:
    NoForward()(input)
except NotImplementedError as error:
    print(error)

# %%
# What goes wrong: the Function is called through ``forward``
# -----------------------------------------------------------
#
# ``Reverse.forward`` is a plain static method. Autograd records the operations inside it, as if
# there were no Function, and uses their backward. The value is right and the gradient is not. Only
# ``apply`` makes a node.

by_forward = gradient(lambda input: Reverse.forward(input) @ weight)
by_apply = gradient(lambda input: Reverse.apply(input) @ weight)
print(by_forward, by_apply)

# %%
# What goes wrong: the name ``self.parameters``
# ---------------------------------------------
#
# The same articles store the parameters in ``self.parameters``. But ``parameters`` is the method
# that tells an optimizer what to train. A real ``nn.Parameter`` is refused. The quotes belong to
# the message of every ``KeyError``.


class Refused(nn.Module):
    def __init__(self):
        super().__init__()
        self.parameters = nn.Parameter(weight)


try:
    Refused()
except KeyError as error:
    print(error)

# %%
# A list is accepted, and so is a plain tensor. It hides the method.


class Hiding(nn.Module):
    def __init__(self):
        super().__init__()
        self.parameters = [nn.Parameter(weight.clone())]

    def forward(self, input):
        return Reverse.apply(input) @ self.parameters[0]


try:
    torch.optim.SGD(Hiding().parameters(), lr=1.0)
except TypeError as error:
    print(error)

# %%
# This was still an error. Inside a larger network it is silent. The network collects what its
# Modules have registered, and a list is not registered. So the optimizer gets **2** parameters, the
# weight and the bias of the first layer. The weight of the head never moves.


def train_one_step(head):
    network = nn.Sequential(nn.Linear(3, 3), head)
    optimizer = torch.optim.SGD(network.parameters(), lr=1.0)
    network(torch.ones(3)).backward()
    optimizer.step()
    return len(list(network.parameters()))


torch.manual_seed(0)
hiding, naming = Hiding(), Head(weight.clone())
print(train_one_step(hiding), "parameters, moved:", not torch.equal(hiding.parameters[0], weight))
print(train_one_step(naming), "parameters, moved:", not torch.equal(naming.weight, weight))

# %%
# Its gradient was computed, for nothing. And the list is missing from ``state_dict``, so the weight
# is neither saved nor loaded. The repair is a name of your own for each ``nn.Parameter``, as in
# ``Head``.

print(hiding.parameters[0].grad is not None)
print(list(hiding.state_dict()), list(naming.state_dict()))

# %%
# When a hook is the right thing
# ------------------------------
#
# A Function is for an operation of your own. If you only want to look at a gradient that passes, or
# to change it on the way, a hook is shorter. It also works where the operation is not yours. A hook
# on a tensor gets its gradient and may return another one.


def hooked(input):
    features = input.clone()
    features.register_hook(lambda grad: -grad)
    return features @ weight


by_tensor_hook = gradient(hooked)
print(by_tensor_hook)

# %%
# A hook on a Module gets the gradients of its inputs and its outputs. This is as near as a Module
# comes to a backward of its own. The hook runs if the Module is called, ``layer(input)``, and not
# if only its method is, ``layer.forward(input)``.

layer = nn.Identity()
layer.register_full_backward_hook(lambda module, grad_input, grad_output: (-grad_input[0],))

by_module_hook = gradient(lambda input: layer(input) @ weight)
by_method = gradient(lambda input: layer.forward(input) @ weight)
print(by_module_hook, by_method)

# %%
# Here are all the attempts in one figure. Only three of them reverse the gradient.

gradients = {
    "Reverse.apply(input)": by_apply,
    "Reverse.forward(input)": by_forward,
    "WrongHead.backward": gradient(wrong_head),
    "features.register_hook": by_tensor_hook,
    "layer(input)": by_module_hook,
    "layer.forward(input)": by_method,
}

figure, ax = plt.subplots(figsize=(7, 3), layout="constrained")
for i in range(3):
    places = [j + 0.25 * (i - 1) for j in range(len(gradients))]
    values = [grad[i].item() for grad in gradients.values()]
    ax.barh(places, values, height=0.25, label=f"input.grad[{i}]")
ax.axvline(0, color="black", linewidth=0.8)
ax.set_yticks(range(len(gradients)), gradients)
ax.invert_yaxis()
ax.set_title("input.grad")
figure.legend(loc="outside right upper", fontsize=8)

# %%
# Proof
# -----
#
# The gradient equals its formula for any cotangent. As a surrogate it must fail
# :func:`torch.autograd.gradcheck`, which compares with the true derivative.

x = torch.randn(4, dtype=torch.float64, requires_grad=True)
g = torch.randn(4, dtype=torch.float64)
(grad_input,) = torch.autograd.grad(Reverse.apply(x), x, g)
torch.testing.assert_close(grad_input, -g)
assert not torch.autograd.gradcheck(Reverse.apply, (x,), raise_exception=False)

# %%
# Try it
# ------
#
# 1. Change ``-grad_output`` to ``-0.5 * grad_output`` in ``Reverse``. Predict the gradient of the
#    features, and that of the weight.
# 2. Apply ``Reverse`` twice, ``Reverse.apply(Reverse.apply(input))``. Predict the gradient of the
#    features.
# 3. Call the method ``backward`` of a ``WrongHead`` yourself, after a forward. What does it do to
#    ``input.grad``?
#
# Answers
# -------
#
# 1. The features get -5, -10, -15. The weight gets 1, 2, 3 as before.


class HalfReverse(Reverse):
    @staticmethod
    def backward(ctx, grad_output):
        return -0.5 * grad_output


half_weight = weight.clone().requires_grad_()
print(gradient(lambda input: HalfReverse.apply(input) @ half_weight), half_weight.grad)

# %%
# 2. Minus times minus is plus: 10, 20, 30.

print(gradient(lambda input: Reverse.apply(Reverse.apply(input)) @ weight))

# %%
# 3. Nothing. It is a plain method: it returns a tensor, and the engine does not know of it. Now its
#    counter is 1, because you have called it.

another_head = WrongHead(weight)
another_head(input)
print(another_head.backward(torch.ones(3)), input.grad, another_head.calls)

# %%
# PyTorch has called ``WrongHead.backward`` 0 times, as you predicted. The gradient of the features
# is -10, -20, -30 where the Function or a hook reverses it, and 10, 20, 30 everywhere else.

reversing = [name for name, grad in gradients.items() if grad.equal(-weight)]
assert wrong_head.calls == 0
assert weight.tolist() == [10, 20, 30]
assert reversing == ["Reverse.apply(input)", "features.register_hook", "layer(input)"]
assert sum(grad.equal(weight) for grad in gradients.values()) == 3

# %%
# Next
# ----
#
# - :ref:`guide-which-tool`: Function, Module, hook or plain operations.
# - :ref:`sphx_glr_gallery_1_functions_plot_calling.py`: what the engine does and a call by hand does
#   not.
# - :ref:`sphx_glr_gallery_3_migration_plot_legacy_losses.py`: the losses whose own ``backward`` a
#   training loop called by hand.
# - :class:`backpass.modules.Linear` in the reference: a Module around a Function with parameters.
