"""Time the Gram matrix, forward and backward, against plain autograd, in interleaved pairs.

The anchor is what a user would write: ``F @ F.T`` on a two-dimensional feature matrix. Each pair
runs both, in alternating order, in one process; the figure is the median of the pairs' ratios,
which a busy machine disturbs far less than two medians of times.
"""

import json
import os
import platform
import statistics
import sys
from collections.abc import Callable
from pathlib import Path
from time import perf_counter

import torch

import backpass
from backpass.functions import gram_matrix

SHAPES = [(64, 256), (128, 128), (256, 64), (512, 32)]
PAIRS = 25
RESULTS = Path(__file__).parent / "results" / "gram_matrix.json"


def timed(step: Callable[[], object]) -> float:
    """Return the milliseconds of one call."""
    start = perf_counter()
    step()
    return 1000 * (perf_counter() - start)


def measure(channels: int, side: int) -> dict[str, object]:
    """Return the ratios for feature maps of ``channels`` by ``side`` by ``side``."""
    generator = torch.Generator().manual_seed(0)
    features = torch.randn(channels, side, side, generator=generator, requires_grad=True)
    cotangent = torch.randn(channels, channels, generator=generator)

    def plain() -> torch.Tensor:
        matrix = features.reshape(channels, side * side)
        return torch.autograd.grad(matrix @ matrix.T, features, cotangent)[0]

    def ours() -> torch.Tensor:
        return torch.autograd.grad(gram_matrix(features[None]), features, cotangent[None])[0]

    difference = (plain() - ours()).norm() / plain().norm()
    pairs = []
    for number in range(PAIRS + 3):
        steps = (plain, ours) if number % 2 else (ours, plain)
        times = {step.__name__: timed(step) for step in steps}
        pairs.append((times["plain"], times["ours"]))
    ratios = sorted(ours / plain for plain, ours in pairs[3:])
    return {
        "shape": [channels, side, side],
        "plain_ms": round(statistics.median(plain for plain, _ in pairs[3:]), 3),
        "ours_ms": round(statistics.median(ours for _, ours in pairs[3:]), 3),
        "ratio": round(statistics.median(ratios), 3),
        "ratio_quartiles": [round(q, 3) for q in statistics.quantiles(ratios, n=4)[::2]],
        "pairs": PAIRS,
        "relative_difference": float(f"{difference.item():.1e}"),
    }


def main() -> None:
    """Measure every shape, print a table and write the results."""
    rows = [measure(*shape) for shape in SHAPES]
    for row in rows:
        print(row)
    record = {
        "what": "gram_matrix forward and backward against F @ F.T under plain autograd, float32",
        "torch": torch.__version__.split("+")[0],
        "backpass": backpass.__version__,
        "python": platform.python_version(),
        "processor": processor(),
        "cores": os.cpu_count(),
        "threads": torch.get_num_threads(),
        "rows": rows,
    }
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(json.dumps(record, indent=1) + "\n", "utf-8")


def processor() -> str:
    """Return the processor's model as the system states it."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.is_file() else []
    names = [line.partition(": ")[2] for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor()


if __name__ == "__main__":
    sys.exit(main())
