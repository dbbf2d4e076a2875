"""The small extensions, each by what it promises."""

import zlib
from pathlib import Path

import pytest
from sphinx.errors import ExtensionError

import bilingual
import gallery_pages
import inventories
import sources
import theme_labels
import zh_search


def test_an_inventory_holds_its_lines():
    data = inventories.compress("torch", ["torch.Tensor py:class tensors.html#torch.Tensor"])
    head, body = data.split(b"zlib\n")
    assert b"# Project: torch\n" in head
    assert zlib.decompress(body) == b"torch.Tensor py:class 1 tensors.html#torch.Tensor -\n"


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("反向传播", ["反向", "向传", "传播"]),
        ("层", ["层"]),
        ("调用 backward 求梯度", ["调用", "backward", "求梯", "梯度"]),
        ("save_for_backward(x)", ["save_for_backward", "x"]),
        ("", []),
    ],
)
def test_chinese_is_cut_into_pairs_and_other_words_stay_whole(text, terms):
    assert zh_search.PairsOfCharacters({}).split(text) == terms


def test_a_label_that_the_theme_no_longer_has_fails_the_build():
    page = "".join(theme_labels.LABELS)
    extension = theme_labels.TranslatableLabels.__new__(theme_labels.TranslatableLabels)
    assert '_("Site navigation")' in extension.preprocess(page, "!page.html")
    with pytest.raises(
        ExtensionError, match=r"expected .*sidebar-drawer.* in furo's page, got none"
    ):
        extension.preprocess(page.replace("sidebar-drawer", "drawer"), "!page.html")
    assert extension.preprocess(page, "search.html") == page


def test_download_notes_are_taken_out_and_the_text_stays():
    page = (
        "\n.. only:: html\n\n    .. note::\n        :class: x\n\n        :ref:`Go to the end <y>`\n\n"
        ".. rst-class:: title\n\nText.\n\n.. _sphx_glr_download_y:\n\n.. only:: html\n\n  .. container:: z\n"
    )
    content = [page]
    gallery_pages.drop_notes(None, "gallery/1_part/plot_one", content)
    assert content[0].strip() == ".. rst-class:: title\n\nText."


def test_other_pages_are_left_alone():
    content = [".. only:: html\n\n    .. note:: x\n\ntext"]
    gallery_pages.drop_notes(None, "guide/index", content)
    assert content == [".. only:: html\n\n    .. note:: x\n\ntext"]


def test_twins_are_relative_and_name_the_current_language():
    class App:
        class config:
            html_context = {"site": "https://example.org/"}
            languages = sources.LANGUAGES
            language = "zh_CN"

        class builder:
            out_suffix = ".html"

    context = {"content_root": "../"}
    bilingual.add_twins(App, "guide/index", "page.html", context, None)
    assert [t["href"] for t in context["twins"]] == [
        "../../en/guide/index.html",
        "../../zh-cn/guide/index.html",
    ]
    assert [t["current"] for t in context["twins"]] == [False, True]
    assert context["twins"][1]["url"] == "https://example.org/zh-cn/guide/index.html"


def test_no_extension_is_longer_than_200_lines_and_conf_not_than_80():
    docs = Path(__file__).parents[2] / "docs"
    lengths = {p.name: len(p.read_text("utf-8").splitlines()) for p in docs.glob("_ext/*.py")}
    assert lengths
    assert all(length <= 200 for length in lengths.values()), lengths
    assert len((docs / "conf.py").read_text("utf-8").splitlines()) <= 80


def test_conf_is_only_data():
    conf = (Path(__file__).parents[2] / "docs" / "conf.py").read_text("utf-8")
    assert "def " not in conf
    assert not any(line.startswith(("for ", "while ", "if ")) for line in conf.splitlines())
