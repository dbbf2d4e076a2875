#!/usr/bin/env -S pipx run
# /// script
# requires-python = ">=3.11"
# dependencies = ["nox>=2025.5.1"]
# ///
"""Every task of the project: ``nox -s docs`` builds the site, ``nox -s tests`` proves the library."""

import os
import shutil
from pathlib import Path

import nox

nox.needs_version = ">=2025.5.1"
nox.options.default_venv_backend = "virtualenv"
nox.options.reuse_venv = "yes"

PYPROJECT = nox.project.load_toml("pyproject.toml")


def install(session: nox.Session, *groups: str, package: bool = True) -> None:
    """Install dependency groups, and the package unless told otherwise, under the lock."""
    arguments = ["-e", ".[style]"] if package else []
    arguments += nox.project.dependency_groups(PYPROJECT, *groups) if groups else []
    session.install("-c", "constraints.txt", *arguments)


@nox.session
def docs(session: nox.Session) -> None:
    """Build the whole site: execute the examples once, render every language."""
    install(session, "docs")
    session.run("python", "docs/build.py")


@nox.session
def tests(session: nox.Session) -> None:
    """Prove the library, the documentation's extensions, the examples and the doctests."""
    install(session, "docs-test")
    coverage = ["--cov", "--cov-report=term"]
    prose = ["README.md", "README.zh-CN.md", "docs/index.md", "docs/guide", "docs/migration"]
    doctests = ["--doctest-modules", "--doctest-glob=*.md"]
    elsewhere = ["--ignore=tests/site", "--ignore=tests/browser"]
    default = [*coverage, *doctests, "src", "tests", *prose, *elsewhere]
    environment = {"OMP_NUM_THREADS": "1", "MPLBACKEND": "Agg"}
    session.run("pytest", *(session.posargs or default), env=environment)
    if not session.posargs:
        proved = ",".join(f"src/backpass/{part}/*" for part in ("functions", "losses", "style"))
        session.run("coverage", "report", f"--include={proved}", "--fail-under=100")


@nox.session
def site(session: nox.Session) -> None:
    """Prove the built site: equal languages, working search, no broken link."""
    install(session, "site", package=False)
    session.run("pytest", "tests/site", "--confcutdir=tests/site", *session.posargs)


@nox.session(default=False)
def browser(session: nox.Session) -> None:
    """Prove the built site in Chromium, where that is installed: Debian's, or what CHROMIUM names."""
    needed = [os.environ.get(name.upper(), name) for name in ("chromium", "chromedriver")]
    if lacking := [name for name in needed if not shutil.which(name)]:
        stop = session.error if os.environ.get("BACKPASS_BROWSER") == "required" else session.skip
        stop(f"no {' and no '.join(lacking)}; on Debian, install chromium and chromium-driver")
    install(session, "browser", package=False)
    axe = nox.project.dependency_groups(PYPROJECT, "axe")
    session.install("-c", "constraints.txt", "--no-deps", *axe)  # for its JavaScript alone
    session.run("pytest", "tests/browser", "--confcutdir=tests/browser", *session.posargs)


@nox.session
def lint(session: nox.Session) -> None:
    """Check style, spelling, Chinese typography and the repository itself."""
    install(session, "lint", package=False)
    session.run("ruff", "check")
    session.run("ruff", "format", "--check")
    session.run("codespell")
    session.run(
        "sphinx-lint", "-d", "missing-space-before-default-role", "docs/locales", "examples"
    )
    session.run("zizmor", "--offline", ".github")
    workflows = map(str, Path(".github/workflows").glob("*.yml"))
    for schema, files in {
        "github-workflows": [*workflows],
        "dependabot": [".github/dependabot.yml"],
        "readthedocs": [".readthedocs.yaml"],
    }.items():
        session.run("check-jsonschema", "--builtin-schema", f"vendor.{schema}", *files)
    session.run("repo-review", ".")


@nox.session
def types(session: nox.Session) -> None:
    """Check the types of the library and of the documentation's extensions."""
    install(session, "types")
    session.run("mypy", *session.posargs)


@nox.session(default=False)
def messages(session: nox.Session) -> None:
    """Update the catalogues from the sources; with ``check``, fail where they are stale."""
    install(session, "messages")
    session.run("python", "docs/build.py", "gettext")
    session.run("python", "docs/_ext/catalogues.py", *session.posargs, "docs/_build/gettext")


@nox.session(default=False)
def linkcheck(session: nox.Session) -> None:
    """Ask every other site that the pages link to; this needs the network."""
    install(session, "docs")
    session.run("python", "docs/build.py", "linkcheck")


@nox.session(default=False)
def reproduce(session: nox.Session) -> None:
    """Build the commit in two folders, and show that not a byte of the sites differs."""
    install(session, "docs")
    epoch = session.run("git", "log", "-1", "--format=%ct", external=True, silent=True)
    sites = []
    for name in ("first", "another-place"):
        clone = Path(session.create_tmp(), name)
        shutil.rmtree(clone, ignore_errors=True)
        session.run("git", "clone", "--quiet", ".", str(clone), external=True)
        environment = {"SOURCE_DATE_EPOCH": str(epoch).strip()}
        session.run("python", str(clone / "docs/build.py"), env=environment)
        sites.append(str(clone / "docs/_build/html"))
    session.run("diff", "--recursive", "--brief", *sites, external=True)


@nox.session(default=False)
def live(session: nox.Session) -> None:
    """Serve both languages, build anew at every change, and reload the page; ``-- 8001`` is a port."""
    install(session, "live")
    session.run("python", "docs/live.py", *session.posargs)


@nox.session(default=False)
def bench(session: nox.Session) -> None:
    """Measure the library against what a user would pick instead; ``-- style_loss`` only that."""
    install(session, "bench")
    for name in session.posargs or sorted(p.stem for p in Path("benchmarks").glob("[!_]*.py")):
        session.run("python", f"benchmarks/{name}.py")


@nox.session(python="3.7", venv_backend="venv", default=False)
@nox.parametrize("torch", ["1.0.0", "1.4.0", "1.5.0"])
def legacy(session: nox.Session, torch: str) -> None:
    """Record what old code did on old releases of torch; with ``--check``, compare instead."""
    # A constraint on torch in the machine's own pip settings could exclude these releases.
    session.install(f"torch=={torch}", "numpy<1.20", "future", env={"PIP_CONSTRAINT": os.devnull})
    session.run("python", "docs/recorded/record.py", *session.posargs)


@nox.session(default=False)
def build(session: nox.Session) -> None:
    """Build the distributions and import the wheel as installed, outside the checkout."""
    install(session, "package", package=False)
    shutil.rmtree("dist", ignore_errors=True)
    session.run("python", "-m", "build")
    (wheel,) = Path("dist").resolve().glob("*.whl")
    session.install("-c", "constraints.txt", "--force-reinstall", "--no-deps", str(wheel))
    session.install("-c", "constraints.txt", str(wheel))
    with session.chdir(session.create_tmp()):
        session.run("backpass", "--version")
        session.run(
            "python", "-c", "import backpass; print(backpass.functions.relu, backpass.__file__)"
        )


@nox.session(default=False)
def lock(session: nox.Session) -> None:
    """Write the newest versions that work together into constraints.txt."""
    groups = nox.project.dependency_groups(PYPROJECT, *PYPROJECT["dependency-groups"])
    session.install("torch==2.13.0", "-e", ".[style]", *groups)
    frozen = session.run("pip", "freeze", "--exclude-editable", silent=True)
    pins = sorted(line.split("+")[0] for line in str(frozen).splitlines() if "==" in line)
    head = "# Written by `nox -s lock`: the versions of every session."
    Path("constraints.txt").write_text("\n".join([head, *pins, ""]), "utf-8")


if __name__ == "__main__":
    nox.main()
