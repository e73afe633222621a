"""Cross-validation by rows would cut queries and problems: it is refused where scikit-learn does it."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from ._input import columns_of


def need_whole(unit: str, splitter: str, name: str) -> None:
    """Raises if scikit-learn fits on some rows of a unit and tests on others of the same unit.

    A plain `cv=5` cuts rows. The estimator sees only its own part, so the two parts are looked up where scikit-learn
    makes them, in the call of `_fit_and_score`: in the column `name` of the frame, or in what goes to the scorer.
    """
    frame = sys._getframe(1)
    while frame is not None and not (
        frame.f_code.co_name == "_fit_and_score" and frame.f_globals.get("__name__") == _VALIDATION
    ):
        frame = frame.f_back  # type: ignore[assignment]
    if frame is None:
        return
    known = frame.f_locals
    train, test = known.get("train"), known.get("test")
    X: Any = known.get("X")
    params = known.get("score_params") or {}
    values = X[name] if name in columns_of(X) else params.get(name)
    if train is None or test is None or values is None:
        return
    array = np.asarray(values)
    cut = np.intersect1d(array[train], array[test])
    if len(cut):
        raise ValueError(
            f"cv: expected folds that leave every {unit} whole, found rows of {unit} {cut[0]!r} in training and in "
            f"test: give cv={splitter}(5)"
        )


_VALIDATION = "sklearn.model_selection._validation"
