"""`isonn cost`: estimate the cost of a template size on a dataset."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Annotated

from isonn.cli import options as opt
from isonn.cli.options import option
from isonn.cli.reading import reading


def cost(
    data: opt.Data,
    k: Annotated[int, option(None, "Nodes per template.")] = 4,
    c: Annotated[int, option(None, "Number of templates.")] = 2,
    smiles: opt.SmilesColumn = None,
    target: opt.TargetColumns = None,
    as_json: opt.AsJson = False,
    quiet: opt.Quiet = False,
) -> None:
    """Estimate the cost of matching C templates of K nodes on DATA, measured on a sample of its regions."""
    import isonn
    from isonn.errors import naming_the_extra

    with naming_the_extra("isonn cost"):
        from isonn.experiments.cost import estimate_cost

    graphs = isonn.load(data, **reading(smiles, target))
    estimate = estimate_cost(graphs, k, c)
    if as_json:
        print(json.dumps({"data": graphs.name, "k": k, "c": c, **asdict(estimate)}, indent=1))
        return
    print(f"{graphs.name}: {len(graphs)} graphs, templates of k={k} nodes, c={c}")
    many = estimate.permutations >= 10**12
    print(f"  permutations k!   {f'{float(estimate.permutations):.1e}' if many else f'{estimate.permutations:,}'}")
    print(f"  regions           {estimate.regions:,}")
    print(f"  distinct          {estimate.distinct:,}")
    print(f"  memory            {estimate.memory / 1e6:,.1f} MB")
    for name, matching in estimate.matchings.items():
        if matching.seconds is None:
            print(f"  {name:<17} not possible: {matching.reason}")
            continue
        agrees = "" if matching.rank_correlation is None else f", rank correlation {matching.rank_correlation:.2f}"
        print(f"  {name:<17} about {matching.seconds:.2g} s per pass{'' if name == 'exact' else agrees}")
