"""The benchmarks: how pairs are timed and kept, what is committed, and how a page shows it."""

import ast
import hashlib
import json
import re
from pathlib import Path

import _paired
import polib
import pytest
import torch
from bs4 import BeautifulSoup
from sphinx.testing.util import SphinxTestApp

ROOT = Path(__file__).parents[2]
RESULTS = {
    path.stem: json.loads(path.read_text("utf-8"))
    for path in sorted((ROOT / "benchmarks" / "results").glob("*.json"))
}
ROWS = {
    "built_ins": 5, "gram_matrix": 4, "iteration": 4, "pre04": 6, "style_loss": 8,
    "style_transfer": 6, "total_variation": 4,
}  # fmt: skip
CONF = """
import sys
sys.path.insert(0, {extensions!r})
extensions = ["benchmarks"]
locale_dirs = [{locales!r}]
"""


class Clock:
    """A clock that moves only when a step says so."""

    now = 0.0

    def __call__(self):
        return self.now

    def step(self, *seconds):
        """Return a step that takes these seconds, one after the other."""
        steps = iter(seconds)

        def take():
            self.now += next(steps)

        return take


def test_a_step_of_twice_the_time_has_the_ratio_two():
    clock = Clock()
    busy = [0.001 * number for number in range(1, 9)]  # the machine slows down; pairs do not mind
    steps = {"one": clock.step(*busy), "two": clock.step(*(2 * time for time in busy))}
    times = _paired.interleaved(steps, rounds=5, clock=clock)
    assert times["one"] == pytest.approx([4, 5, 6, 7, 8])
    found = _paired.row("label", "anchor", times["one"], times["two"])
    assert found == {
        "label": "label", "anchor": "anchor", "anchor_ms": 6, "ours_ms": 12, "ratio": 2,
        "ratio_quartiles": [2, 2],
    }  # fmt: skip


def test_the_order_alternates():
    order = []
    steps = {name: lambda name=name: order.append(name) for name in ("a", "b")}
    _paired.interleaved(steps, rounds=1)
    assert "".join(order) in {"abbaabba", "baabbaab"}


def test_the_ratio_is_the_median_of_the_ratios_and_not_a_ratio_of_medians():
    assert _paired.row("x", "y", [1, 10, 2], [3, 10, 8])["ratio"] == 3


def test_the_quartiles_are_those_of_the_ratios():
    found = _paired.row("x", "y", [1, 1, 1, 1, 1], [1, 2, 3, 4, 50])
    assert (found["ratio"], found["ratio_quartiles"]) == (3, [2, 4])


def test_a_row_without_an_anchor_holds_only_our_time():
    assert _paired.row("x", "y", None, [2.0]) == {"label": "x", "ours_ms": 2.0}


def test_saved_bytes_leave_out_what_exists_anyway():
    x = torch.ones(1000, requires_grad=True)
    assert _paired.saved_megabytes(lambda: x.square().sum(), x) == 0
    assert _paired.saved_megabytes(lambda: x.square().sum()) == 0.004
    assert _paired.saved_megabytes(lambda: x.exp().sum(), x) == 0.004


def test_the_peak_is_what_is_held_at_once():
    def step():
        for _ in range(3):
            torch.ones(250_000) + 1

    assert _paired.peak_megabytes(step) == pytest.approx(2, abs=0.01)


def test_results_appear_whole_and_alone(tmp_path):
    _paired.write(tmp_path / "results" / "x.json", {"a": "×"})
    _paired.write(tmp_path / "results" / "x.json", {"a": "→"})
    (path,) = (tmp_path / "results").iterdir()
    assert json.loads(path.read_text("utf-8")) == {"a": "→"}


def test_the_command_writes_rows_and_origin(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(_paired, "RESULTS", tmp_path)
    monkeypatch.setattr("sys.argv", ["x", "--rounds", "2"])

    def compare(rounds, size):
        yield {"label": f"{size}", "ours_ms": rounds}

    _paired.main("x", compare, [(3,), (4,)], rounds=9, label="Size", ours="backpass")
    record = json.loads((tmp_path / "x.json").read_text("utf-8"))
    assert record["rows"] == [{"label": "3", "ours_ms": 2}, {"label": "4", "ours_ms": 2}]
    assert {"date", "torch", "backpass", "processor", "threads"} < set(record)
    assert capsys.readouterr().out.splitlines() == ["x: 3: ours_ms 2", "x: 4: ours_ms 2"]


def test_every_script_has_its_results_and_every_result_its_rows():
    scripts = {path.stem for path in (ROOT / "benchmarks").glob("[!_]*.py")}
    assert scripts == set(RESULTS) == set(ROWS)
    assert {name: len(record["rows"]) for name, record in RESULTS.items()} == ROWS


@pytest.mark.parametrize("name", RESULTS)
def test_committed_results_say_where_they_come_from(name):
    record = RESULTS[name]
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", record["date"])
    for version in ("torch", "backpass", "python"):
        assert re.fullmatch(r"\d+\.\d+\.\d+", record[version])
    assert record["processor"]
    assert min(record["cores"], record["threads"], record["rounds"]) >= 1


@pytest.mark.parametrize("name", RESULTS)
def test_committed_rows_have_one_form(name):
    for row in RESULTS[name]["rows"]:
        assert row["ours_ms"] > 0
        assert not set(row) - {
            "label", "anchor", "anchor_ms", "ours_ms", "ratio", "ratio_quartiles",
            "relative_difference", "columns",
        }  # fmt: skip
        if "ratio_quartiles" in row:
            low, high = row["ratio_quartiles"]
            assert low <= row["ratio"] <= high
        assert row.get("relative_difference", 0) < 1e-5


def test_the_counts_and_bytes_on_the_page_are_the_exact_ones():
    counts = [row["columns"]["Backwards of convolutions"] for row in RESULTS["pre04"]["rows"]]
    assert counts == [[16, 16], [16, 24], [16, 40], [16, 72], [16, 104], [16, 136]]
    saved = [row["columns"]["Saved, MB"] for row in RESULTS["total_variation"]["rows"]]
    assert [ours for _plain, ours in saved[:2]] == [0, 0]
    assert all(3.9 < plain / ours < 4.1 for plain, ours in saved[2:])


def test_the_pictures_are_those_of_the_results():
    pictures = RESULTS["style_transfer"]["pictures"]
    folder = ROOT / "docs" / "_static" / "style"
    assert len(pictures) == 3
    for name, record in pictures.items():
        assert hashlib.sha256((folder / name).read_bytes()).hexdigest() == record["sha256"]


def test_every_name_in_the_results_is_translated():
    catalogue = polib.pofile(str(ROOT / "docs/theme_locales/zh_CN/LC_MESSAGES/sphinx.po"))
    known = {entry.msgid for entry in catalogue if entry.msgstr} | {"backpass"}
    names = set()
    for record in RESULTS.values():
        names |= {record["label"], record["ours"]}
        for row in record["rows"]:
            names |= {row.get("anchor", "backpass"), *row.get("columns", {})}
    names = {name for name in names if not name.startswith("`")}
    code = ast.parse((ROOT / "docs" / "_ext" / "benchmarks.py").read_text("utf-8"))
    names |= {
        call.args[0].value
        for call in ast.walk(code)
        if isinstance(call, ast.Call) and getattr(call.func, "id", "") == "_"
        and isinstance(call.args[0], ast.Constant)
    }  # fmt: skip
    assert len(names) > 15
    assert not names - known


RECORD = {
    "label": "Shape", "ours": "backpass", "date": "2026-12-01", "torch": "2.13.0",
    "backpass": "0.1.0", "python": "3.11.7", "processor": "A < B", "cores": 2, "threads": 2,
    "rounds": 25,
}  # fmt: skip
ROW = {
    "label": "64 × 64", "anchor": "plain autograd", "anchor_ms": 21.5484, "ours_ms": 1234.5,
    "ratio": 0.615, "ratio_quartiles": [0.525, 0.703], "relative_difference": 2.1e-7,
}  # fmt: skip


def page(root, record, language="en"):
    (root / "benchmarks" / "results").mkdir(parents=True, exist_ok=True)
    (root / "benchmarks" / "results" / "x.json").write_text(json.dumps(record), "utf-8")
    docs = root / "docs"
    docs.mkdir(exist_ok=True)
    extensions, locales = ROOT / "docs" / "_ext", ROOT / "docs" / "theme_locales"
    (docs / "conf.py").write_text(
        CONF.format(extensions=str(extensions), locales=str(locales)), "utf-8"
    )
    (docs / "index.rst").write_text("Title\n=====\n\n.. benchmark:: x\n", "utf-8")
    app = SphinxTestApp("html", srcdir=docs, confoverrides={"language": language})
    app.build()
    made = BeautifulSoup((Path(app.outdir) / "index.html").read_text("utf-8"), "html.parser")
    warnings = app.warning.getvalue()
    app.cleanup()
    return made, warnings


def texts(made, selector):
    cells = made.select(selector)
    return [cell.get_text(" ", strip=True).replace("\u00a0", " ") for cell in cells]


@pytest.mark.filterwarnings("ignore")
def test_one_anchor_heads_its_column(tmp_path):
    made, _ = page(tmp_path, RECORD | {"rows": [ROW, ROW | {"columns": {"Loss": [2, 0.5]}}][:1]})
    assert texts(made, "th") == ["Shape", "Plain autograd", "backpass", "Ratio (quartiles)"]
    assert texts(made, "td") == ["64 × 64", "21.5 ms", "1.2 s", "0.61 (0.53–0.70)"]
    said = made.get_text()
    assert "Measured on 2026-12-01 with backpass 0.1.0, PyTorch 2.13.0 and Python 3.11.7" in said
    assert "on A < B, threads: 2. Medians of 25 interleaved rounds. The results differ" in said


@pytest.mark.filterwarnings("ignore")
def test_of_several_anchors_each_row_names_its_own_and_further_columns_follow(tmp_path):
    rows = [
        ROW | {"columns": {"Loss": [2, 0.5]}},
        ROW | {"anchor": "`F.relu`", "ratio": 2.0, "columns": {"Loss": [1]}},
        {"label": "alone", "ours_ms": 3, "columns": {"Loss": 7}},
    ]
    reason = {"pystiche": "RuntimeError: no"}
    made, _ = page(tmp_path, RECORD | {"rounds": 1, "rows": rows, "not_measured": reason}, "zh_CN")
    assert texts(made, "th") == ["形状", "对照", "对照耗时", "backpass", "比值（四分位数）", "损失"]
    cells = texts(made, "td")
    assert cells[1] == "普通 autograd"
    assert (cells[5], cells[11]) == ("2 → 0.5", "1")
    assert cells[12:] == ["alone", "–", "–", "3 ms", "–", "7"]
    assert "F.relu" in texts(made, "td code")
    assert "未测量：pystiche；RuntimeError: no" in made.get_text()
    assert "。 " not in made.get_text()


@pytest.mark.filterwarnings("ignore")
def test_the_bar_lies_where_the_ratio_says(tmp_path):
    rows = [ROW, ROW | {"ratio": 2.0, "ratio_quartiles": [1.0, 2.0]}]
    made, _ = page(tmp_path, RECORD | {"rows": rows})
    first, second = made.select("td svg")
    assert float(second.circle["cx"]) == 116  # the largest value ends the axis
    assert second.select("path")[1]["d"] == "M60.0 0V10"  # and 1 is half way
    assert float(first.circle["cx"]) == pytest.approx(4 + 112 * 0.615 / 2, abs=0.05)
    assert not made.select("svg text")
    assert first["aria-hidden"] == "true"


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("field", ["label", "ours", "date", "torch", "rounds", "rows"])
def test_a_record_without_a_field_says_which(tmp_path, field):
    record = {key: value for key, value in (RECORD | {"rows": [ROW]}).items() if key != field}
    _, warnings = page(tmp_path, record)
    expected = f"expected the field '{field}' in x.json, got none; run `nox -s bench -- x`"
    assert expected in warnings


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("field", ["label", "anchor_ms", "ours_ms", "ratio"])
def test_a_row_without_a_field_says_which(tmp_path, field):
    row = {key: value for key, value in ROW.items() if key != field}
    _, warnings = page(tmp_path, RECORD | {"rows": [row]})
    assert f"expected the field '{field}' in x.json, got none" in warnings
