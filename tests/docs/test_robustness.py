"""Builds of the small project that are killed, run twice at once, or have no place to write to."""

import json
import os
import shutil
import subprocess
import sys
import threading
import time

import pytest

from small_project import EXAMPLE, Project, tree

# Runs a build that kills its process group just before an event: Python reports the opening of a
# file, a renaming and a removal to an audit hook. A file to be opened is left behind empty, as a kill
# just after its opening leaves it.
KILLED = """
import os, runpy, signal, sys
wanted, end = sys.argv[1:]
def kill(event, arguments):
    if event == wanted and str(arguments[0]).endswith(end) and (
        event == "open" or os.path.exists(arguments[0])
    ):
        if event == "open":
            if not (isinstance(arguments[1], str) and set(arguments[1]) & set("wx")):
                return
            os.close(os.open(arguments[0], os.O_WRONLY | os.O_CREAT | os.O_TRUNC))
        os.killpg(0, signal.SIGKILL)
sys.addaudithook(kill)
sys.argv = ["docs/build.py"]
sys.path.insert(0, "docs")
runpy.run_path("docs/build.py", run_name="__main__")
"""
PAGE = "gallery/1_part/plot_one.html"
MOMENTS = {
    "an example executes": [("open", "images/sphx_glr_plot_one_001.png")],
    "a catalogue is compiled": [("open", "plot_one.mo")],
    "a page of the first language is written": [("open", f"work/en/{PAGE}")],
    "one after the other": [
        ("open", "html-en/environment.pickle"),
        ("open", f"work/zh-cn/{PAGE}"),
        ("open", "work/zh-cn/searchindex.js.tmp"),
        ("open", f"html.new/zh-cn/{PAGE}"),
        ("os.rename", "/html.new"),
    ],
    "the old site is removed": [("shutil.rmtree", "/html.old")],
}


def change(project):
    """Change the code, the text and its translation."""
    text = EXAMPLE.replace("3.0", "5.0").replace("A paragraph.", "Another paragraph.")
    project.example.write_text(text, "utf-8")
    catalogue = project.catalogue().read_text("utf-8")
    catalogue = catalogue.replace("A paragraph.", "Another paragraph.").replace("一段", "另一段")
    project.catalogue().write_text(catalogue, "utf-8")


@pytest.fixture(scope="module")
def expected(tmp_path_factory) -> dict[str, str]:
    """The site of the changed project, built in another place from nothing."""
    project = Project(tmp_path_factory.mktemp("clean") / "elsewhere")
    change(project)
    result = project.build_all()
    assert result.returncode == 0, result.stderr
    return published(project)


def published(project):
    """The digests of the site without the count of executions, which is that of the last build."""
    record = json.loads((project.html / "build.json").read_text("utf-8"))
    del record["executed"]
    return tree(project.html) | {"build.json": record}


class Reader(threading.Thread):
    """Reads a page again and again while a build runs, and keeps each version of it."""

    def __init__(self, project):
        super().__init__(daemon=True)
        self.path, self.done, self.versions = project.html / "zh-cn" / PAGE, False, []

    def run(self):
        while not self.done:
            try:
                version = self.path.read_bytes()
            except FileNotFoundError:
                version = None
            if self.versions[-1:] != [version]:
                self.versions.append(version)
            time.sleep(0.01)


@pytest.mark.parametrize("moment", MOMENTS)
def test_a_killed_build_leaves_the_old_site_and_the_next_one_is_right(project, expected, moment):
    old = tree(project.html)
    page = (project.html / "zh-cn" / PAGE).read_bytes()
    change(project)
    reader = Reader(project)
    reader.start()
    for event, end in MOMENTS[moment]:
        process = project.start("-c", KILLED, event, end)
        message = process.communicate()[1]
        assert process.returncode == -9, f"not killed at {end}: {message}"
        if event == "open":
            assert tree(project.html) == old, end
        elif event == "os.rename":  # between the two renames: the next start repairs
            assert not project.html.exists()
            assert tree(project.html.with_name("html.old")) == old
        else:
            assert published(project) == expected
    result = project.build_all()
    reader.done = True
    reader.join()
    assert result.returncode == 0, result.stderr
    assert published(project) == expected
    assert not list(project.html.parent.glob("html.*"))
    versions = [version for version in reader.versions if version is not None]
    new = (project.html / "zh-cn" / PAGE).read_bytes()
    assert [v for i, v in enumerate(versions) if versions[i - 1 : i] != [v]] == [page, new]


def test_two_clean_builds_in_different_places_are_equal(built, tmp_path):
    again = Project(tmp_path / "a" / "longer" / "path")
    result = again.build_all()
    assert result.returncode == 0, result.stderr
    assert tree(again.html) == tree(built.html)


def test_a_second_build_at_the_same_time_is_refused(project):
    old = tree(project.html)
    change(project)
    first = project.start("docs/build.py")
    work = project.root / "docs/gallery/1_part/plot_one.py"
    while first.poll() is None and work.read_text("utf-8") != project.example.read_text("utf-8"):
        time.sleep(0.01)  # until the example is being executed
    second = project.build_all()
    assert first.poll() is None, "the first build has already ended"
    assert second.returncode == 1
    (line,) = second.stderr.splitlines()
    assert line.startswith("build: expected no other build, got one that holds ")
    assert line.endswith("docs/_build/lock; wait for it")
    assert not second.stdout
    assert tree(project.html) == old

    # Killed alone, the first build leaves its Sphinx behind, which still holds the lock.
    first.kill()
    assert project.build_all().returncode == 1
    assert first.communicate()[1] == ""  # waits for the end of Sphinx, which has the same stderr
    assert tree(project.html) == old
    assert project.build_all().returncode == 0
    assert "5.0" in project.page()


@pytest.mark.parametrize(
    ("damage", "line"),
    [
        (lambda text: text.replace('msgstr "一段话。"', "msgstr 一段话。"), 5),
        (lambda text: text.replace('msgstr "一段话。"', 'msgstr "一段"话。"'), 5),
        (lambda text: text[: text.index("话。")], 5),
        (lambda text: text + "<<<<<<< HEAD\n", 9),
        (lambda text: text + '\nmsgid "Alone"\n', 10),
        (lambda text: text.replace("一段话", "\udcff"), 5),
    ],
    ids=["no quotes", "a quote inside", "cut off", "a conflict", "no msgstr", "not UTF-8"],
)
def test_a_damaged_catalogue_is_named_with_its_line(project, damage, line):
    path = project.catalogue()
    path.write_text(damage(path.read_text("utf-8")), "utf-8", errors="surrogateescape")
    result = project.build_all()
    assert result.returncode == 1
    where = "docs/locales/zh_CN/LC_MESSAGES/gallery/1_part/plot_one.po"
    (message,) = result.stderr.splitlines()
    assert message.startswith(f"build: expected a readable catalogue, got {where}:{line}: ")


MOUNTS = sys.platform == "linux" and os.geteuid() == 0
UNSHARED = ["unshare", "--mount", "sh", "-euc"]


def in_mount(project: Project, commands: str) -> subprocess.CompletedProcess[str]:
    """Run shell commands in which mounts are private to them."""
    return subprocess.run(
        [*UNSHARED, commands, "sh", sys.executable],
        cwd=project.root,
        env=project.environment(),
        capture_output=True,
        text=True,
        check=False,
    )


def one_line(result: subprocess.CompletedProcess[str], reason: str) -> None:
    assert result.returncode == 1, result.stdout + result.stderr
    (line,) = result.stderr.splitlines()
    assert line.startswith("build: expected a place to write to, got ")
    assert reason in line
    assert line.endswith("the published site is as it was")


@pytest.mark.skipif(not MOUNTS, reason="only root may mount a small disk")
@pytest.mark.parametrize("share", [0.01, 0.5])
def test_a_full_disk_is_said_in_one_line(project, share):
    """The output stands in a small file system: full at once, or while the site is put together."""
    old = tree(project.html)
    change(project)
    free = int(share * sum(path.stat().st_size for path in project.html.rglob("*")) / 1024)
    (project.root / "disk").mkdir()
    result = in_mount(
        project,
        "mount -t tmpfs none disk; cp -a docs/_build/. disk; mount --bind disk docs/_build;"
        "used=$(df -k --output=used disk | tail -1);"
        f"mount -o remount,size=$((used + {free}))k disk; status=0;"
        '"$1" docs/build.py || status=$?; cp -a docs/_build/html kept; exit $status',
    )
    one_line(result, "No space left on device")
    assert tree(project.root / "kept") == old


@pytest.mark.skipif(not MOUNTS, reason="only root may mount a file system")
def test_a_read_only_output_is_said_in_one_line(project):
    old = tree(project.html)
    result = in_mount(
        project,
        'mount --bind docs/_build docs/_build; mount -o remount,bind,ro docs/_build; "$1" docs/build.py',
    )
    one_line(result, "Read-only file system")
    assert tree(project.html) == old


def test_a_file_in_the_place_of_the_output_is_said_in_one_line(project):
    shutil.rmtree(project.root / "docs/_build")
    (project.root / "docs/_build").write_text("", "utf-8")
    one_line(project.build_all(), "File exists")
