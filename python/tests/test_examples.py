"""The examples run: the notebook in a kernel of its own, the suite of Robot Framework by robot."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

EXAMPLES = Path(__file__).parents[1] / "examples"


def executed(path: Path, folder: Path) -> nbformat.NotebookNode:
    notebook: nbformat.NotebookNode = nbformat.read(path, as_version=4)  # type: ignore[no-untyped-call]
    NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(folder)}}).execute()
    return notebook


def test_the_notebook_runs_and_shows_the_report(tmp_path: Path) -> None:
    notebook = executed(EXAMPLES / "router.ipynb", tmp_path)
    outputs = [output for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs]
    shown = [output.data["text/html"] for output in outputs if "text/html" in output.get("data", {})]
    assert any("<iframe" in page and "Throughput (RFC 2544 section 26.1)" in page for page in shown)
    assert any("<table" in page for page in shown)
    printed = "".join(output.text for output in outputs if output.output_type == "stream")
    assert "throughput 64 bytes" in printed and "not decided" in printed


def test_the_notebook_is_kept_without_outputs() -> None:
    for path in EXAMPLES.glob("*.ipynb"):
        notebook = nbformat.read(path, as_version=4)  # type: ignore[no-untyped-call]
        for cell in notebook.cells:
            assert cell.cell_type != "code" or (cell.outputs == [] and cell.execution_count is None), path


def robot(suite: Path, folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "robot", "--outputdir", str(folder / "out"), str(suite)],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_robot_suite_passes(tmp_path: Path) -> None:
    ran = robot(EXAMPLES / "router.robot", tmp_path)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "3 tests, 3 passed, 0 failed" in ran.stdout


@pytest.mark.parametrize(
    ("steps", "message"),
    [
        (
            "Run Device Test    sim=router    profile=quick    test=throughput    sizes=64\n"
            "    Figure Should Be At Least    throughput    64    1e6",
            "is less than 1e+06",
        ),
        (
            "Run Device Test    sim=noisy    profile=quick    test=throughput    sizes=64\n"
            "    ${figure} =    Get Figure    throughput    64\n"
            "    Figure Should Be At Most    throughput    64    ${{ $figure.low + 1 }}",
            "is not decided",
        ),
        ("Figure Should Be At Most    throughput    64    1", "write `Run Device Test` before"),
        (
            "Send Traffic    sim=router    rate=150kpps    duration=1s\n    Loss Should Be At Most    0.01",
            "frames are lost",
        ),
        ("Run Device Test    sim=routr", "no simulated device or file `routr`"),
    ],
)
def test_robot_fails_as_it_should(tmp_path: Path, steps: str, message: str) -> None:
    suite = tmp_path / "suite.robot"
    suite.write_text(f"*** Settings ***\nLibrary    netanvil.robot.Keywords\n\n*** Test Cases ***\nOne\n    {steps}\n")
    ran = robot(suite, tmp_path)
    assert ran.returncode == 1 and "1 test, 0 passed, 1 failed" in ran.stdout, ran.stdout + ran.stderr
    assert message in ran.stdout
