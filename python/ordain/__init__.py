"""ordain learns to put things in order: rankings, label sets and matchings."""

from __future__ import annotations

import os
from importlib.util import find_spec
from typing import Any

from . import _ordain, datasets, linking, matching, metrics, ranking, tagging
from ._base import classes
from ._compat import ConvergenceWarning, NotFittedError
from ._ordain import FormatError, __version__
from ._star import star_argmax, star_marginals, star_ranking, star_ranking_forced, star_ranking_marginals
from ._structure import linear_assignment, permanent, quadratic_assignment, sample_matchings, top_k_marginals
from .datasets import (
    make_levels,
    make_matching,
    make_orders,
    make_ranking,
    make_registers,
    make_silhouettes,
    make_tagging,
    make_videos,
    read_letor,
    read_matching,
    read_multilabel,
)
from .linking import *  # noqa: F403
from .matching import *  # noqa: F403
from .ranking import *  # noqa: F403
from .tagging import *  # noqa: F403

_CLASSES = classes()
_SELECTION = ["ProblemKFold", "QueryKFold", "QueryScorer", "ndcg_scorer", "query_scorer"]


def __getattr__(name: str) -> Any:
    """What needs scikit-learn is loaded when it is asked for."""
    if name in _SELECTION:
        try:
            from . import model_selection
        except ImportError as error:
            raise AttributeError(f"ordain.{name} needs scikit-learn: pip install scikit-learn") from error
        return getattr(model_selection, name)
    raise AttributeError(f"module 'ordain' has no attribute {name!r}")


def load(path: str | os.PathLike[str]) -> Any:
    """The estimator of an `.ordain` file, of whatever method; written here or by the command line."""
    model = _ordain.load(os.fspath(path))
    return _CLASSES[model.method]._of_model(model)


__all__ = [
    "ConvergenceWarning",
    "FormatError",
    "NotFittedError",
    "__version__",
    "datasets",
    "linear_assignment",
    "load",
    "make_levels",
    "make_matching",
    "make_orders",
    "make_ranking",
    "make_registers",
    "make_silhouettes",
    "make_tagging",
    "make_videos",
    "metrics",
    "permanent",
    "quadratic_assignment",
    "read_letor",
    "read_matching",
    "read_multilabel",
    "sample_matchings",
    "star_argmax",
    "star_marginals",
    "star_ranking",
    "star_ranking_forced",
    "star_ranking_marginals",
    "top_k_marginals",
]
__all__ += linking.__all__
__all__ += matching.__all__
__all__ += ranking.__all__
__all__ += tagging.__all__
try:
    if find_spec("sklearn") is not None:
        __all__ += _SELECTION
except ValueError:  # somebody keeps it from being loaded
    pass
