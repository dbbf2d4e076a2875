"""A localised script has Chinese prose and the same code, byte for byte."""

import ast
from pathlib import Path

import polib
import pytest

import downloads

ROOT = Path(__file__).parents[2]
EXAMPLES = sorted(ROOT.glob("examples/*/plot_*.py"))
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
    source, blocks = downloads.localise(path, MESSAGES, missing.append)
    assert source == TRANSLATED
    assert missing == []
    assert [block.type for block in blocks] == ["text", "code", "text", "code"]


def test_a_message_without_a_translation_is_reported(tmp_path):
    path = tmp_path / "plot_x.py"
    path.write_text(SCRIPT, "utf-8")
    missing = []
    some = {k: v for k, v in MESSAGES.items() if k != "A paragraph of two and not 3. lines."}
    downloads.localise(path, some, missing.append)
    assert missing == ["A paragraph of two and not 3. lines."]


def test_roles_become_plain_markdown():
    block = downloads.Block("text", "See :func:`a.b`, :ref:`text <label>` and :math:`x`.", 1)
    assert downloads.readable(block).content == "See ``a.b``, ``text`` and :math:`x`."


@pytest.mark.parametrize("script", EXAMPLES, ids=lambda path: path.stem)
def test_every_example_survives_and_its_chinese_twin_runs_the_same_code(script):
    untranslated, _ = downloads.localise(script, {}, lambda message: None)
    assert untranslated == script.read_text("utf-8")
    name = f"gallery/{script.parent.name}/{script.stem}.po"
    catalogue = polib.pofile(str(ROOT / "docs/locales/zh_CN/LC_MESSAGES" / name))
    messages = {" ".join(e.msgid.split()): e.msgstr for e in catalogue if e.msgstr}
    missing = []
    chinese, _ = downloads.localise(script, messages, missing.append)
    assert not missing
    trees = [ast.parse(text) for text in (untranslated, chinese)]
    for tree in trees:
        del tree.body[0]  # the docstring is prose
    assert ast.dump(trees[0]) == ast.dump(trees[1])
