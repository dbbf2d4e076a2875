"""The outputs of named layers, for which a network runs no further than it must."""

from collections.abc import Callable, Collection
from typing import Any

from torch import Tensor, nn


class _Enough(Exception):  # noqa: N818  (a signal, not an error)
    """Every wanted layer has been seen."""


def features(network: nn.Module, picture: Tensor, layers: Collection[str]) -> dict[str, Tensor]:
    """Return the outputs of named layers of a network.

    The network runs until the last of the layers has returned, and no further. Nothing is kept
    between calls.

    Args:
        network: Any Module; its layers are its submodules.
        picture: What the network is called with.
        layers: Names of submodules, as ``network.named_modules()`` gives them.

    Returns:
        The output of each layer's first call, in the order of ``layers``.

    Raises:
        TypeError: If a layer returns something other than a tensor.
        ValueError: If the network has no such layer, does not call it, or overwrites its output in
            place.

    Example:
        >>> import torch
        >>> from backpass.style import features
        >>> network = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.ReLU())
        >>> features(network, torch.tensor([[[-1.0, 2.0]]]), ["1"])
        {'1': tensor([[0., 2.]])}
    """
    modules = dict(network.named_modules())
    wanted = set(layers)
    for layer in layers:
        if layer not in modules:
            named = ", ".join(name for name in modules if name) or "none"
            raise ValueError(
                f"features: expected a layer of the network, got {layer!r}; it has {named}"
            )
    found: dict[str, tuple[Tensor, int]] = {}

    def keep(layer: str) -> Callable[[nn.Module, Any, Any], None]:
        def hook(_module: nn.Module, _inputs: Any, output: Any) -> None:
            if not isinstance(output, Tensor):
                got = type(output).__name__
                raise TypeError(f"features: expected layer {layer!r} to return a tensor, got {got}")
            found.setdefault(layer, (output, _version(output)))
            if len(found) == len(wanted):
                raise _Enough

        return hook

    handles = [modules[layer].register_forward_hook(keep(layer)) for layer in wanted]
    try:
        if wanted:
            network(picture)
    except _Enough:
        pass
    finally:
        for handle in handles:
            handle.remove()
    for layer in layers:
        if layer not in found:
            raise ValueError(
                f"features: expected the network to call layer {layer!r}, got a forward without it"
            )
        output, version = found[layer]
        if _version(output) != version:
            raise ValueError(
                f"features: expected the output of layer {layer!r} to be left as it is, got a "
                "later layer that writes into it; build that layer with inplace=False"
            )
    return {layer: found[layer][0] for layer in layers}


def _version(tensor: Tensor) -> int:
    # Inference mode does not count what is written into a tensor.
    return 0 if tensor.is_inference() else tensor._version
