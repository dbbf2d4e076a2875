"""A small copy of the project, with one example, that is built for real."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
EXAMPLE = '''r"""
A title that tells the result
=============================

A paragraph.
"""

import matplotlib.pyplot as plt
import torch

from backpass.functions import relu

# %%
# Here is the number.
x = torch.tensor([-2.0, 3.0])
print(relu(x).sum().item())
plt.plot(relu(x))
'''
HEADER = "Part\n----\n\nSome examples.\n"
MESSAGES = {
    "A title that tells the result": "一个说出结果的标题",
    "A paragraph.": "一段话。",
    "Here is the number.": "数字在这里。",
}
INDEX = "# Start\n\n```{index} entry of the index\n```\n\n```{toctree}\ngallery/index\n```\n"


class Project:
    """A copy of the project with one example."""

    def __init__(self, root: Path):
        self.root = root
        for name in (
            "docs/_ext",
            "docs/_inventories",
            "docs/_root",
            "docs/_static",
            "docs/_templates",
            "src",
        ):
            shutil.copytree(ROOT / name, root / name, ignore=shutil.ignore_patterns("__pycache__"))
        shutil.copytree(ROOT / "docs" / "theme_locales", root / "docs" / "theme_locales")
        for name in (
            "docs/assemble.py",
            "docs/build.py",
            "docs/conf.py",
            "docs/languages.toml",
            "pyproject.toml",
            "constraints.txt",
        ):
            shutil.copy(ROOT / name, root / name)
        self.example = root / "examples" / "1_part" / "plot_one.py"
        self.example.parent.mkdir(parents=True)
        self.example.write_text(EXAMPLE, "utf-8")
        (root / "examples" / "GALLERY_HEADER.rst").write_text("Gallery\n=======\n", "utf-8")
        (root / "examples" / "1_part" / "GALLERY_HEADER.rst").write_text(HEADER, "utf-8")
        (root / "docs" / "index.md").write_text(INDEX, "utf-8")
        catalogue = self.catalogue()
        catalogue.parent.mkdir(parents=True)
        entries = [f'msgid "{message}"\nmsgstr "{text}"\n' for message, text in MESSAGES.items()]
        catalogue.write_text("\n".join(entries), "utf-8")

    def copy(self, root: Path) -> Project:
        """Copy sources and products, with their times: what is up to date stays up to date."""
        twin = object.__new__(Project)
        twin.root = Path(shutil.copytree(self.root, root))
        twin.example = twin.root / "examples" / "1_part" / "plot_one.py"
        return twin

    def environment(self, language: str = "en") -> dict[str, str]:
        return {
            **os.environ,
            "DOCS_LANGUAGE": language,
            "MPLBACKEND": "Agg",
            "PYTHONDONTWRITEBYTECODE": "1",
            "PYTHONPATH": str(self.root / "src"),
            "SOURCE_DATE_EPOCH": "1700000000",
        }

    def run(self, *command: str, language: str = "en") -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, *command],
            cwd=self.root,
            env=self.environment(language),
            capture_output=True,
            text=True,
            check=False,
        )

    def start(self, *command: str) -> subprocess.Popen[str]:
        """Start a process in a group of its own."""
        return subprocess.Popen(
            [sys.executable, *command],
            cwd=self.root,
            env=self.environment(),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def build(self, language: str = "en") -> subprocess.CompletedProcess[str]:
        """Build one language, without the lock and the assembly."""
        folder = {"en": "en", "zh_CN": "zh-cn"}[language]
        out = f"docs/_build/work/{folder}"
        doctrees = f"docs/_build/doctrees/html-{language}"
        options = ["-W", "-n", "--keep-going", "-b", "html", "-d", doctrees]
        return self.run("-m", "sphinx", *options, "docs", out, language=language)

    def build_all(self) -> subprocess.CompletedProcess[str]:
        return self.run("docs/build.py")

    @property
    def html(self) -> Path:
        return self.root / "docs/_build/html"

    def catalogue(self, name: str = "plot_one") -> Path:
        return self.root / f"docs/locales/zh_CN/LC_MESSAGES/gallery/1_part/{name}.po"

    def executed(self, folder: str = "en") -> list[str]:
        path = self.root / "docs/_build/work" / folder / "executed.json"
        return json.loads(path.read_text("utf-8"))

    def page(self, folder: str = "en") -> str:
        path = self.root / "docs/_build/work" / folder / "gallery/1_part/plot_one.html"
        return path.read_text("utf-8")


def tree(root: Path) -> dict[str, str]:
    """The digest of every file below a folder."""
    return {
        path.relative_to(root).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(root.rglob("*"))
        if path.is_file()
    }
