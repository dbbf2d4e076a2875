"""The transcripts of docs/recorded come from the scripts beside them, and are quoted truly."""

import hashlib
import json
import re
import textwrap
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
RECORDED = ROOT / "docs/recorded"
SCRIPTS = sorted(RECORDED.glob("*/script.py"))
RELEASES = "1.0.0", "1.4.0", "1.5.0"
PROVENANCE = json.loads((RECORDED / "provenance.json").read_text("utf-8"))

QUOTATION = re.compile(
    r"^\.\. recorded: (?P<transcript>\w+ torch-[\d.]+)\n\n"
    r"\.\. code-block:: none\n\n"
    r"(?P<body>[ ]+\S.*\n(?:[ ]*\n|[ ]+\S.*\n)*)",
    re.MULTILINE,
)


def quotations(source: str) -> list[tuple[str, str]]:
    """Return name and body of every quotation in the text cells of an example."""
    text = re.sub(r"^# ?", "", source, flags=re.MULTILINE) + "\n"
    found = [
        (match["transcript"], textwrap.dedent(match["body"])) for match in QUOTATION.finditer(text)
    ]
    markers = re.findall(r"\.\. recorded:.*", text)
    assert len(found) == len(markers), f"not followed by its block: one of {markers}"
    return found


def assert_quoted_truly(source: str) -> None:
    """Find every excerpt, in order and in whole lines, in the transcript its marker names."""
    for name, body in quotations(source):
        rest = "\n" + (RECORDED / f"{name.replace(' ', '/')}.txt").read_text("utf-8")
        for excerpt in filter(str.strip, re.split(r"^\[\.\.\.\]$", body, flags=re.MULTILINE)):
            lines = "\n" + excerpt.strip("\n") + "\n"
            assert lines in rest, f"{name}: not in the transcript:\n{excerpt}"
            rest = rest[rest.index(lines) + len(lines) - 1 :]


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.parent.name)
def test_every_transcript_comes_from_the_script_beside_it(script):
    for release in RELEASES:
        transcript = script.with_name(f"torch-{release}.txt")
        record = PROVENANCE[f"{script.parent.name}/{transcript.name}"]
        assert record["torch"].split("+")[0] == release
        assert record["script_sha256"] == hashlib.sha256(script.read_bytes()).hexdigest()
        assert record["transcript_sha256"] == hashlib.sha256(transcript.read_bytes()).hexdigest()


def test_there_is_no_transcript_without_a_record():
    on_disk = {path.relative_to(RECORDED).as_posix() for path in RECORDED.glob("*/*.txt")}
    assert on_disk == set(PROVENANCE)
    assert len(on_disk) == len(SCRIPTS) * len(RELEASES)


def test_no_transcript_holds_an_address_or_a_path():
    for name in PROVENANCE:
        text = re.sub(r"https://\S+", "", (RECORDED / name).read_text("utf-8"))
        assert not re.search(r"0x[0-9a-f]{4}|/\w+/", text), name


def test_the_examples_quote_the_transcripts_truly():
    examples = [path.read_text("utf-8") for path in (ROOT / "examples/3_migration").glob("*.py")]
    assert any(quotations(source) for source in examples)
    for source in examples:
        assert_quoted_truly(source)


QUOTING = '''
r"""
A title
=======
"""

# %%
# A sentence before.
#
# .. recorded: legacy_function torch-1.0.0
#
# .. code-block:: none
#
#     >>> y
#     tensor([ 1.,  8., 27.], grad_fn=<Power>)
#     >>> y.sum().backward()
#     [...]
#     >>> y = Square()(x)
#     >>> y.sum().backward()
#     saved_tensors = ()
#
# A sentence after.

x = 1
'''


def test_excerpts_of_a_transcript_are_accepted():
    assert [name for name, _ in quotations(QUOTING)] == ["legacy_function torch-1.0.0"]
    assert_quoted_truly(QUOTING)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        pytest.param("8.,", "9.,", id="a number changed"),
        pytest.param("#     >>> y\n", "#     >>>\n", id="a line shortened"),
        pytest.param("#     tensor([ 1.,  8., 27.], grad_fn=<Power>)\n", "", id="a line left out"),
        pytest.param("[...]\n", "\n", id="a gap not marked"),
        pytest.param("torch-1.0.0", "torch-1.5.0", id="another release"),
        pytest.param(
            ">>> y\n", ">>> y = MyReLU.apply(x)\n#     [...]\n#     >>> y\n", id="another order"
        ),
        pytest.param("code-block:: none", "code-block:: python", id="another block"),
        pytest.param("code-block:: none\n#\n", "code-block:: none\n#\n# \n", id="an empty block"),
    ],
)
def test_a_planted_change_in_a_quotation_is_caught(old, new):
    assert QUOTING.count(old) == 1
    with pytest.raises(AssertionError):
        assert_quoted_truly(QUOTING.replace(old, new))
