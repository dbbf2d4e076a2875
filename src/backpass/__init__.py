"""Custom autograd Functions and losses for PyTorch, each with a declared and proved gradient.

Importing ``backpass`` imports no torch: a sub-namespace is loaded when it is first used.
"""

import importlib
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from backpass import functions, graph, legacy, losses, modules, style

__all__ = ["functions", "graph", "legacy", "losses", "modules", "style"]
__version__ = "0.1.0"


def __getattr__(name: str) -> ModuleType:
    """Load a sub-namespace on first use (PEP 562)."""
    if name in __all__:
        return importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
