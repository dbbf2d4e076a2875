"""Functions used as objects: one instance per call, methods without @staticmethod."""

import warnings

import torch
from torch.autograd import Function

warnings.simplefilter("always")
warnings.showwarning = lambda message, category, *_: print(f"{category.__name__}: {message}")


class Power(Function):
    """The exponent goes to the constructor, the input to the call."""

    def __init__(self, k):
        super().__init__()
        self.k = k

    def forward(self, input):
        self.save_for_backward(input)
        return input**self.k

    def backward(self, grad_output):
        (input,) = self.saved_tensors
        return grad_output * self.k * input ** (self.k - 1)


class Square(Function):
    """The input is kept in a plain attribute, whose name only sounds like torch's own."""

    def forward(self, input):
        self.saved_for_backward = [input]
        return input * input

    def backward(self, grad_output):
        print(f"saved_tensors = {self.saved_tensors}")
        (input,) = self.saved_for_backward
        return grad_output * 2 * input


class MyReLU(Function):
    """The forward is static, the backward has lost its decorator."""

    @staticmethod
    def forward(ctx, input):
        ctx.save_for_backward(input)
        return input.clamp(min=0)

    def backward(ctx, grad_output):
        (input,) = ctx.saved_tensors
        grad_input = grad_output.clone()
        grad_input[input < 0] = 0
        return grad_input


def show(*lines):
    """Run lines as the interactive prompt does, up to the first error."""
    for line in lines:
        print(f">>> {line}")
        try:
            exec(compile(line + "\n", "prompt", "single"), globals())
        except Exception as error:
            print(f"{type(error).__name__}: {error}")
            break
    print()


leaf = "x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)"
show(leaf, "y = Power(3)(x)", "y", "y.sum().backward()", "x.grad")
show(leaf, "y = Square()(x)", "y.sum().backward()", "x.grad")

# The version check sees a change in place only where torch keeps the tensor itself.
show(leaf, "z = x * 1", "y = Power(2)(z)", "z *= 10", "y.sum().backward()")
show(leaf, "z = x * 1", "y = Square()(z)", "z *= 10", "y.sum().backward()", "x.grad")

# The first backward is a constant to the second, or refuses it.
first = "(g,) = torch.autograd.grad({}.sum(), x, create_graph=True)"
show(leaf, "y = Power(3)(x)", first.format("y"), "g.requires_grad")
show(leaf, "y = Power(3)(x)", first.format("(y * y)"), "g.sum().backward()")

leaf = "x = torch.tensor([-1.0, 0.0, 2.0], requires_grad=True)"
show(leaf, "y = MyReLU.apply(x)", "y", "y.sum().backward()", "x.grad")
show(leaf, "y = torch.relu(x)", "y.sum().backward()", "x.grad")
