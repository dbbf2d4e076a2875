"""Update the catalogues of the translations, or check that they are complete and up to date.

``catalogues.py [check] TEMPLATES``: TEMPLATES is the folder of .pot files that ``gettext`` wrote.
"""

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import polib

LOCALES = Path(__file__).parents[1] / "locales"
LANGUAGES = ("zh_CN",)
# Mathematics, literals, roles and links alone need no translation.
MARKUP = re.compile(
    r":[\w:-]+:`[^`]*`|\{[\w:-]+\}`[^`]*`|``[^`]*``|`[^`]*`|\$\$?[^$]*\$?\$|https?://\S+|!?\[\]\([^)]*\)"
)
TEX = re.compile(r"\\[A-Za-z]+|\\\\")
WORDS = re.compile(r"[A-Za-z]{2,} [A-Za-z]{2,}")


def needs_translation(message: str) -> bool:
    """Say whether a message has words of its own."""
    if (
        TEX.search(message)
        and not MARKUP.search(message)
        and not WORDS.search(TEX.sub("", message))
    ):
        return False
    return bool(re.search(r"[A-Za-z]{2,}", MARKUP.sub("", message)))


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
            # The dates and names of the tools would change with every run.
            kept = {
                "Project-Id-Version",
                "Language",
                "MIME-Version",
                "Content-Type",
                "Content-Transfer-Encoding",
            }
            catalogue.metadata = {k: v for k, v in catalogue.metadata.items() if k in kept}
            catalogue.header, catalogue.metadata_is_fuzzy = "", 0
            catalogue.save()


def problems(templates: Path, locales: Path) -> Iterator[str]:
    """Yield what keeps a catalogue from being complete: missing, fuzzy and stale messages."""
    for language in LANGUAGES:
        folder = locales / language / "LC_MESSAGES"
        for template in sorted(templates.rglob("*.pot")):
            name = template.relative_to(templates).with_suffix(".po")
            wanted = {entry.msgid for entry in polib.pofile(str(template))}
            found = (
                {e.msgid: e for e in polib.pofile(str(folder / name))}
                if (folder / name).is_file()
                else {}
            )
            for message in sorted(wanted | set(found)):
                entry = found.get(message)
                if message not in wanted:
                    yield f"{language}/{name}: no longer on the page: {message[:70]!r}"
                elif entry is not None and "fuzzy" in entry.flags:
                    yield f"{language}/{name}: fuzzy: {message[:70]!r}"
                elif needs_translation(message) and not (entry and entry.msgstr):
                    yield f"{language}/{name}: not translated: {message[:70]!r}"


def main(*arguments: str) -> int:
    """Run the command and return its exit status."""
    templates = Path(arguments[-1])
    if "check" not in arguments:
        update(templates, LOCALES)
        return 0
    found = list(problems(templates, LOCALES))
    print("\n".join([*found, f"{len(found)} problems in the catalogues"]))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
