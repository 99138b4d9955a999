"""Time series to connectomes inside a scikit-learn pipeline, without learning from test subjects."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from typing_extensions import Self

from isonn.connectomes.convert import study_graphs
from isonn.errors import InputError, NotFittedError, naming_the_extra
from isonn.graphs.graph import GraphSet

KINDS = ("correlation", "partial correlation", "tangent", "covariance", "precision")


class Connectivity(TransformerMixin, BaseEstimator):
    """Turn regional time series into connectomes with nilearn's ConnectivityMeasure.

    In a pipeline, ``fit`` sees only training subjects, so the mean for ``kind="tangent"`` is learned again in each
    fold.

    Args:
        kind: "correlation", "partial correlation", "tangent", "covariance" or "precision".
        atlas: anything `isonn.connectomes.as_atlas` takes, or None.
        cov_estimator: covariance estimator for nilearn; None uses its default (Ledoit-Wolf shrinkage).

    Attributes set by ``fit``:
        measure_: nilearn's ConnectivityMeasure.

    Example:
        >>> from sklearn.pipeline import make_pipeline
        >>> model = make_pipeline(Connectivity("tangent"), isonn.AlignedClassifier())
    """

    def __init__(self, kind: str = "correlation", atlas: Any = None, cov_estimator: Any = None) -> None:
        self.kind = kind
        self.atlas = atlas
        self.cov_estimator = cov_estimator

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn from training subjects, which only some kinds need.

        Args:
            X: one array per subject, shape (time points, regions).
        """
        if self.kind not in KINDS:
            raise InputError(f"kind={self.kind!r} is unknown; use one of {', '.join(map(repr, KINDS))}")
        with naming_the_extra("Connectivity"):
            from nilearn.connectome import ConnectivityMeasure
        series = _series(X)
        settings = {"cov_estimator": self.cov_estimator} if self.cov_estimator is not None else {}
        self.measure_ = ConnectivityMeasure(kind=self.kind, **settings)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", (DeprecationWarning, FutureWarning))
            self.measure_.fit(series)
        self.n_regions_ = series[0].shape[1]
        return self

    def transform(self, X: Any) -> GraphSet:
        """Return the connectomes of subjects, without their diagonal.

        Args:
            X: time series, one array of shape (times, regions) per subject.

        Returns:
            `isonn.GraphSet`, one graph per subject.
        """
        if not hasattr(self, "measure_"):
            raise NotFittedError("this Connectivity is not fitted; call fit first")
        series = _series(X)
        if series[0].shape[1] != self.n_regions_:
            raise InputError(
                f"subjects have {series[0].shape[1]} regions, but the training subjects had {self.n_regions_}; use one "
                f"atlas"
            )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", (DeprecationWarning, FutureWarning))
            # nilearn rejects a single subject of kind "tangent", although the mean is known from fit
            matrices = self.measure_.transform(series * 2 if len(series) == 1 else series)[: len(series)]
        return study_graphs(matrices, self.atlas)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.no_validation = True
        return tags


def _series(X: Any) -> list[Any]:
    """Return checked time series."""
    series = [np.asarray(subject, dtype=np.float64) for subject in X]
    if not series:
        raise InputError("X is empty; give one array of shape (time points, regions) per subject")
    for i, subject in enumerate(series):
        if subject.ndim != 2 or len(subject) < 3:
            raise InputError(
                f"subject {i} of {len(series)} has an array of shape {subject.shape}; give (time points, regions)"
            )
        if subject.shape[1] != series[0].shape[1]:
            raise InputError(
                f"subject {i} of {len(series)} has {subject.shape[1]} regions, but the first has {series[0].shape[1]}; "
                f"use one atlas"
            )
        if not np.isfinite(subject).all():
            region = int((~np.isfinite(subject)).any(axis=0).argmax())
            raise InputError(f"subject {i} of {len(series)} has NaN in region {region}; drop the region or the subject")
        flat = subject.std(axis=0) == 0
        if flat.any():
            raise InputError(
                f"region {int(flat.argmax())} of subject {i} has no signal (it never changes); drop the region or the "
                f"subject"
            )
    return series
