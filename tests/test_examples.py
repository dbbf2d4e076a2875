"""Every example runs by itself, without a warning, on what its reader has installed."""

import ast
import runpy
import sys
from pathlib import Path

import matplotlib.pyplot as plt
import pytest
import torch

ROOT = Path(__file__).parents[1]
EXAMPLES = sorted(ROOT.glob("examples/*/plot_*.py"))
EXPECTED = """
1_functions: calling gram_matrix gram_mse linear module_or_function relu saving straight_through
2_losses: content_loss recording_layers style_loss style_transfer total_variation which_layers
3_migration: legacy_function legacy_losses variable_and_volatile
4_verification: gradcheck silent_mistakes
"""
INSTALLED = {"backpass", "matplotlib", "skimage", "torch", *sys.stdlib_module_names}
example = pytest.mark.parametrize("script", EXAMPLES, ids=lambda path: path.stem)


def test_the_gallery_is_complete():
    sections = dict(line.split(": ") for line in EXPECTED.strip().splitlines())
    expected = {f"{s}/plot_{n}" for s, names in sections.items() for n in names.split()}
    assert {f"{path.parent.name}/{path.stem}" for path in EXAMPLES} == expected


@example
def test_an_example_runs_without_a_warning(script, monkeypatch):
    monkeypatch.setattr(plt, "show", lambda: None)
    torch.manual_seed(0)
    runpy.run_path(str(script), run_name="__main__")
    assert plt.get_fignums(), f"{script.stem} draws no figure"
    plt.close("all")


@example
def test_an_example_imports_only_what_its_reader_has(script):
    tree = ast.parse(script.read_text("utf-8"))
    imported = {a.name for n in ast.walk(tree) if isinstance(n, ast.Import) for a in n.names}
    imported |= {n.module for n in ast.walk(tree) if isinstance(n, ast.ImportFrom)}
    assert {name.split(".")[0] for name in imported} <= INSTALLED


@example
def test_an_example_ends_with_a_visible_assert(script):
    statements = ast.parse(script.read_text("utf-8")).body
    assert any(isinstance(statement, ast.Assert) for statement in statements[-8:])
