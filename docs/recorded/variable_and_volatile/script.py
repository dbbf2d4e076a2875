"""Words of the time before 0.4: Variable, volatile, data[0] and retain_variables."""

import warnings

import torch
from torch.autograd import Variable

warnings.simplefilter("always")
warnings.showwarning = lambda message, category, *_: print(f"{category.__name__}: {message}")


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


x = torch.tensor([1.0, 2.0])
weight = torch.tensor([3.0, 4.0], requires_grad=True)

show("Variable(x)", "type(Variable(x))", "Variable(x).data_ptr() == x.data_ptr()")
show("Variable(x, requires_grad=True)")
show("v = Variable(x, volatile=True)", "v", "v.volatile", "(weight * v).requires_grad")
show("with torch.no_grad(): product = weight * x", "product.requires_grad")

forward = "loss = (weight * x).sum()"
show(forward, "loss.data[0]")
show(forward, "loss.item()")
show(forward, "loss.backward(retain_variables=True)")
show(forward, "loss.backward(retain_graph=True)", "loss.backward()", "weight.grad")
