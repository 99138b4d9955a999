"""`isonn dossier`: write the dossier of a model after the OECD's principles."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated, Any

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

from isonn.cli import options as opt
from isonn.cli.options import new_path, option
from isonn.cli.reading import graphs_of, model_with, reading


def dossier(
    model: opt.Model,
    data: opt.Data,
    out: Annotated[Path, new_path(None, "File to write: .html, or .json with all predictions")],
    about: Annotated[
        Path | None,
        option(None, "TOML file with what only you know: title, endpoint, species, units, protocol and others."),
    ] = None,
    smiles: opt.SmilesColumn = None,
    target: opt.TrueColumns = None,
    censored: opt.Censored = None,
    values: opt.Values = None,
    as_json: opt.AsJson = False,
    quiet: opt.Quiet = False,
) -> None:
    """Write a draft dossier of a model: endpoint, algorithm, domain, validation, mechanism, under the QMRF's headings.

    DATA are the graphs the model was fitted to; others among them serve as an external set. The model is fitted again
    for held-out predictions, in folds of equal graphs and, for molecules, of scaffolds.
    """
    from isonn.errors import InputError
    from isonn.report.dossier import ABOUT, with_value, write_dossier

    if out.suffix not in (".html", ".json"):
        raise InputError(f"--out {out} must end in .html or .json")
    said = {} if about is None else _read_about(about)
    clf = model_with(model, "vectorizer_", "dossiers need a model of --method isonn-subgraph")
    if clf.n_templates is not None:
        raise InputError(f"{model} is a short list, which was chosen on all graphs; fit it without --templates")
    graphs = graphs_of(data, clf, **reading(smiles, target, censored=censored, values=values))
    if graphs.y is None:
        raise InputError(f"{data} has no targets to validate the model with; name their column with --target")
    graphs = graphs[with_value(graphs)]
    scaffolds, alerts = _of_molecules(clf, graphs)
    draft = write_dossier(clf, graphs, said, scaffolds, alerts)
    (draft.to_json if out.suffix == ".json" else draft.to_html)(out)
    if as_json:
        print(json.dumps({"file": str(out), "missing": draft.missing}, indent=1))
        return
    if draft.missing:
        hint = "give them with --about" if about is None else f"add them to {about}"
        entries = "1 entry is" if len(draft.missing) == 1 else f"{len(draft.missing)} entries are"
        keys = ", ".join(key for key, heading in ABOUT.items() if heading in draft.missing)
        print(
            f"isonn: {entries} to be written by you; {hint} ({keys})",
            file=sys.stderr,
        )
    print(f"dossier in {out}: a draft for an expert, not a regulatory statement", file=sys.stderr)


def _read_about(path: Path) -> dict[str, str]:
    from isonn.errors import InputError
    from isonn.report.dossier import check_about

    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"{path} cannot be read ({error.strerror}); give a TOML file with --about") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f'{path} is not a TOML file ({error}); write lines such as title = "..."') from error
    return check_about(content, str(path))


def _of_molecules(clf: Any, graphs: Any) -> tuple[Any, list[dict[str, Any]]]:
    """Return the scaffolds of molecules, and the alerts of two classes from the linear part of the model."""
    if clf.kind_ != "molecules":
        return None, []
    from sklearn.base import clone

    from isonn.molecules import scaffolds

    rows: list[dict[str, Any]] = []
    if clf.target_.exclusive and len(clf.target_.classes) == 2:
        training = graphs[clf.seen_in_training(graphs)]
        linear = clone(clf).set_params(head="linear", random_state=clf.seed_).fit(training)
        rows = linear.alerts(training).rows()
    return scaffolds(graphs), rows
