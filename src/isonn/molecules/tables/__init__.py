"""Tables of names, patterns and published values, as files of tab-separated text.

``groups.tsv`` names functional groups and rings, ``toxicophores.tsv`` those of mutagenicity; both give molecules that
have each one and near misses that do not, which tests check. ``crippen.tsv`` and ``polar_surface.tsv`` hold published
values of atoms. ``replacements.tsv`` lists what medicinal chemists try, as reaction SMARTS, ``attachments.tsv`` groups
to attach to an atom.
"""

from __future__ import annotations

from importlib.resources import files


def read_table(name: str) -> list[dict[str, str]]:
    """Return the rows of a table, each by the names of its columns.

    Example:
        >>> read_table("crippen")[0]
        {'atom': 'heavy', 'type': 'C1', 'logp': '0.1441', 'refractivity': '2.503'}
    """
    header, *lines = files(__package__).joinpath(f"{name}.tsv").read_text(encoding="utf-8").splitlines()
    names = header.split("\t")
    return [dict(zip(names, line.split("\t"), strict=True)) for line in lines]
