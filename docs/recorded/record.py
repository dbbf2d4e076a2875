"""Run every script of this folder on the installed torch and write down what it prints.

``nox -s legacy`` calls this once per old release, so it keeps to Python 3.7. With ``--check``
nothing is written: a transcript that differs from the run is shown as a diff, and fails.
"""

import argparse
import datetime
import difflib
import hashlib
import json
import platform
import subprocess
import sys
from pathlib import Path

import torch

try:
    from numpy import __version__ as numpy_version
except ImportError:
    numpy_version = None

HERE = Path(__file__).resolve().parent
PROVENANCE = HERE / "provenance.json"


def run(script):
    """Return what a script prints, in a fresh interpreter that no setting of the user reaches."""
    command = [sys.executable, "-I", str(script)]
    output = subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout.decode()
    return output.strip() + "\n"


def difference(transcript, printed):
    """Return the diff from a transcript on disk, which may be missing, to what was printed."""
    recorded = transcript.read_text("utf-8") if transcript.exists() else ""
    name = transcript.relative_to(HERE).as_posix()
    lines = recorded.splitlines(True), printed.splitlines(True)
    return "".join(difflib.unified_diff(*lines, "recorded/" + name, "this run"))


def write(transcript, printed, script):
    """Write a transcript, and where it comes from."""
    transcript.write_text(printed, "utf-8")
    records = json.loads(PROVENANCE.read_text("utf-8")) if PROVENANCE.exists() else {}
    records[transcript.relative_to(HERE).as_posix()] = {
        "date": datetime.datetime.now(datetime.timezone.utc).date().isoformat(),
        "numpy": numpy_version,
        "python": platform.python_version(),
        "script_sha256": hashlib.sha256(script.read_bytes()).hexdigest(),
        "torch": torch.__version__,
        "transcript_sha256": hashlib.sha256(printed.encode()).hexdigest(),
    }
    PROVENANCE.write_text(json.dumps(records, indent=2, sort_keys=True) + "\n", "utf-8")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="compare instead of writing")
    check = parser.parse_args().check
    release = torch.__version__.split("+")[0]
    differences = []
    for script in sorted(HERE.glob("*/script.py")):
        transcript = script.with_name(f"torch-{release}.txt")
        printed = run(script)
        if check:
            differences.append(difference(transcript, printed))
        else:
            write(transcript, printed, script)
    return "".join(differences) or None


if __name__ == "__main__":
    sys.exit(main())
