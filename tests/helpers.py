"""What several test files need."""

import re
from collections import Counter

from torch.utils._python_dispatch import TorchDispatchMode

PRODUCTS = {"mm", "bmm", "baddbmm", "addmm", "mv", "addmv", "dot"}


def exactly(message):
    """Return the pattern of ``pytest.raises(match=...)`` for a whole message."""
    return f"^{re.escape(message)}$"


class Operations(TorchDispatchMode):
    """Count the operations that reach a device, by name."""

    def __init__(self):
        super().__init__()
        self.counts = Counter()

    def __torch_dispatch__(self, operation, types, arguments=(), keywords=None):
        self.counts[operation.overloadpacket.__name__] += 1
        return operation(*arguments, **keywords or {})

    @property
    def products(self):
        """The number of matrix products among them."""
        return sum(self.counts[name] for name in PRODUCTS)
