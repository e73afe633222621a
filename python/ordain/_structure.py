"""The computational core on its own: matchings and head places of lists, from plain arrays."""

from __future__ import annotations

import operator
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np

from . import _ordain
from ._input import Doubles, Ints
from ._ordain import linear_assignment

Sums: TypeAlias = Literal["auto", "exact", "pruned", "bethe", "sinkhorn", "huber-law", "deepar", "importance", "chain"]
Bounds: TypeAlias = Literal["auto", "none", "gilmore-lawler", "hahn-grant", "projection"]
Samplers: TypeAlias = Literal["auto", "exact", "deepar", "huber-law", "chain"]


class MatchingSum(NamedTuple):
    """The sum over all matchings, and how it was found."""

    #: The logarithm of the sum.
    log_z: float
    #: The probability of each pair.
    marginals: Doubles
    #: `exact`, `certified`, `estimated` or `approximate`.
    how: str
    #: How far a probability may be off: 0, a proven bound, a standard error, or None where nobody knows.
    error: float | None
    #: The method that found it.
    method: str


class TopK(NamedTuple):
    """Who stands in the head places of a list."""

    #: The logarithm of the sum over all orders.
    log_z: float
    #: The probability of each item (row) at each head place (column).
    marginals: Doubles
    #: The probability of each item to be among the first k.
    first_k: Doubles


class QuadraticAssignment(dict[str, Any]):
    """An assignment of items to places; its keys are attributes too, as in SciPy's `OptimizeResult`."""

    #: The place of each item.
    col_ind: Ints
    #: Its value.
    fun: float
    #: No assignment has a lesser value, or a greater one where it is maximised; infinite where there is no bound.
    bound: float
    #: How far `fun` is from `bound`, from 0 to infinity.
    gap: float
    #: Whether `fun` is `bound`, up to rounding: the optimum.
    proven: bool
    #: Exchanges that the search made, or permutations tried.
    nit: int

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(name) from None

    def __setattr__(self, name: str, value: Any) -> None:
        self[name] = value

    def __delattr__(self, name: str) -> None:
        try:
            del self[name]
        except KeyError:
            raise AttributeError(name) from None

    def __dir__(self) -> list[str]:
        return [*self, *super().__dir__()]


def _array(values: Any, what: str, ndim: int) -> Doubles:
    """Numbers of float64 in rows, as many ways as they should go."""
    array = np.asarray(values)
    if array.dtype.kind not in "fiub" or array.ndim != ndim:
        raise ValueError(f"{what}: expected numbers in {ndim} dimension(s), found shape {array.shape} of {array.dtype}")
    return np.require(array, np.float64, ["C", "A"])


def _held(values: Any, what: str) -> Any:
    """The same, if float64 holds every one of them: of whole numbers beyond 2**53 it holds only some."""
    array = np.asarray(values)
    if array.dtype.kind in "iu" and array.dtype.itemsize == 8 and array.ndim == 2:
        large = array > 2**53
        if array.dtype.kind == "i":
            large |= array < -(2**53)
        for i, j in np.argwhere(large):
            if int(float(array[i, j])) != int(array[i, j]):
                raise ValueError(
                    f"{what}[{i}, {j}]: expected a whole number that float64 holds (every one up to 2**53 in size), "
                    f"found {array[i, j]}; divide by a common factor, or round with {what}.astype(float)"
                )
    return array


def _whole(value: Any, what: str, least: int) -> int:
    """A whole number that is not too small."""
    try:
        number = operator.index(value)
    except TypeError:
        number = least - 1
    if number < least or number >= 2**63:
        raise ValueError(f"{what}: expected a whole number from {least}, found {value!r}")
    return number


def _null(null: Any, n: int, m: int) -> tuple[Doubles, Doubles] | None:
    """The log-weights of rows and of columns that stay unmatched."""
    if null is None:
        return None
    rows, columns = null if isinstance(null, tuple) and len(null) == 2 else (null, null)
    both = []
    for what, values, size in (("rows", rows, n), ("columns", columns, m)):
        given = np.asarray(values)
        if given.dtype.kind not in "fiub" or given.shape not in ((), (size,)):
            raise ValueError(
                f"null: expected a number, or a pair (rows, columns) of numbers or of an array for each side, "
                f"found shape {given.shape} for {size} {what}"
            )
        both.append(np.full(size, given, dtype=np.float64))
    return both[0], both[1]


def permanent(log_weights: Any, *, null: Any = None, method: Sums = "auto", seed: int = 0) -> MatchingSum:
    """The sum over all one-to-one matchings of rows to columns, and the probability of each pair.

    A matching weighs `exp` of the sum of its log-weights, so that `log_z` of a square matrix is the logarithm of the
    permanent of `exp(log_weights)`; `-inf` forbids a pair. Every item of the lesser side is matched, and those left
    over on the greater side cost nothing. With `null` any item may stay unmatched at a log-weight of its own: one
    number for all, or a pair for rows and for columns, each a number or an array.

    What is returned says how near the probabilities are: `how` is `exact`, `certified` (`error` is proved), `estimated`
    (`error` is a standard error) or `approximate`.

    - `exact`: O(n k 2^k) for k items on the lesser side: at most 26 where both sides have about as many (they differ by
      3 at most, and neither has more than 26), 22 otherwise, and 22 with null. A tenth of a second up to 20 items,
      about a second and half a gigabyte at the most.
    - `pruned`: only the subsets that carry weight, with a proven bound; quick where weights are peaked.
    - `sinkhorn`, `bethe`: O(n m) a round, any size, approximate.
    - `huber-law`, `deepar`, `importance`, `chain`: from samples, drawn by `seed`; `chain` has its `log_z` of `bethe`.
    - `auto`: `pruned` or `exact` where they can; beyond them `importance` or `chain` up to 100 items, above `sinkhorn`,
      with null `bethe`. Parts that no pair connects are summed one by one.
    """
    weights = _array(log_weights, "log_weights", 2)
    alone = _null(null, *weights.shape)
    return MatchingSum(*_ordain.permanent(weights, alone, method, _whole(seed, "seed", 0)))


def sample_matchings(log_weights: Any, n: int, *, null: Any = None, method: Samplers = "auto", seed: int = 0) -> Ints:
    """`n` random matchings from the law of `permanent`: an array of `n` rows with the column of each row, -1 for none.

    The samples are independent and exact, or ValueError says that they cannot be had; only `method="chain"` draws from
    a Markov chain, where they depend on one another and are near the law, not on it.

    - `exact`: from the sum over subsets, for up to 22 items a side without null: O(k 2^k) once, O(k²) a sample.
    - `deepar`, `huber-law`: by rejection; `deepar` draws 16 columns without it, so that problems of up to 16 items
      (both sides together, with null) lose no trial. Beyond, for flat weights and some 30 items.
    - `auto`: `exact` where it can, else `deepar`.
    """
    weights = _array(log_weights, "log_weights", 2)
    alone = _null(null, *weights.shape)
    samples: Ints = _ordain.sample_matchings(weights, _whole(n, "n", 0), alone, method, _whole(seed, "seed", 0))
    return samples


def quadratic_assignment(
    A: Any,
    B: Any,
    linear: Any = None,
    *,
    maximize: bool = False,
    seconds: float = 1.0,
    steps: int | None = None,
    seed: int = 0,
    bound: Bounds = "auto",
) -> QuadraticAssignment:
    """Items to places one to one, where each pair of items costs what their two places make of it.

    Minimises `(A * B[p][:, p]).sum() + linear[arange(n), p].sum()` over permutations `p`, or maximises it. `A`, `B` and
    `linear` are any square matrices of one size, symmetric or not. The result has what that of
    `scipy.optimize.quadratic_assignment` has (`col_ind`, which is `p`, `fun` and `nit`, as attributes and as keys), and
    a proof as far as there is one: `bound`, below which no value is (above, where it is maximised), `gap`, the distance
    of `fun` from it, and `proven`, whether that is nothing but rounding.

    The problem is hard, and this is a search: iterated 2-opt, then robust tabu search, half of the time each. It ends
    after `seconds`, bound included, or as soon as `fun` is proven. With `steps` it ends after so many exchanges of two
    items, whatever the time, and the same `seed` gives the same result. Up to 7 items all permutations are tried. Whole
    numbers with sums up to 2**44 give exact values; those that float64 does not hold (some beyond 2**53) are refused.

    - `bound="gilmore-lawler"`: costs O(n³).
    - `"projection"`: costs O(n³); `A` or `B` has to be symmetric.
    - `"hahn-grant"`: the best one mostly; for up to 50 items.
    - `"auto"`: the best of those that the problem has, within a quarter of the time. `"none"`: the time is for the
      search alone.
    """
    given = {"A": _array(_held(A, "A"), "A", 2), "B": _array(_held(B, "B"), "B", 2)}
    if linear is not None:
        given["linear"] = _array(_held(linear, "linear"), "linear", 2)
    n = len(given["A"])
    for what, matrix in given.items():
        if matrix.shape != (n, n):
            raise ValueError(f"{what}: expected the shape {(n, n)}, as many rows as columns, found {matrix.shape}")
        if not np.isfinite(matrix).all():
            i, j = np.argwhere(~np.isfinite(matrix))[0]
            raise ValueError(f"{what}[{i}, {j}]: expected a finite number, found {matrix[i, j]}")
    if maximize:
        given["A"] = -given["A"]
        if "linear" in given:
            given["linear"] = -given["linear"]
    limit = None if steps is None else _whole(steps, "steps", 0)
    places, fun, least, proven, nit = _ordain.quadratic_assignment(
        given["A"], given["B"], given.get("linear"), float(seconds), limit, _whole(seed, "seed", 0), bound
    )
    sign = -1.0 if maximize else 1.0
    # 0.0 + makes a plain 0 of -0
    return QuadraticAssignment(
        col_ind=places, fun=0.0 + sign * fun, bound=0.0 + sign * least, gap=fun - least, proven=proven, nit=nit
    )


def top_k_marginals(scores: Any, k: int, *, discounts: Any = None) -> TopK:
    """The probability of each item to stand at each of the first `k` places of a list, exactly.

    An order weighs `exp(sum of score * discount of the place)` over its first k places, and the order below does not
    count. `discounts` are k numbers from 0 that do not rise; without them they are those of DCG, `1 / log2(1 + place)`.
    Places beyond the number of items have probability 0.

    Costs O(n k 2^k), with k at most 16: milliseconds for 1000 items and 10 places.
    """
    values = _array(scores, "scores", 1)
    worth = None if discounts is None else _array(discounts, "discounts", 1)
    return TopK(*_ordain.top_k_marginals(values, _whole(k, "k", 0), worth))


__all__ = [
    "MatchingSum",
    "QuadraticAssignment",
    "TopK",
    "linear_assignment",
    "permanent",
    "quadratic_assignment",
    "sample_matchings",
    "top_k_marginals",
]
