"""Cross-validation by rows would cut queries and problems: it is refused where scikit-learn does it."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

import numpy as np

from ._input import columns_of


def need_whole(unit: str, splitter: str, name: str) -> None:
    """Raises if scikit-learn fits on some rows of a unit and tests on others of the same unit.

    A plain `cv=5` cuts rows. The estimator sees only its own part, so the two parts are looked up where scikit-learn
    makes them, in the functions of its `model_selection` that call `fit`: in the column `name` of the frame, or in what
    goes to the scorer or to `fit`.
    """
    found = _parts(name)
    if found is None:
        return
    values, train, test = found
    cut = np.intersect1d(values[train], values[test])
    if len(cut):
        raise ValueError(
            f"cv: expected folds that leave every {unit} whole, found rows of {unit} {cut[0]!r} in training and in "
            f"test: give cv={splitter}(5)"
        )


def _parts(name: str) -> tuple[Any, Any, Any] | None:
    """The units of all rows, and the rows of both parts; none outside scikit-learn, or where units are not known."""
    frame: Any = sys._getframe(2)
    parts: tuple[Any, Any] | None = None
    n = 0
    while frame is not None:
        if str(frame.f_globals.get("__name__")).startswith("sklearn.model_selection."):
            known = frame.f_locals
            if parts is None and known.get("train") is not None and known.get("test") is not None:
                X: Any = known.get("X")
                parts, n = (known["train"], known["test"]), X.shape[0] if hasattr(X, "shape") else len(X)
                if name in columns_of(X):
                    return np.asarray(X[name]), *parts
            for params in ("score_params", "fit_params", "params"):
                given = known.get(params)
                values = given.get(name) if isinstance(given, Mapping) else None
                if parts is not None and values is not None and len(values) == n:  # else it is of one part
                    return np.asarray(values), *parts
        frame = frame.f_back
    return None
