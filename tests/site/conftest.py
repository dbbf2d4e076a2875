"""The fixtures of the tests of the built site."""

import json

import pytest
from built_site import HTML, LANGUAGES


@pytest.fixture(scope="session")
def build() -> dict[str, object]:
    assert (HTML / "build.json").is_file(), "no site: build it with `nox -s docs` first"
    return json.loads((HTML / "build.json").read_text("utf-8"))


@pytest.fixture(params=LANGUAGES.values())
def folder(request: pytest.FixtureRequest) -> str:
    return request.param
