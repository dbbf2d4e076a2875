"""What the repository says in two places is the same in both."""

from pathlib import Path

ROOT = Path(__file__).parents[1]


def test_the_pre_commit_hooks_have_the_versions_of_the_lock():
    lock = dict(
        line.split("==")
        for line in (ROOT / "constraints.txt").read_text("utf-8").splitlines()
        if "==" in line
    )
    hooks = (ROOT / ".pre-commit-config.yaml").read_text("utf-8")
    for tool, repository in [
        ("ruff", "ruff-pre-commit"),
        ("codespell", "codespell"),
        ("mypy", "mirrors-mypy"),
        ("sphinx-lint", "sphinx-lint"),
        ("zizmor", "zizmor-pre-commit"),
    ]:
        assert f"{repository}\n    rev: v{lock[tool]}\n" in hooks
