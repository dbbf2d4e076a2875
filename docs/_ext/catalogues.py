"""Update the catalogues of the translations, or check that they are complete, current and right.

``catalogues.py [check] TEMPLATES``: TEMPLATES is the folder of .pot files that ``gettext`` wrote.
"""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import polib

import sources
from catalogue_rules import faults, needs_translation

DOCS = Path(__file__).parents[1]
LOCALES = DOCS / "locales"
THEME = DOCS / "theme_locales"
LANGUAGES = [code for code in sources.LANGUAGES if code != sources.SOURCE]
# The dates and names of the tools would change with every run.
KEPT = {
    "Project-Id-Version", "Language", "MIME-Version", "Content-Type", "Content-Transfer-Encoding",
}  # fmt: skip


def update(templates: Path, locales: Path) -> None:
    """Merge the templates into the catalogues and drop those whose page is gone."""
    command = ["sphinx-intl", "update", "-p", str(templates), "-d", str(locales), "-w", "0"]
    for language in LANGUAGES:
        subprocess.run([*command, "-l", language], check=True)
        folder = locales / language / "LC_MESSAGES"
        for path in folder.rglob("*.po"):
            if not (templates / path.relative_to(folder)).with_suffix(".pot").is_file():
                path.unlink()
                continue
            catalogue = polib.pofile(str(path), wrapwidth=0)
            for entry in catalogue.obsolete_entries():
                catalogue.remove(entry)
            for entry in catalogue:
                entry.flags = [flag for flag in entry.flags if flag == "fuzzy"]
            catalogue.metadata = {k: v for k, v in catalogue.metadata.items() if k in KEPT}
            catalogue.header, catalogue.metadata_is_fuzzy = "", 0
            catalogue.save()


def problems(templates: Path, locales: Path, theme: Path) -> Iterator[str]:
    """Yield each problem with its file and line, the message, and what to do."""
    for language in LANGUAGES:
        folder = locales / language / "LC_MESSAGES"
        names = {p.relative_to(templates).with_suffix(".po") for p in templates.rglob("*.pot")}
        found = {p.relative_to(folder) for p in folder.rglob("*.po")}
        for name in sorted(found - names):
            yield f"{shown(folder / name)}:1: no page has this catalogue; run `nox -s messages`"
        for name in sorted(names):
            template = polib.pofile(str(templates / name.with_suffix(".pot")))
            yield from incomplete(folder / name, {entry.msgid for entry in template})
        for path in sorted([*folder.rglob("*.po"), *theme.glob(f"{language}/**/*.po")]):
            yield from wrong(path, language)


def incomplete(path: Path, wanted: set[str]) -> Iterator[str]:
    """Yield what a page says and its catalogue does not, and what the catalogue has too much."""
    catalogue = polib.pofile(str(path)) if path.is_file() else polib.POFile()
    entries = {entry.msgid: entry for entry in catalogue if not entry.obsolete}
    for message in sorted(wanted - entries.keys()):
        if needs_translation(message):
            yield problem(path, 1, "missing", message, "run `nox -s messages`, then translate it")
    for message in sorted(entries.keys() - wanted):
        line = entries[message].linenum
        yield problem(path, line, "stale: not on the page", message, "run `nox -s messages`")


def wrong(path: Path, language: str) -> Iterator[str]:
    """Yield what is wrong inside one catalogue."""
    for entry in polib.pofile(str(path)):
        at = (path, entry.linenum)
        if entry.obsolete:
            yield problem(*at, "obsolete", entry.msgid, "run `nox -s messages`, or delete it")
        elif entry.fuzzy:
            advice = "compare it with the English text, then delete the mark `fuzzy`"
            yield problem(*at, "fuzzy", entry.msgid, advice)
        elif entry.msgstr:
            for fault in faults(entry.msgid, entry.msgstr, language):
                yield problem(*at, fault.rule, entry.msgid, fault.advice)
        elif needs_translation(entry.msgid):
            yield problem(*at, "not translated", entry.msgid, "fill its msgstr")
    if language.startswith("zh"):
        yield from typography(path)


def typography(path: Path, kind: str = "po") -> Iterator[str]:
    """Yield what autocorrect would set in another way."""
    import autocorrect_py  # noqa: PLC0415  (pages are built without it)

    for line in autocorrect_py.lint_for(path.read_text("utf-8"), kind).lines:
        yield problem(path, line.line, "typography", line.old.strip(), f"write {line.new.strip()}")


def problem(path: Path, line: int, rule: str, message: str, advice: str) -> str:
    """Return one line: where, what, and what to do."""
    short = " ".join(message.split())
    short = short if len(short) <= 70 else f"{short[:69]}…"
    return f"{shown(path)}:{line}: {rule}: {short!r}; {advice}"


def shown(path: Path) -> str:
    """Return a path as seen from where the command runs."""
    return Path(os.path.relpath(path)).as_posix()


def main(*arguments: str) -> int:
    """Run the command and return its exit status."""
    templates = Path(arguments[-1])
    if not any(templates.rglob("*.pot")):  # an update would delete every catalogue
        sys.exit(f"catalogues: expected templates in {templates}, got none; run `nox -s messages`")
    if "check" not in arguments:
        update(templates, LOCALES)
        return 0
    found = list(problems(templates, LOCALES, THEME))
    print("\n".join([*found, f"{len(found)} problems in the catalogues"]))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
