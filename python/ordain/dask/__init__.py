"""Fits on a Dask cluster, with the bytes of a fit on one machine.

Every worker keeps some of the data, and is asked for sums over them; the fit itself runs where it was called. A
question says everything that its answer depends on, so a worker may be lost at any time: Dask makes its part of the
data anew, and the model is the same.

>>> from dask.distributed import Client  # doctest: +SKIP
>>> from ordain.dask import RankSVM  # doctest: +SKIP
>>> model = RankSVM(client=Client(), transform_="none").fit(ddf, "label", "qid")  # doctest: +SKIP
>>> model.local_.save("model.ordain")  # doctest: +SKIP
"""

try:
    import dask as _dask  # noqa: F401
    import distributed as _distributed  # noqa: F401
except ImportError as error:
    raise ImportError('ordain.dask needs Dask: pip install "dask[dataframe]" distributed') from error

from ._matching import MatchMap
from ._ranking import Dorm, ListNet, RankMatch, RankSVM

__all__ = ["Dorm", "ListNet", "MatchMap", "RankMatch", "RankSVM"]
