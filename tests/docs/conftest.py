"""The small project, built once for all the tests of a run."""

import pytest

from small_project import Project


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Project:
    project = Project(tmp_path_factory.mktemp("small") / "project")
    result = project.build_all()
    assert result.returncode == 0, result.stdout + result.stderr
    assert project.executed() == ["plot_one"]
    return project


@pytest.fixture
def project(built, tmp_path):
    """A copy that a test may change."""
    return built.copy(tmp_path / "copy")
