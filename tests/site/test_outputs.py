"""No output holds what differs from run to run: a time, a date, an address or a path."""

import re

import pytest
from built_site import HTML, parse

VOLATILE = {
    "address": re.compile(r"\b0x[0-9a-f]{6,}\b"),
    "path": re.compile(r"(?<![\w.])/(?:[\w.-]+/){1,}[\w.-]+|\b[A-Z]:\\"),
    "date": re.compile(r"\b20\d\d-\d\d-\d\d\b"),
    "time": re.compile(r"\b\d+(?:\.\d+)? ?(?:ms|µs|us|s|sec|seconds)\b|\b\d\d:\d\d:\d\d\b"),
}


def volatile(text):
    text = re.sub(r"https?://\S+", "", text)  # torch's messages name pages of its documentation
    return [kind for kind, pattern in VOLATILE.items() if pattern.search(text)]


def test_no_output_is_volatile(build):
    for page in build["examples"]:
        blocks = parse(HTML / "en" / page).select(".sphx-glr-script-out pre")
        assert blocks, f"{page} prints nothing"
        for block in blocks:
            assert not volatile(block.get_text()), f"{page}: {block.get_text()}"


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("address", "<MulBackward0 object at 0x7f3a5c0d2e80>"),
        ("path", 'File "/usr/lib/python3.11/site.py", line 3'),
        ("date", "built on 2026-01-31"),
        ("time", "it took 0.25 s"),
        ("time", "12 ms per call"),
    ],
)
def test_a_planted_volatile_output_is_caught(kind, text):
    assert kind in volatile(text)
