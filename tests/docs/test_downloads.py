"""A localised script has Chinese prose and the same code, byte for byte."""

import ast
import contextlib
import io
import os
import runpy
import zipfile
from pathlib import Path

import matplotlib.pyplot as plt
import polib
import pytest
import torch
from sphinx_gallery.py_source_parser import split_code_and_text_blocks

import archives
import downloads

ROOT = Path(__file__).parents[2]
EXAMPLES = sorted(ROOT.glob("examples/*/plot_*.py"))
example = pytest.mark.parametrize("script", EXAMPLES, ids=lambda path: path.stem)
SCRIPT = '''r"""
A title
=======

A paragraph of two and not
3. lines.

.. math::

   y = \\\\max(x, 0)

- The first item.
- The second item,
  with a second line.
"""

x = "# %% is no cell here"  # A comment stays.

# %%
# 1. A heading
# ------------
# More text::
#
#     literal text stays
print(x)
'''
MESSAGES = {
    "A title": "一个标题",
    "A paragraph of two and not 3. lines.": "一段话。",
    "The first item.": "第一项。",
    "The second item, with a second line.": "第二项。",
    "1. A heading": "1. 小标题",
    "More text::": "更多： ::",
}
TRANSLATED = '''r"""
一个标题
========

一段话。

.. math::

   y = \\\\max(x, 0)

- 第一项。
- 第二项。
"""

x = "# %% is no cell here"  # A comment stays.

# %%
# 1. 小标题
# ---------
# 更多： ::
#
#     literal text stays
print(x)
'''


def test_prose_is_translated_and_code_is_copied(tmp_path):
    path = tmp_path / "plot_x.py"
    path.write_text(SCRIPT, "utf-8")
    missing = []
    assert downloads.localise(path, MESSAGES, missing.append) == TRANSLATED
    assert missing == []


def test_a_message_without_a_translation_is_reported(tmp_path):
    path = tmp_path / "plot_x.py"
    path.write_text(SCRIPT, "utf-8")
    missing = []
    some = {k: v for k, v in MESSAGES.items() if k != "A paragraph of two and not 3. lines."}
    downloads.localise(path, some, missing.append)
    assert missing == ["A paragraph of two and not 3. lines."]


def chinese(script: Path, missing: list[str]) -> str:
    name = f"gallery/{script.parent.name}/{script.stem}.po"
    catalogue = polib.pofile(str(ROOT / "docs/locales/zh_CN/LC_MESSAGES" / name))
    messages = {" ".join(e.msgid.split()): e.msgstr for e in catalogue if e.msgstr}
    return downloads.localise(script, messages, missing.append)


@example
def test_every_example_survives_and_its_chinese_twin_has_the_same_code(script, tmp_path):
    untranslated = downloads.localise(script, {}, lambda message: None)
    assert untranslated == script.read_text("utf-8")
    missing = []
    twin = tmp_path / script.name
    twin.write_text(chinese(script, missing), "utf-8")
    assert not missing
    trees = [ast.parse(path.read_text("utf-8")) for path in (script, twin)]
    for tree in trees:
        del tree.body[0]  # the docstring is prose
    assert ast.dump(trees[0]) == ast.dump(trees[1])
    code = [
        [block.content for block in split_code_and_text_blocks(path)[1] if block.type == "code"]
        for path in (script, twin)
    ]
    assert code[0] == code[1]  # with its comments


@example
def test_the_scripts_of_both_languages_print_the_same(script, tmp_path, monkeypatch):
    monkeypatch.setattr(plt, "show", lambda: None)
    twin = tmp_path / script.name
    twin.write_text(chinese(script, []), "utf-8")
    printed = []
    for path in (script, twin):
        # Unlike the site's build, a reader's shell seeds nothing.
        torch.seed()
        with contextlib.redirect_stdout(io.StringIO()) as stdout:
            runpy.run_path(str(path), run_name="__main__")
        plt.close("all")
        printed.append(stdout.getvalue())
    assert printed[0]
    assert printed[0] == printed[1]


def test_an_archive_depends_on_its_files_alone(tmp_path):
    for folder, mode, moment in (("one", 0o600, 1e9), ("two", 0o755, 2e9)):
        for name in ("b", "a"):
            file = tmp_path / folder / "1_part" / f"{name}.py"
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(name, "utf-8")
            file.chmod(mode)
            os.utime(file, (moment, moment))
        archives.pack(tmp_path / f"{folder}.zip", (tmp_path / folder).rglob("*.py"))
    assert (tmp_path / "one.zip").read_bytes() == (tmp_path / "two.zip").read_bytes()
    with zipfile.ZipFile(tmp_path / "one.zip") as archive:
        assert archive.namelist() == ["1_part/a.py", "1_part/b.py"]
        assert archive.read("1_part/b.py") == b"b"
