"""Time steps against each other in interleaved pairs, and keep the figures with their origin.

Each round runs every step once, in one process, in alternating order. A ratio is the median of the
rounds' ratios, which a busy machine disturbs far less than a ratio of two medians.
"""

import argparse
import gc
import json
import os
import platform
import statistics
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from time import perf_counter
from typing import Any

import torch
from torch import Tensor

import backpass

RESULTS = Path(__file__).parent / "results"
WARM_UP = 3

Row = dict[str, Any]
Step = Callable[[], Any]


def interleaved(
    steps: Mapping[str, Step], rounds: int, clock: Callable[[], float] = perf_counter
) -> dict[str, list[float]]:
    """Return the milliseconds of every step in every round, but for the first rounds."""
    times: dict[str, list[float]] = {name: [] for name in steps}
    gc.collect()
    gc.disable()
    try:
        for number in range(WARM_UP + rounds):
            for name in list(steps) if number % 2 else reversed(steps):
                start = clock()
                steps[name]()
                times[name].append(1000 * (clock() - start))
    finally:
        gc.enable()
    return {name: each[WARM_UP:] for name, each in times.items()}


def row(
    label: str, anchor: str | None, anchor_ms: Sequence[float] | None, ours_ms: Sequence[float]
) -> Row:
    """Return what a table shows of two steps that were timed together, or of one without anchor."""
    found: Row = {"label": label, "ours_ms": round(statistics.median(ours_ms), 3)}
    if anchor_ms is None:
        return found
    ratios = [ours / theirs for theirs, ours in zip(anchor_ms, ours_ms, strict=True)]
    found |= {"anchor": anchor, "anchor_ms": round(statistics.median(anchor_ms), 3)}
    found["ratio"] = round(statistics.median(ratios), 3)
    if len(ratios) > 1:
        quartiles = statistics.quantiles(ratios, n=4, method="inclusive")[::2]
        found["ratio_quartiles"] = [round(quartile, 3) for quartile in quartiles]
    return found


def difference(expected: Tensor, actual: Tensor) -> float:
    """Return how far two results are apart, relative to the first."""
    return float(f"{((expected - actual).norm() / expected.norm()).item():.1e}")


def saved_megabytes(forward: Callable[[], Tensor], *known: Tensor) -> float:
    """Return what a forward keeps for its backward, besides tensors that exist anyway."""
    kept: dict[int, int] = {}
    alive = []  # an address that was free again would be counted once for two tensors

    def pack(tensor: Tensor) -> Tensor:
        storage = tensor.untyped_storage()
        kept[storage.data_ptr()] = storage.nbytes()
        alive.append(tensor)
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        forward()
    for tensor in known:
        kept.pop(tensor.untyped_storage().data_ptr(), None)
    return round(sum(kept.values()) / 1e6, 3)


def peak_megabytes(step: Step) -> float:
    """Return the most memory that a step holds at once, besides what was there before."""
    step()
    activities = [torch.profiler.ProfilerActivity.CPU]
    with torch.profiler.profile(activities=activities, profile_memory=True) as profile:
        step()
    events = profile.profiler.kineto_results.events()
    changes = sorted((e.start_ns(), e.nbytes()) for e in events if e.name() == "[memory]")
    held = peak = 0
    for _time, size in changes:
        held += size
        peak = max(peak, held)
    return round(peak / 1e6, 3)


def peak_megabytes_of_process() -> float:
    """Return the most memory that this process has held at once, by the system's account."""
    status = Path("/proc/self/status")
    if status.is_file():  # unlike ru_maxrss, it does not begin with the memory of the parent
        (line,) = (x for x in status.read_text("utf-8").splitlines() if x.startswith("VmHWM"))
        return round(int(line.split()[1]) * 1024 / 1e6)
    import resource  # noqa: PLC0415  (Windows has none)

    unit = 1 if sys.platform == "darwin" else 1024
    return round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e6)


def main(
    name: str,
    compare: Callable[..., Iterator[Row]],
    cases: Iterable[Sequence[Any]],
    rounds: int,
    after: Callable[[], Row] = dict,
    **heads: str,
) -> None:
    """Compare all cases, print each row as it comes, and write ``results/<name>.json``.

    ``label`` heads the first column, ``ours`` that of our times. The page translates both, and the
    names of anchors and further columns, unless they are code between backquotes.
    """
    parser = argparse.ArgumentParser(description=f"Measure, and write results/{name}.json.")
    parser.add_argument("--rounds", type=int, default=rounds, help="(%(default)s)")
    rounds = parser.parse_args().rounds
    rows = []
    for case in cases:
        for found in compare(rounds, *case):
            figures = ", ".join(f"{key} {found[key]}" for key in list(found)[1:])
            print(f"{name}: {found['label']}: {figures}", flush=True)
            rows.append(found)
    record = {**heads, **origin(), "rounds": rounds, **after(), "rows": rows}
    write(RESULTS / f"{name}.json", record)


def write(path: Path, record: Row) -> None:
    """Write a file that appears whole or not at all."""
    path.parent.mkdir(exist_ok=True)
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    beside.write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n", "utf-8")
    beside.replace(path)


def origin() -> Row:
    """Return where figures come from."""
    return {
        "date": datetime.now(UTC).date().isoformat(),
        "torch": torch.__version__.split("+")[0],
        "backpass": backpass.__version__,
        "python": platform.python_version(),
        "processor": processor(),
        "cores": os.cpu_count(),
        "threads": torch.get_num_threads(),
    }


def processor() -> str:
    """Return the processor's model as the system states it."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text("utf-8").splitlines() if info.is_file() else []
    names = [line.partition(": ")[2] for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor()
