"""Specs: every name and number in them."""

from __future__ import annotations

import pytest

from isonn.errors import InputError
from isonn.experiments.methods import METHODS, build, resolve_methods
from isonn.experiments.protocols import PROTOCOLS
from isonn.experiments.spec import Spec, load_spec, spec_names
from isonn.graphs import known

#: Every name of DESIGN.md; the paper's rivals are printed before they can be run.
ALL_METHODS = set(METHODS) | {"isonn-fast", "freq", "ae", "cnn", "sdbn", "wl", "gcn", "gin"}


@pytest.mark.parametrize("name", spec_names())
def test_every_name_in_a_spec_resolves(name: str) -> None:
    spec = load_spec(name)
    assert spec.protocol in PROTOCOLS
    assert set(spec.datasets) <= {entry.name for entry in known()}
    assert {method for dataset in spec.datasets.values() for method in dataset.get("printed", {})} <= ALL_METHODS
    assert set(spec.grid) <= set(METHODS)
    resolve_methods(spec.methods)
    for dataset in (*spec.datasets, "a set of one's own"):
        for method in METHODS:
            if METHODS[method].training and not spec.training:
                continue  # the studies have no training rules
            if "literal" in method:
                continue  # refuses c = 1, where its features would all be 1
            build(method, spec.settings_for(dataset, method), seed=0, size=30)._check_params()
            common, candidates = spec.candidates_for(dataset, method)
            for candidate in candidates or ({},):
                build(method, {**common, **candidate}, seed=0, size=30)._check_params()
    for sweep in spec.sweeps:
        assert set(sweep.datasets) | set(sweep.paper) <= set(spec.datasets)
        for method in resolve_methods(sweep.methods or spec.methods):
            for value in sweep.values or (None,):
                varied = {} if sweep.vary is None else {sweep.vary: value}
                settings = spec.settings_for("MUTAG", method, {**sweep.settings, **varied})
                build(method, settings, seed=0, size=30)._check_params()
                assert settings.items() >= varied.items()


def test_every_network_of_a_dataset_is_trained_by_the_same_rule() -> None:
    spec = load_spec("table")
    for dataset in spec.datasets:
        for suffix in ("settled", "paper-epochs"):
            rules = {
                (settings["epochs"], settings.get("patience"))
                for name in METHODS
                if METHODS[name].training == suffix
                for settings in [spec.settings_for(dataset, name)]
            }
            assert len(rules) == 1
        assert spec.settings_for(dataset, "gcn-paper-epochs")["epochs"] == spec.settings_for(dataset, "isonn")["epochs"]
    assert resolve_methods("isonn-fast-paper-epochs") == ("isonn-fast",)
    with pytest.raises(InputError, match="convergence has no training rule 'settled'"):
        load_spec("convergence").settings_for("MUTAG", "gcn-settled")


def test_rows_of_a_training_rule_stand_beside_the_papers_number_of_the_method() -> None:
    spec = load_spec("table")
    for method, base in (("gcn-settled", "gcn"), ("isonn-fast-authors-settled", "isonn-fast"), ("isonn", "isonn")):
        assert spec.printed_for("PTC", method, spec.settings_for("PTC", method)) == spec.printed_for("PTC", base)


def test_there_is_a_spec_for_the_table_and_every_study() -> None:
    assert set(spec_names()) == {"table", "kernel-size", "channels", "time", "convergence"}


def test_the_studies_hold_what_the_papers_text_says_of_its_figures() -> None:
    order = ("HIV-fMRI", "HIV-DTI", "BP-fMRI", "MUTAG", "PTC")
    said = {
        "kernel-size": (2, 4, 3, 4, 4),  # "The best kernel sizes are 2, 4, 3, 4, 4"
        "channels": (3, 2, 1, 1, 2),  # "the best results by c=3, 2, 1, 1, 2"
        "convergence": (50, 50, 50, 130, 50),  # "within 50 iterations except for MUTAG (it needs almost 130 epochs)"
    }
    for name, values in said.items():
        (sweep,) = load_spec(name).sweeps
        assert tuple(sweep.paper[dataset] for dataset in order) == values
        assert tuple(load_spec(name).datasets) == order
    best_k = {name: load_spec("channels").settings_for(name, "isonn")["k"] for name in order}
    assert tuple(best_k.values()) == said["kernel-size"]
    assert "PTC" not in load_spec("time").datasets  # "we don't show the results on PTC"


def test_candidates_are_every_combination_in_order_apart_from_what_is_fixed() -> None:
    spec = Spec("s", "t", "paper", {"isonn": {"k": 9, "epochs": 5}}, grid={"isonn": {"k": [2, 3], "c": [1, 2]}})
    common, candidates = spec.candidates_for("A", "isonn")
    assert common == {"epochs": 5}
    assert candidates == ({"k": 2, "c": 1}, {"k": 2, "c": 2}, {"k": 3, "c": 1}, {"k": 3, "c": 2})
    assert spec.candidates_for("A", "isonn", {"k": 4}) == ({"k": 4, "epochs": 5}, ({"c": 1}, {"c": 2}))
    assert spec.candidates_for("A", "isonn", {"k": 4, "c": 7}) == ({"k": 4, "epochs": 5, "c": 7}, ())
    assert spec.candidates_for("A", "size") == ({}, ())


def test_a_variant_chooses_from_its_own_form_of_the_candidates() -> None:
    spec = Spec("s", "t", "paper", {"isonn": {"epochs": 5}}, grid={"isonn": {"k": [2, 3, 9], "c": [1]}})
    assert spec.candidates_for("A", "isonn-fast") == (
        {"epochs": 5, "c": 1, "matching": "fast"},
        ({"k": 2}, {"k": 3}, {"k": 9}),
    )
    common, candidates = spec.candidates_for("A", "isonn-deep")
    assert common == {"epochs": 5}
    assert len(candidates) == 2, "k = 2 and k = 3 have the same deep counterpart"
    assert all(set(candidate) == {"layers"} for candidate in candidates)


def test_the_table_holds_what_the_paper_prints() -> None:
    """Two cells of the paper's table, its first and its last; the settings of its studies."""
    spec = load_spec("table")
    assert spec.printed_for("HIV-fMRI", "freq") == {"accuracy": 54.3, "f1": 58.2}
    assert spec.printed_for("PTC", "isonn") == {"accuracy": 59.9, "f1": 59.9}
    every = [dataset["printed"] for dataset in spec.datasets.values()]
    assert {len(printed) for printed in every} == {10}  # nine methods; IsoNN-fast in two readings
    assert all(printed["isonn-fast"] == printed["isonn-fast-authors"] for printed in every)
    templates = {
        name: (s["isonn"]["k"], s["isonn"]["c"]) for name in spec.datasets for s in [spec.datasets[name]["settings"]]
    }
    assert templates == {"HIV-fMRI": (2, 3), "HIV-DTI": (4, 2), "BP-fMRI": (3, 1), "MUTAG": (4, 1), "PTC": (4, 2)}


def test_a_dataset_the_paper_does_not_have_gets_the_general_settings() -> None:
    spec = load_spec("table")
    assert spec.settings_for("PROTEINS", "isonn") == spec.settings["isonn"]
    assert spec.settings_for("PROTEINS", "majority") == {}


def test_printed_numbers_belong_to_their_settings_only() -> None:
    spec = load_spec("table")
    settings = spec.settings_for("MUTAG", "isonn")
    assert spec.printed_for("MUTAG", "isonn", settings) == {"accuracy": 83.3, "f1": 83.0}
    assert spec.printed_for("MUTAG", "isonn", {**settings, "k": 3}) is None
    assert spec.printed_for("MUTAG", "majority", {}) is None


def test_an_unknown_experiment_is_answered_with_the_known_ones() -> None:
    with pytest.raises(InputError, match=r"no experiment 'tabel'; known are .*table"):
        load_spec("tabel")
