"""A small copy of the project is built for real: executed once, rendered twice, never stale."""

import json
import re

import pytest

from small_project import EXAMPLE, INDEX, tree

ASSEMBLE = "import sys; sys.path.insert(0, 'docs'); import assemble; assemble.main()"


def test_the_second_language_executes_nothing_and_the_assembled_site_is_equal(project):
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

    # A planted difference keeps the site from being published, and the old one stays.
    page = project.root / "docs/_build/work/zh-cn/gallery/1_part/plot_one.html"
    page.write_text(page.read_text("utf-8").replace("3.0\n", "99.5\n"), "utf-8")
    result = project.run("-c", ASSEMBLE)
    assert result.returncode == 1
    assert "expected zh-cn to have the same code, output or figures as en" in result.stderr
    assert "99.5" not in (
        project.root / "docs/_build/html/zh-cn/gallery/1_part/plot_one.html"
    ).read_text("utf-8")


def test_a_text_without_a_translation_fails_the_chinese_build(project):
    catalogue = project.catalogue()
    catalogue.write_text(catalogue.read_text("utf-8").replace("一段话。", ""), "utf-8")
    result = project.build("zh_CN")
    assert result.returncode != 0
    assert "gallery/1_part/plot_one: 'A paragraph.'" in result.stderr


def test_a_changed_library_constant_changes_the_number_on_the_page(project):
    source = project.root / "src/backpass/functions/_relu.py"
    text = source.read_text("utf-8")
    assert text.count("input.clamp(min=0)") == 1
    source.write_text(text.replace("input.clamp(min=0)", "input.clamp(min=1)"), "utf-8")
    result = project.build()
    assert result.returncode == 0, result.stderr
    assert project.executed() == ["plot_one"]
    assert ">4.0\n" in re.sub("<[^>]*span[^>]*>", ">", project.page())


def test_nothing_changed_executes_nothing_and_publishes_the_same(project):
    assert project.build_all().returncode == 0
    assert project.executed() == []
    before = tree(project.html)
    assert "entry of the index" in (project.html / "en/searchindex.js").read_text("utf-8")
    assert project.build_all().returncode == 0
    assert tree(project.html) == before | {"build.json": tree(project.html)["build.json"]}


@pytest.mark.parametrize("name", ["constraints.txt", "docs/conf.py"])
def test_changed_versions_or_settings_execute_again(project, name):
    path = project.root / name
    text = path.read_text("utf-8")
    changed = text.replace(
        '"show_signature": False', '"show_signature": False, "show_memory": False'
    )
    path.write_text(changed if changed != text else text + "# another version\n", "utf-8")
    assert project.build().returncode == 0
    assert project.executed() == ["plot_one"]


def test_output_without_a_record_is_executed_again(project):
    (project.root / "docs/gallery/execution.json").unlink()
    assert project.build().returncode == 0
    assert project.executed() == ["plot_one"]


def test_a_failing_example_fails_the_build(project):
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
def test_a_warning_fails_the_build(project, fault, message):
    (project.root / "docs/index.md").write_text(f"{INDEX}\n{fault}\n", "utf-8")
    result = project.build()
    assert result.returncode != 0
    assert message in result.stderr


def test_a_removed_example_leaves_no_page(project):
    assert project.build("zh_CN").returncode == 0
    project.example.rename(project.example.with_name("plot_two.py"))
    catalogue = project.catalogue()
    catalogue.rename(catalogue.with_name("plot_two.po"))
    assert project.build().returncode == 0
    assert project.executed() == ["plot_two"]
    assert project.build("zh_CN").returncode == 0
    result = project.run("-c", ASSEMBLE)
    assert result.returncode == 0, result.stderr
    assert not list((project.root / "docs/_build/html").rglob("plot_one.*"))
    assert len(list((project.root / "docs/_build/html").rglob("plot_two.ipynb"))) == 2


def test_a_renamed_section_leaves_nothing_behind(project):
    project.example.parent.rename(project.example.parent.with_name("2_part"))
    result = project.build()
    assert result.returncode == 0, result.stderr
    assert not (project.root / "docs/gallery/1_part").exists()


def test_only_what_is_concerned_executes_again(project):
    second = project.example.with_name("plot_two.py")
    second.write_text(EXAMPLE, "utf-8")
    project.catalogue("plot_two").write_text(project.catalogue().read_text("utf-8"), "utf-8")
    assert project.build_all().returncode == 0
    assert project.executed() == ["plot_two"]

    second.write_text(EXAMPLE.replace("A paragraph.", "Another paragraph."), "utf-8")
    catalogue = project.catalogue("plot_two").read_text("utf-8")
    catalogue = catalogue.replace("A paragraph.", "Another paragraph.")
    project.catalogue("plot_two").write_text(catalogue, "utf-8")
    assert project.build_all().returncode == 0
    assert project.executed() == ["plot_two"]
    assert "Another paragraph." in (project.html / "en/gallery/1_part/plot_two.html").read_text()

    project.catalogue("plot_two").write_text(catalogue.replace("一段话", "另一段话"), "utf-8")
    assert project.build_all().returncode == 0
    assert project.executed() == project.executed("zh-cn") == []
    assert "另一段话" in (project.html / "zh-cn/gallery/1_part/plot_two.html").read_text("utf-8")
