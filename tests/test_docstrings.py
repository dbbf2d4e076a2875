"""Docstrings say everything that the template demands, and nothing that the code contradicts."""

import ast
import importlib
import inspect
import re

import pytest
import torch

from backpass import _checks
from cases import CASES

SECTIONS = (
    "Args",
    "Returns",
    "Raises",
    "Shape",
    "Dtype",
    "Gradient",
    "Saved",
    "Transforms",
    "Example",
    "References",
)
each_operation = pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)


def sections(operation):
    """Return the titles of the docstring's sections, in order, with their texts."""
    _, *parts = re.split(r"^(\w+):\n", inspect.getdoc(operation), flags=re.MULTILINE)
    return dict(zip(parts[::2], parts[1::2], strict=True))


def raised_by(function):
    """Return the names of the exceptions raised by ``raise`` and by the rules of _checks."""
    names = set()
    for node in ast.walk(ast.parse(inspect.getsource(function))):
        match node:
            case ast.Raise(exc=ast.Call(func=ast.Name(id=name))):
                names.add(name)
            case ast.Call(func=ast.Attribute(value=ast.Name(id="_checks"), attr=rule)):
                names |= raised_by(getattr(_checks, rule))
    return names


@each_operation
def test_the_sections_are_there_in_their_order(case):
    assert tuple(sections(case.operation)) == SECTIONS


@each_operation
def test_every_argument_is_described_and_no_other(case):
    described = re.findall(r"^    (\w+): ", sections(case.operation)["Args"], re.MULTILINE)
    assert described == list(inspect.signature(case.operation).parameters)


@each_operation
def test_every_exception_is_listed_and_no_other(case):
    listed = re.findall(r"^    (\w+): ", sections(case.operation)["Raises"], re.MULTILINE)
    assert set(listed) == raised_by(case.operation)


@each_operation
def test_the_gradient_is_declared_as_it_is_proved(case):
    kind = "Exact" if case.surrogate is None else "Surrogate"
    assert sections(case.operation)["Gradient"].strip().startswith(kind)


@each_operation
def test_the_dtypes_listed_first_are_those_that_are_proved(case):
    listed, _, _ = sections(case.operation)["Dtype"].partition(".")
    assert [getattr(torch, name) for name in re.findall(r"``(\w+)``", listed)] == list(case.dtypes)


@each_operation
def test_forward_mode_is_declared_as_it_is_proved(case):
    refused = "No forward mode" in sections(case.operation)["Transforms"]
    assert refused is not case.forward_mode


@each_operation
def test_the_formula_gives_the_backward_beside_the_forward(case):
    (formula,) = re.findall(r"\.\. math::\n\n((?:    .*\n|\n)+)", inspect.getdoc(case.operation))
    assert r"\bar" in formula


@pytest.mark.parametrize("namespace", ["functions", "legacy", "losses", "modules", "style"])
def test_every_public_object_has_an_example(namespace):
    module = importlib.import_module(f"backpass.{namespace}")
    for name in module.__all__:
        assert ">>> " in inspect.getdoc(getattr(module, name)), name
