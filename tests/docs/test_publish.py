"""Publishing adds a version beside the others, and never lets an old release become `stable`."""

import json

import pytest

import publish


@pytest.fixture
def site(tmp_path):
    def make(*pages):
        root = tmp_path / "site"
        for page in ("build.json", "404.html", "llms.txt", "index.html", *pages):
            (root / page).parent.mkdir(parents=True, exist_ok=True)
            (root / page).write_text(page, "utf-8")
        (root / "build.json").write_text('{"python": "3.11.7", "torch": "2.13.0"}', "utf-8")
        return root

    return make


@pytest.fixture
def served(tmp_path):
    (tmp_path / "served" / ".git").mkdir(parents=True)
    return tmp_path / "served"


def listed(served):
    found = json.loads((served / "versions.json").read_text("utf-8"))["versions"]
    return {version["name"]: version["pages"] for version in found}


def test_each_version_is_listed_with_its_pages_and_the_stable_one_is_shown_first(site, served):
    publish.publish(site("en/index.html", "zh-cn/index.html"), served, "dev")
    assert listed(served) == {"dev": ["en/index.html", "zh-cn/index.html"]}
    assert "url=dev/" in (served / "index.html").read_text("utf-8")
    publish.publish(site("en/new/page.html"), served, "v0.2.0")
    assert list(listed(served)) == ["stable", "dev", "v0.2"]
    assert listed(served)["v0.2"] == ["en/index.html", "en/new/page.html", "zh-cn/index.html"]
    assert "url=stable/" in (served / "index.html").read_text("utf-8")
    assert (served / "404.html").is_file()
    assert (served / "llms.txt").is_file()


def test_binder_gets_the_versions_that_executed_the_pages(site, served):
    publish.publish(site("en/index.html"), served, "dev")
    assert (served / "binder/runtime.txt").read_text("utf-8") == "python-3.11\n"
    requirements = (served / "binder/requirements.txt").read_text("utf-8").splitlines()
    assert "torch==2.13.0+cpu" in requirements


def test_a_version_is_replaced_as_a_whole(site, served, tmp_path):
    publish.publish(site("en/gone.html"), served, "dev")
    (tmp_path / "site" / "en" / "gone.html").unlink()
    publish.publish(site("en/index.html"), served, "dev")
    assert listed(served) == {"dev": ["en/index.html"]}


def test_a_repair_of_an_old_release_leaves_stable_alone(site, served):
    publish.publish(site("en/index.html"), served, "v0.10.0")
    publish.publish(site("en/old.html"), served, "v0.9.3")
    assert list(listed(served)) == ["stable", "v0.10", "v0.9"]
    assert listed(served)["stable"] == ["en/index.html"]
    publish.publish(site("en/newer.html"), served, "v0.10.1")
    assert "en/newer.html" in listed(served)["stable"]


@pytest.mark.parametrize("name", ["v0.3.0rc1", "v1", "../x", "main", ""])
def test_another_name_is_refused(site, served, name):
    with pytest.raises(SystemExit, match="expected dev or a tag"):
        publish.publish(site("en/index.html"), served, name)
    assert not (served / "versions.json").exists()
