"""``backpass stylize``: style transfer from the command line, for one picture or for a folder."""

import argparse
import math
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    from torch import Tensor
    from torch.nn import Module

    from backpass.style import Progress

INTERRUPTED = 130  # what a shell reports of a command that Ctrl-C has ended
ENDINGS = {".bmp", ".gif", ".jpeg", ".jpg", ".png", ".tif", ".tiff", ".webp"}
SHEET_SIZE, SHEET_STEPS = 128, 60
SHEET = [(content, scale) for content in (0.01, 0.03, 0.1) for scale in (0.6, 1.0, 1.5)]

EPILOG = """\
STYLE is a file, or pattern:glass, pattern:rings or pattern:swirl, which are drawn.

Where CONTENT is a folder, OUT is one too. Pictures that are already in it are left, so a run
that was stopped goes on where it was. Several processes or machines share the work under
  python -m torch.distributed.run --standalone --nproc-per-node 2 -m backpass stylize ...

exit status: 0 done; 1 some pictures of a folder could not be painted; 2 nothing could be done,
for the reason that is given; 130 interrupted: of a single picture the best so far is written.
"""


class Parser(argparse.ArgumentParser):
    """A parser whose errors take one line, as all errors of the command do."""

    def error(self, message: str) -> NoReturn:
        """Say what is wrong and exit."""
        self.exit(2, f"{self.prog}: {message}; see {self.prog} --help\n")


def parser() -> Parser:
    """Return the parser of the arguments."""
    made = Parser(
        prog="backpass stylize",
        description="Paint a picture in the style of others.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = made.add_argument
    add("content", type=Path, metavar="CONTENT", help="the picture, or a folder of pictures")
    add("styles", nargs="+", metavar="STYLE", help="a picture whose style is taken, or several")
    add(
        "-o",
        "--output",
        type=Path,
        required=True,
        metavar="OUT",
        help="the file or folder to write",
    )
    add("--force", action="store_true", help="write over what exists")
    add(
        "--size",
        type=between(int, 32, 8192),
        default=256,
        metavar="N",
        help="the longer side in pixels (256)",
    )
    steps = "at each size from 128 on, doubling, or one number for all (100 80 60 40)"
    add("--steps", type=between(int, 1, 10**6), nargs="+", metavar="N", help=steps)
    weight = between(float, 0, 10**6)
    add("--content-weight", type=weight, default=0.03, metavar="X", help="smaller is bolder (0.03)")
    add("--variation-weight", type=weight, default=0.3, metavar="X", help="larger is calmer (0.3)")
    scale = between(float, 0.1, 10)
    add("--style-scale", type=scale, default=1.0, metavar="X", help="larger strokes (1.0)")
    add("--style-weights", type=weight, nargs="+", metavar="X", help="the share of each style")
    add("--colour", choices=["style", "keep"], default="style", help="keep: those of the content")
    add("--optimizer", choices=["adam", "lbfgs"], default="adam", help="(adam)")
    networks = ["efficientnet-lite0", "vgg19"]
    add("--network", choices=networks, default=networks[0], help=f"({networks[0]})")
    add("--weights", type=Path, metavar="FILE", help="the weights of the network")
    add(
        "--seed",
        type=between(int, 0, 2**63 - 1),
        default=0,
        metavar="N",
        help="the seed of the noise (0)",
    )
    add("--device", default="cpu", help="for example cuda (cpu)")
    add("--preview", action="store_true", help="write a sheet of small pictures, by settings")
    add("--quiet", action="store_true", help="show no progress")
    return made


def main(argv: Sequence[str]) -> int:
    """Run the command and return its exit status."""
    arguments = parser().parse_args(argv)
    # Threads that spin while they wait cost a busy machine ten times the run; read at torch's import.
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    try:
        _settle(arguments)
        return _folder(arguments) if arguments.content.is_dir() else _file(arguments)
    except (ImportError, OSError, TypeError, ValueError) as error:
        _complain(_reason(error))
        return 2
    except (MemoryError, RuntimeError) as error:
        if isinstance(error, RuntimeError) and "memory" not in str(error):
            raise
        _complain("expected enough memory, got too little; choose a smaller --size")
        return 2
    except KeyboardInterrupt:
        _complain("interrupted before there was a picture")
        return INTERRUPTED


def _settle(arguments: argparse.Namespace) -> None:
    """Fill in what follows from other arguments, and refuse what does not fit them."""
    from backpass.style import ladder  # noqa: PLC0415

    if arguments.preview:
        if arguments.content.is_dir():
            raise ValueError(f"--preview: expected a picture, got the folder {arguments.content}")
        arguments.size, arguments.steps = SHEET_SIZE, [SHEET_STEPS]
    arguments.sizes = ladder(arguments.size)
    count = len(arguments.sizes)
    if arguments.steps is None:
        arguments.steps = [100, 80, 60, *[40] * count][:count]
    elif len(arguments.steps) == 1:
        arguments.steps *= count
    if len(arguments.steps) != count:
        sizes = ", ".join(map(str, arguments.sizes))
        raise ValueError(
            f"--steps: expected one number, or one for each of the sizes {sizes}, got "
            f"{len(arguments.steps)}"
        )
    weights = arguments.style_weights
    if weights is not None and len(weights) != len(arguments.styles):
        raise ValueError(
            f"--style-weights: expected one number for each style, got {len(weights)} for "
            f"{len(arguments.styles)}"
        )


def _file(arguments: argparse.Namespace) -> int:
    """Paint one picture, or a sheet of it in several settings."""
    from backpass.style import write_picture  # noqa: PLC0415

    start = time.perf_counter()
    if _processes() > 1:
        raise ValueError(f"expected a folder for several processes, got {arguments.content}")
    _demand_writable(arguments.output, force=arguments.force)
    paint = partial(_paint, arguments, _network(arguments), _styles(arguments), arguments.content)
    picture, status = _sheet(paint) if arguments.preview else paint()
    write_picture(arguments.output, picture, overwrite=arguments.force)
    height, width = picture.shape[2:]
    seconds = time.perf_counter() - start
    ending = ", interrupted" if status else ""
    print(f"{arguments.output}: {width} x {height} pixels in {seconds:.1f} s{ending}")
    return status


def _folder(arguments: argparse.Namespace) -> int:
    """Paint this process's share of a folder; all processes end together, with one status."""
    from torch import distributed  # noqa: PLC0415

    from backpass.style import write_picture  # noqa: PLC0415

    pictures = sorted(p for p in arguments.content.iterdir() if p.suffix.lower() in ENDINGS)
    if not pictures:
        raise ValueError(f"expected pictures in {arguments.content}, got none")
    if arguments.output.resolve() == arguments.content.resolve():
        raise ValueError(
            f"--output: expected another folder than that of the content, got {arguments.output}"
        )
    network, styles = _network(arguments), _styles(arguments)
    arguments.output.mkdir(parents=True, exist_ok=True)
    _demand_writable(arguments.output / pictures[0].name, force=True)
    rank, processes = int(os.environ.get("RANK", "0")), _processes()
    if processes > 1:
        # The processes meet only at the end, and one may have a day more to do than another.
        distributed.init_process_group("gloo", timeout=timedelta(days=7))
    failed = []
    for path in pictures[rank::processes]:
        output = arguments.output / path.name
        if output.exists() and not arguments.force:
            print(f"{output}: left as it is")
            continue
        try:
            picture, status = _paint(arguments, network, styles, path)
            if status:
                _complain(f"interrupted at {path.name}, which the next run paints")
                return status
            write_picture(output, picture, overwrite=arguments.force)
        except (OSError, ValueError) as error:
            failed.append(path.name)
            _complain(_reason(error))
        else:
            print(f"{output}: painted")
    if processes > 1:
        everywhere: list[list[str]] = [[] for _ in range(processes)]
        try:
            distributed.all_gather_object(everywhere, failed)
        except RuntimeError:  # of a connection that is closed
            _complain("another process has ended before its time; the next run paints the rest")
            return 1
        distributed.destroy_process_group()
        failed = [name for names in everywhere for name in names]
    return 1 if failed else 0


def _processes() -> int:
    """Return how many processes torchrun has started."""
    return int(os.environ.get("WORLD_SIZE", "1"))


def _paint(
    arguments: argparse.Namespace,
    network: "Module",
    styles: list["Tensor"],
    path: Path,
    **settings: float,
) -> tuple["Tensor", int]:
    """Return a picture and the exit status."""
    from backpass.style import StyleTransfer, read_picture  # noqa: PLC0415

    given = vars(arguments)
    options = ("content_weight", "variation_weight", "style_scale", "colour", "optimizer")
    transfer = StyleTransfer(network, **{name: given[name] for name in options} | settings)
    content = read_picture(path, longest=arguments.size)
    run = {name: given[name] for name in ("style_weights", "sizes", "steps", "seed")}
    last: Progress | None = None
    with _progress(arguments, path) as show:
        try:
            for last in transfer.steps(content, styles, **run):
                show(last)
        except KeyboardInterrupt:
            if last is None:
                raise
            return last.picture, INTERRUPTED
    assert last is not None  # there is at least one step
    return last.picture, 0


def _sheet(paint: Callable[..., tuple["Tensor", int]]) -> tuple["Tensor", int]:
    """Return a sheet of small pictures, each with the settings that made it, and the status."""
    from backpass.style._pictures import contact_sheet  # noqa: PLC0415

    pictures, status = {}, 0
    for content_weight, style_scale in SHEET:
        label = f"--content-weight {content_weight} --style-scale {style_scale}"
        picture, status = paint(content_weight=content_weight, style_scale=style_scale)
        pictures[label] = picture
        if status:
            break
    return contact_sheet(pictures, columns=3), status


def _network(arguments: argparse.Namespace) -> "Module":
    from backpass.style import efficientnet_lite0, vgg19  # noqa: PLC0415

    load = vgg19 if arguments.network == "vgg19" else efficientnet_lite0
    return load(arguments.weights).to(_device(arguments.device))


def _device(name: str) -> str:
    """Return the name of a device that works; each process of a machine takes its own."""
    import torch  # noqa: PLC0415

    if name == "cuda" and "LOCAL_RANK" in os.environ:
        name = f"cuda:{os.environ['LOCAL_RANK']}"
    try:
        torch.zeros(1, device=name).item()
    # torch without CUDA asserts, and knows other devices by name that it cannot use.
    except (AssertionError, ImportError, RuntimeError):
        raise ValueError(
            f"--device: expected one that works here, got {name!r}; cpu does"
        ) from None
    return name


def _styles(arguments: argparse.Namespace) -> list["Tensor"]:
    from backpass.style import pattern, read_picture  # noqa: PLC0415

    styles = []
    for name in arguments.styles:
        prefix, colon, drawn = name.partition("pattern:")
        if colon and not prefix:
            styles.append(pattern(drawn, min(max(256, arguments.size), 1024)))
        else:
            styles.append(read_picture(name, longest=2 * arguments.size))
    return styles


@contextmanager
def _progress(arguments: argparse.Namespace, path: Path) -> Iterator[Callable[["Progress"], None]]:
    """Show a bar on a terminal, and a line now and then elsewhere."""
    from rich import console, progress  # noqa: PLC0415

    screen = console.Console(stderr=True)
    bar = progress.Progress(
        progress.TextColumn("{task.description}  {task.fields[said]}", markup=False),
        progress.BarColumn(),
        progress.TimeRemainingColumn(compact=True),
        console=screen,
        disable=arguments.quiet or not screen.is_terminal,
    )
    # The time that a step takes grows as the number of pixels.
    stages = zip(arguments.sizes, arguments.steps, strict=True)
    total = sum(size**2 * count for size, count in stages)
    task = bar.add_task(path.name, total=total, said="")

    def show(now: "Progress") -> None:
        said = f"{now.size} px  step {now.step}/{now.steps}  loss {now.loss:.4f}"
        bar.update(task, advance=now.size**2, said=said)
        rare = now.step in (1, now.steps) or now.step % 20 == 0
        if rare and not arguments.quiet and not screen.is_terminal:
            left = bar.tasks[0].time_remaining
            ending = "" if left is None else f"  {math.ceil(left)} s left"
            print(f"{path.name}  {said}{ending}", file=sys.stderr, flush=True)

    with bar:
        yield show


def _demand_writable(output: Path, *, force: bool) -> None:
    """Refuse before the work what would be refused after it."""
    from backpass.style._pictures import writable  # noqa: PLC0415

    if output.exists() and not force:
        raise FileExistsError(f"expected a new file, got {output} which exists; add --force")
    writable(output, overwrite=True)
    probe = output.with_name(f".{output.name}.{os.getpid()}")
    try:
        probe.touch()
        probe.unlink()
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(output)) from None


def _reason(error: Exception) -> str:
    """Return one line."""
    reason = str(error)
    if isinstance(error, OSError) and error.filename is not None:
        reason = f"{error.filename}: {error.strerror}"
    if isinstance(error, ModuleNotFoundError) and error.name is not None:
        reason = f"expected the package {error.name}, got none; install backpass[style]"
    return " ".join(reason.split())


def _complain(message: str) -> None:
    print(f"backpass stylize: {message}", file=sys.stderr)


def between(kind: Callable[[str], float], least: float, most: float) -> Callable[[str], float]:
    """Return the reader of a number in a range, which is whole where ``kind`` is ``int``."""

    def read(text: str) -> float:
        try:
            value = kind(text)
        except ValueError:
            value = math.nan
        if not least <= value <= most:
            rule = f"a {'whole ' * (kind is int)}number from {least} to {most}"
            raise argparse.ArgumentTypeError(f"expected {rule}, got {text!r}")
        return value

    return read
