"""Specs: the files that come with isonn, and files with mistakes in them."""

from __future__ import annotations

from pathlib import Path

import pytest

from isonn.data import known
from isonn.errors import InputError
from isonn.experiments.methods import METHODS, build
from isonn.experiments.protocols import PROTOCOLS
from isonn.experiments.spec import Printed, load_spec, spec_names

#: Every name of DESIGN.md; the paper's rivals are printed before they can be run.
ALL_METHODS = set(METHODS) | {"isonn-fast", "freq", "ae", "cnn", "sdbn", "wl", "gcn", "gin"}


@pytest.mark.parametrize("name", spec_names())
def test_every_name_in_a_spec_resolves(name: str) -> None:
    spec = load_spec(name)
    assert spec.protocol in PROTOCOLS
    assert set(spec.printed) | set(spec.dataset_settings) <= {entry.name for entry in known()}
    assert {method for printed in spec.printed.values() for method in printed} <= ALL_METHODS
    for dataset in (*spec.dataset_settings, "a set of one's own"):
        for method in METHODS:
            build(method, spec.settings_for(dataset, method), seed=0, size=30)


def test_the_table_holds_what_the_paper_prints() -> None:
    """Two cells of the paper's table, its first and its last; the settings of its studies."""
    spec = load_spec("table")
    assert spec.printed["HIV-fMRI"]["freq"] == Printed(54.3, 58.2)
    assert spec.printed["PTC"]["isonn"] == Printed(59.9, 59.9)
    assert {len(printed) for printed in spec.printed.values()} == {9}
    templates = {name: (s["isonn"]["k"], s["isonn"]["c"]) for name, s in spec.dataset_settings.items()}
    assert templates == {"HIV-fMRI": (2, 3), "HIV-DTI": (4, 2), "BP-fMRI": (3, 1), "MUTAG": (4, 1), "PTC": (4, 2)}


def test_a_dataset_the_paper_does_not_have_gets_the_general_settings() -> None:
    spec = load_spec("table")
    assert spec.settings_for("PROTEINS", "isonn") == spec.settings["isonn"]
    assert spec.settings_for("PROTEINS", "majority") == {}


def test_printed_numbers_belong_to_their_settings_only() -> None:
    spec = load_spec("table")
    settings = spec.settings_for("MUTAG", "isonn")
    assert spec.printed_for("MUTAG", "isonn", settings) == Printed(83.3, 83.0)
    assert spec.printed_for("MUTAG", "isonn", {**settings, "k": 3}) is None
    assert spec.printed_for("MUTAG", "majority", {}) is None


HEAD = 'title = "t"\nprotocol = "paper"\n'


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("title = ", r"wrong\.toml is not TOML"),
        ('title = "t"', r"wrong\.toml has no protocol"),
        (HEAD + "colour = 1", r"wrong\.toml has an unknown entry 'colour'"),
        (HEAD + "[datasets.A.print]", r"datasets\.A in .*wrong\.toml has an unknown entry 'print'; known are printed"),
        (HEAD + "[datasets]\nA = 1", r"datasets\.A in .*: 1 is not a table"),
        (HEAD + "[datasets.A.printed]\nfreq = { accuracy = 101, f1 = 1 }", r"freq: accuracy = 101; give a percentage"),
        (HEAD + "[datasets.A.printed]\nfreq = { accuracy = 10 }", r"freq: f1 = None; give a percentage"),
        (HEAD + "[settings]\nisonn = { k = 1979-05-27 }", r"settings in .*, isonn: k = .*; use numbers, text"),
    ],
)
def test_a_mistake_in_a_spec_is_named(text: str, complaint: str, tmp_path: Path) -> None:
    file = tmp_path / "wrong.toml"
    file.write_text(text)
    with pytest.raises(InputError, match=complaint):
        load_spec(file)


def test_an_unknown_experiment_is_answered_with_the_known_ones() -> None:
    with pytest.raises(InputError, match=r"no experiment 'tabel' and no such file; known are .*table"):
        load_spec("tabel")
