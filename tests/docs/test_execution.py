"""A small copy of the project is built for real: executed once, rendered twice, never stale."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
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
ASSEMBLE = "import sys; sys.path.insert(0, 'docs'); import assemble; assemble.main()"
INDEX = "# Start\n\n```{toctree}\ngallery/index\n```\n"


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
        catalogue = root / "docs/locales/zh_CN/LC_MESSAGES/gallery/1_part/plot_one.po"
        catalogue.parent.mkdir(parents=True)
        entries = [f'msgid "{message}"\nmsgstr "{text}"\n' for message, text in MESSAGES.items()]
        catalogue.write_text("\n".join(entries), "utf-8")

    def run(self, *command: str, language: str = "en") -> subprocess.CompletedProcess[str]:
        environment = {
            **os.environ,
            "PYTHONPATH": str(self.root / "src"),
            "DOCS_LANGUAGE": language,
        }
        environment |= {"MPLBACKEND": "Agg", "PYTHONDONTWRITEBYTECODE": "1"}
        return subprocess.run(
            [sys.executable, *command],
            cwd=self.root,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )

    def build(self, language: str = "en") -> subprocess.CompletedProcess[str]:
        folder = {"en": "en", "zh_CN": "zh-cn"}[language]
        out = f"docs/_build/work/{folder}"
        doctrees = f"docs/_build/doctrees/{folder}"
        options = ["-W", "-n", "--keep-going", "-b", "html", "-d", doctrees]
        return self.run("-m", "sphinx", *options, "docs", out, language=language)

    def executed(self, folder: str = "en") -> list[str]:
        return json.loads(
            (self.root / "docs" / "_build" / "work" / folder / "executed.json").read_text("utf-8")
        )

    def page(self, folder: str = "en") -> str:
        return (
            self.root / "docs" / "_build" / "work" / folder / "gallery/1_part/plot_one.html"
        ).read_text("utf-8")


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Project:
    project = Project(tmp_path_factory.mktemp("project"))
    result = project.build()
    assert result.returncode == 0, result.stdout + result.stderr
    assert project.executed() == ["plot_one"]
    assert ">3.0\n" in re.sub("<[^>]*span[^>]*>", ">", project.page())
    return project


def copy(built: Project, tmp_path: Path) -> Project:
    shutil.copytree(built.root, tmp_path / "copy")
    project = object.__new__(Project)
    project.root = tmp_path / "copy"
    project.example = project.root / "examples" / "1_part" / "plot_one.py"
    return project


def test_the_second_language_executes_nothing_and_the_assembled_site_is_equal(built, tmp_path):
    project = copy(built, tmp_path)
    assert project.build("zh_CN").returncode == 0
    assert project.executed("zh-cn") == []
    assert "下载 Python 脚本" in project.page("zh-cn")
    assert "一个说出结果的标题" in project.page("zh-cn")
    script = project.root / "docs/_build/work/zh-cn/gallery/1_part/plot_one.py"
    assert "# 数字在这里。\nx = torch.tensor" in script.read_text("utf-8")
    result = project.run("-c", ASSEMBLE)
    assert result.returncode == 0, result.stderr
    assert "The site is in docs/_build/html" in result.stdout
    record = json.loads((project.root / "docs/_build/html/build.json").read_text("utf-8"))
    assert record["commit"] is None  # the copy is outside git
    assert record["executed"] == {"en": 1, "zh-cn": 0}

    # A build that was stopped between its two renames left the site under another name.
    html = project.root / "docs/_build/html"
    html.rename(html.with_name("html.old"))
    page = project.root / "docs/_build/work/zh-cn/index.html"
    page.rename(page.with_name("elsewhere.html"))
    assert "expected zh-cn to have the same pages as en" in project.run("-c", ASSEMBLE).stderr
    assert (html / "zh-cn/index.html").is_file()
    page.with_name("elsewhere.html").rename(page)

    # A planted difference keeps the site from being published, and the old one stays.
    page = project.root / "docs/_build/work/zh-cn/gallery/1_part/plot_one.html"
    page.write_text(page.read_text("utf-8").replace("3.0\n", "99.5\n"), "utf-8")
    result = project.run("-c", ASSEMBLE)
    assert result.returncode == 1
    assert "expected zh-cn to have the same code, output or figures as en" in result.stderr
    assert "99.5" not in (
        project.root / "docs/_build/html/zh-cn/gallery/1_part/plot_one.html"
    ).read_text("utf-8")


def test_a_text_without_a_translation_fails_the_chinese_build(built, tmp_path):
    project = copy(built, tmp_path)
    catalogue = project.root / "docs/locales/zh_CN/LC_MESSAGES/gallery/1_part/plot_one.po"
    catalogue.write_text(catalogue.read_text("utf-8").replace("一段话。", ""), "utf-8")
    result = project.build("zh_CN")
    assert result.returncode != 0
    assert "gallery/1_part/plot_one: 'A paragraph.'" in result.stderr


def test_a_changed_library_constant_changes_the_number_on_the_page(built, tmp_path):
    project = copy(built, tmp_path)
    source = project.root / "src/backpass/functions/_relu.py"
    text = source.read_text("utf-8")
    assert text.count("input.clamp(min=0)") == 1
    source.write_text(text.replace("input.clamp(min=0)", "input.clamp(min=1)"), "utf-8")
    result = project.build()
    assert result.returncode == 0, result.stderr
    assert project.executed() == ["plot_one"]
    assert ">4.0\n" in re.sub("<[^>]*span[^>]*>", ">", project.page())


def test_nothing_changed_executes_nothing(built, tmp_path):
    project = copy(built, tmp_path)
    assert project.build().returncode == 0
    assert project.executed() == []


@pytest.mark.parametrize("name", ["constraints.txt", "docs/conf.py"])
def test_changed_versions_or_settings_execute_again(built, tmp_path, name):
    project = copy(built, tmp_path)
    path = project.root / name
    text = path.read_text("utf-8")
    changed = text.replace(
        '"show_signature": False', '"show_signature": False, "show_memory": False'
    )
    path.write_text(changed if changed != text else text + "# another version\n", "utf-8")
    assert project.build().returncode == 0
    assert project.executed() == ["plot_one"]


def test_output_without_a_record_is_executed_again(built, tmp_path):
    project = copy(built, tmp_path)
    (project.root / "docs/gallery/execution.json").unlink()
    assert project.build().returncode == 0
    assert project.executed() == ["plot_one"]


def test_a_failing_example_fails_the_build(built, tmp_path):
    project = copy(built, tmp_path)
    project.example.write_text(EXAMPLE + "assert x[0] == 7\n", "utf-8")
    result = project.build()
    assert result.returncode != 0
    assert "AssertionError" in result.stdout + result.stderr


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        ("See {ref}`nowhere`.", "undefined label: 'nowhere'"),
        ("See {py:func}`backpass.functions.nothing`.", "reference target not found"),
    ],
)
def test_a_warning_fails_the_build(built, tmp_path, fault, message):
    project = copy(built, tmp_path)
    (project.root / "docs/index.md").write_text(f"{INDEX}\n{fault}\n", "utf-8")
    result = project.build()
    assert result.returncode != 0
    assert message in result.stderr


def test_a_removed_example_leaves_no_page(built, tmp_path):
    project = copy(built, tmp_path)
    assert project.build("zh_CN").returncode == 0
    project.example.rename(project.example.with_name("plot_two.py"))
    catalogue = project.root / "docs/locales/zh_CN/LC_MESSAGES/gallery/1_part/plot_one.po"
    catalogue.rename(catalogue.with_name("plot_two.po"))
    assert project.build().returncode == 0
    assert project.executed() == ["plot_two"]
    assert project.build("zh_CN").returncode == 0
    result = project.run("-c", ASSEMBLE)
    assert result.returncode == 0, result.stderr
    assert not list((project.root / "docs/_build/html").rglob("plot_one.*"))
    assert len(list((project.root / "docs/_build/html").rglob("plot_two.ipynb"))) == 2


def test_a_renamed_section_leaves_nothing_behind(built, tmp_path):
    project = copy(built, tmp_path)
    project.example.parent.rename(project.example.parent.with_name("2_part"))
    result = project.build()
    assert result.returncode == 0, result.stderr
    assert not (project.root / "docs/gallery/1_part").exists()
