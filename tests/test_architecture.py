"""The layers of the design: imports point down only, and heavy packages wait until they are needed."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

import isonn

SOURCE = Path(isonn.__file__).parent

#: From the bottom up; names on one line never import each other.
LAYERS = [
    {"errors"},
    {"seeding", "progress", "files", "packing", "params", "plugins", "processes", "compiled"},
    {"targets"},
    {"graphs", "matching", "training"},
    {"ridge", "confounds", "scores"},
    {"heads"},
    {"conformal", "references"},
    {"domain"},
    {"explain"},
    {"model_files", "judged"},
    {"estimator"},
    {"torch_estimator", "audit"},
    {"windows", "subgraphs", "aligned", "baselines"},
    {"nn", "testing"},
    {"experiments"},
    {"report", "screening"},
    {"molecules", "connectomes"},
    {"serve"},
    {"cli"},
    {"__main__"},
]
#: Objects show themselves: any part may import these modules inside a method.
SHOW = {"isonn.report.show", "isonn.report.explain_page", "isonn.report.model_page"}
LEVEL = {name: level for level, names in enumerate(LAYERS) for name in names}


def part_of(module: str) -> str:
    return module.split(".")[1]


def imports_of(path: Path) -> list[str]:
    """Every module of ours that a file imports, wherever in the file."""
    found = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module == "isonn":
            found += [f"isonn.{alias.name}" for alias in node.names if alias.name != "__version__"]
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("isonn."):
            found.append(node.module)
        elif isinstance(node, ast.Import):
            found += [alias.name for alias in node.names if alias.name.startswith("isonn.")]
    return found


@pytest.mark.parametrize("path", sorted(SOURCE.rglob("*.py")), ids=lambda path: str(path.relative_to(SOURCE)))
def test_imports_point_down_only(path):
    part = path.relative_to(SOURCE).parts[0].removesuffix(".py")
    if part == "__init__":
        return  # the package's own surface names everything and imports it when asked
    assert part in LEVEL, f"{part} has no place in the layers"
    for module in imports_of(path):
        if module in SHOW and part != "report":
            assert not re.search(rf"^from {module}", path.read_text(encoding="utf-8"), re.MULTILINE), (
                "import it in a method"
            )
            continue
        other = part_of(module)
        assert other == part or LEVEL[other] < LEVEL[part], f"{path.name} of {part} imports {module}"


def loaded_by(code: str) -> set[str]:
    script = f"import sys\n{code}\nprint(*sorted({{name.split('.')[0] for name in sys.modules}}))"
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return set(run.stdout.splitlines()[-1].split())


HEAVY = {"torch_geometric", "grakel", "igraph", "networkx", "matplotlib", "typer", "dask", "distributed", "rdkit"}


def test_using_the_library_loads_no_optional_package():
    pytest.importorskip("torch")
    code = "import isonn\nisonn.load('MUTAG'), isonn.IsoNNClassifier, isonn.load_model, isonn.matching, isonn.nn"
    code += "\nisonn.connectomes"
    assert not loaded_by(code) & {*HEAVY, "nilearn"}


def test_help_does_not_load_torch():
    code = "import isonn.cli\ntry:\n    isonn.cli.app(['--help'])\nexcept SystemExit:\n    pass"
    assert not loaded_by(code) & {"torch", "sklearn", "scipy", "numpy"}


def test_listing_datasets_does_not_load_scikit_learn():
    code = "import isonn.cli\ntry:\n    isonn.cli.app(['data', 'list'])\nexcept SystemExit:\n    pass"
    assert not loaded_by(code) & {"torch", "sklearn", "pandas"}


def test_every_public_name_is_there():
    for name in isonn.__all__:
        assert getattr(isonn, name) is not None
    assert set(isonn.__all__) <= set(dir(isonn))
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = isonn.nothing
