"""Execute an example again when anything that its output depends on has changed, and say when it ran.

sphinx-gallery compares the script alone. Here the outputs are also bound to the library, to
``constraints.txt`` and to the gallery's settings: their digest, and for each example the versions,
commit and date of its execution, are kept in ``gallery/execution.json`` beside the cached output.
"""

import hashlib
import json
import os
import platform
import random
import shutil
from collections.abc import Iterable
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.errors import ExtensionError
from sphinx.util import logging

from gallery_pages import is_example
from sources import commit

logger = logging.getLogger(__name__)
executed: list[str] = []


def before_example(gallery_conf: dict[str, Any], fname: str) -> None:
    """Note the example and seed it; sphinx-gallery calls this before it executes one, and only then."""
    import torch  # noqa: PLC0415  (only a build that executes pays for it)

    executed.append(Path(fname).stem)
    random.seed(0)
    torch.manual_seed(0)


def digest(root: Path, files: Iterable[Path], settings: object) -> str:
    """Return a digest of the files' places and contents and of the settings."""
    sha = hashlib.sha256(json.dumps(settings, sort_keys=True, default=sorted).encode())
    for file in sorted(files):
        sha.update(
            file.relative_to(root).as_posix().encode()
            + b"\0"
            + hashlib.sha256(file.read_bytes()).digest()
        )
    return sha.hexdigest()


def today() -> str:
    """Return the date, or that of ``SOURCE_DATE_EPOCH``."""
    epoch = os.environ.get("SOURCE_DATE_EPOCH")
    moment = datetime.fromtimestamp(int(epoch), UTC) if epoch else datetime.now(UTC)
    return moment.date().isoformat()


def keep_settings(app: Sphinx, config: Config) -> None:
    """Keep the gallery's settings as conf.py states them, before defaults and paths are added."""
    app.gallery_settings = dict(config.sphinx_gallery_conf)  # type: ignore[attr-defined]


def drop_stale_outputs(app: Sphinx) -> None:
    """Remove the marks of examples whose output does not belong to the present sources."""
    executed.clear()
    root, gallery = Path(app.confdir).parent, Path(app.srcdir, "gallery")
    sources = [*root.glob("src/**/*.py"), root / "constraints.txt", Path(__file__)]
    settings = [app.gallery_settings, version("torch")]  # type: ignore[attr-defined]
    key = digest(root, (s for s in sources if s.is_file()), settings)
    state = _read(gallery)
    records = state["examples"] if state["key"] == key else {}
    for mark in gallery.glob("**/*.py.md5"):
        name = mark.name.removesuffix(".py.md5")
        # A build that was stopped left marks without a record: those outputs are of unknown age.
        if records.get(name, {}).get("script") != mark.read_text("utf-8"):
            mark.unlink()
    for page in gallery.glob("*/plot_*.*"):
        script = root / "examples" / page.parent.name / f"{page.name.split('.')[0]}.py"
        if not script.is_file():
            page.unlink()
    for section in [index.parent for index in gallery.glob("*/index.rst")]:
        if not (root / "examples" / section.name).is_dir():
            shutil.rmtree(section)
    app.execution = {"key": key, "examples": records}  # type: ignore[attr-defined]


def keep_records(app: Sphinx) -> None:
    """Write the record of the examples that have just been executed."""
    gallery = Path(app.srcdir, "gallery")
    state: dict[str, Any] = app.execution  # type: ignore[attr-defined]
    if not gallery.is_dir():
        return
    facts = {
        "python": platform.python_version(),
        "torch": version("torch").split("+")[0],
        "backpass": version("backpass"),
        "commit": commit(),
        "date": today(),
    }
    marks = {m.name.removesuffix(".py.md5"): m for m in sorted(gallery.glob("**/*.py.md5"))}
    for name in executed:
        if name in marks:
            state["examples"][name] = {"script": marks[name].read_text("utf-8"), **facts}
    state["examples"] = {n: r for n, r in sorted(state["examples"].items()) if n in marks}
    new = gallery / "execution.json.new"
    new.write_text(json.dumps(state, indent=1), "utf-8")
    new.replace(gallery / "execution.json")
    Path(app.outdir).mkdir(parents=True, exist_ok=True)
    Path(app.outdir, "executed.json").write_text(json.dumps(executed), "utf-8")
    logger.info("executed %d of %d examples", len(executed), len(marks))


def add_execution(
    app: Sphinx,
    pagename: str,
    templatename: str,
    context: dict[str, Any],
    doctree: nodes.document | None,
) -> None:
    """Give a gallery page the record of its execution; without one it is not published."""
    if is_example(pagename):
        name = pagename.rpartition("/")[2]
        records = app.execution["examples"]  # type: ignore[attr-defined]
        if name not in records:
            raise ExtensionError(
                f"execution: expected {pagename} to have been executed, got no record"
            )
        context["execution"] = records[name]


def _read(gallery: Path) -> dict[str, Any]:
    try:
        state: dict[str, Any] = json.loads((gallery / "execution.json").read_text("utf-8"))
    except (FileNotFoundError, json.JSONDecodeError):
        state = {"key": None, "examples": {}}
    return state


def setup(app: Sphinx) -> dict[str, bool]:
    """Stand on both sides of sphinx-gallery, which adds its defaults at 10 and executes at 500."""
    app.connect("config-inited", keep_settings, priority=1)
    app.connect("builder-inited", drop_stale_outputs, priority=100)
    app.connect("builder-inited", keep_records, priority=900)
    app.connect("html-page-context", add_execution)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
