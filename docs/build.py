"""Build the site in every language; ``build.py BUILDER`` runs another builder on the sources alone.

One build runs at a time: it holds a lock that the system releases when its last process ends, in
whatever way. The published site changes only at the end, when the new one is complete.
"""

import contextlib
import errno
import io
import multiprocessing
import os
import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from babel.messages.pofile import PoFileError, read_po
from filelock import FileLock, Timeout
from sphinx.cmd.build import build_main

sys.path.insert(0, str(Path(__file__).parent / "_ext"))  # for Sphinx, and for the next lines
import assemble

from sources import DOCS, LANGUAGES, SOURCE

BUILD = DOCS / "_build"
NO_PLACE = (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES)
# A child that is forked holds the lock as well, should its parent be killed alone.
CONTEXT: Any = multiprocessing.get_context("fork" if hasattr(os, "fork") else "spawn")
PO_LINE = re.compile(r'(#.*|(msg(ctxt|id|id_plural|str(\[\d+\])?)\s+)?"([^"\\]|\\.)*")?\s*')


def main(builder: str = "html") -> None:
    """Take the lock and build; whatever is wrong is said in one line, and ends the process."""
    try:
        BUILD.mkdir(exist_ok=True)
        with FileLock(BUILD / "lock", timeout=0):
            if damaged := [fault for path in catalogues("*") for fault in damage(path)]:
                sys.exit("\n".join(damaged))
            assemble.repair()
            if builder == "html":
                for code, language in LANGUAGES.items():
                    run("html", code, assemble.WORK / language["folder"])
                assemble.main()
            else:
                out = BUILD / builder
                shutil.rmtree(out, ignore_errors=True)
                run(builder, SOURCE, out, "-D", "plot_gallery=0")
                # The strings of the theme and of the templates stand in theme_locales.
                (out / "sphinx.pot").unlink(missing_ok=True)
    except Timeout as error:
        sys.exit(
            f"build: expected no other build, got one that holds {error.lock_file}; wait for it"
        )
    except OSError as error:
        # copytree collects its errors, and the first says enough.
        no_place(error.args[0][0][2] if isinstance(error, shutil.Error) else error)


def run(*arguments: object) -> None:
    """Run Sphinx in a process of its own, since it keeps strings of the language it has begun with."""
    process = CONTEXT.Process(target=sphinx, args=arguments)
    process.start()
    process.join()
    if process.exitcode < 0:
        sys.exit(f"build: expected Sphinx to end by itself, got signal {-process.exitcode}")
    if process.exitcode:
        sys.exit(process.exitcode)


def sphinx(builder: str, language: str, out: Path, *options: str) -> None:
    """Run one Sphinx build, in which every warning is an error."""
    doctrees = BUILD / "doctrees" / f"{builder}-{language}"
    unfinished = doctrees / "unfinished"
    if unfinished.exists():
        # Sphinx would take what is half written for done, and would not repeat its warnings.
        for path in catalogues(language):
            path.with_suffix(".mo").unlink(missing_ok=True)
        shutil.rmtree(out, ignore_errors=True)
        shutil.rmtree(doctrees)
    doctrees.mkdir(parents=True, exist_ok=True)
    unfinished.touch()
    os.environ["DOCS_LANGUAGE"] = language
    command = ["-W", "-n", "--keep-going", "-b", builder, "-d", str(doctrees), *options]
    with contextlib.redirect_stderr(io.StringIO()) as messages:
        status = build_main([*command, str(DOCS), str(out)])
    for number in NO_PLACE:
        if os.strerror(number) in messages.getvalue():
            no_place(os.strerror(number))
    sys.stderr.write(messages.getvalue())
    if status:
        sys.exit(f"build: expected {language} without an error or a warning, got those above")
    unfinished.unlink()


def catalogues(language: str) -> list[Path]:
    """Return the catalogues of a language: those of the pages and that of the theme."""
    return sorted(DOCS.glob(f"*locales/{language}/LC_MESSAGES/**/*.po"))


def damage(path: Path) -> Iterator[str]:
    """Yield what makes a catalogue unreadable, with its line: Sphinx would go on without it."""
    where = f"build: expected a readable catalogue, got {os.path.relpath(path)}"
    for number, line in enumerate(path.read_bytes().splitlines(), 1):
        text = line.decode("utf-8", "replace")
        if "\ufffd" in text or not PO_LINE.fullmatch(text):
            yield f"{where}:{number}: {text[:70]}"
            return
    try:
        read_po(io.BytesIO(path.read_bytes()), abort_invalid=True)
    except PoFileError as error:
        yield f"{where}:{error.lineno + 1}: {error}"


def no_place(reason: object) -> None:
    """End the process where nothing can be written."""
    sys.exit(f"build: expected a place to write to, got {reason}; the published site is as it was")


if __name__ == "__main__":
    main(*sys.argv[1:])
