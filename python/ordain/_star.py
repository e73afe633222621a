"""The computational core on its own: sets of labels and orders of items whose links all touch a small core."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np

from . import _ordain
from ._input import Doubles, Ints
from ._structure import _array, _whole

Designs: TypeAlias = Literal["distance", "product", "head"]


class LabelSet(NamedTuple):
    """A set of labels and its value."""

    #: The labels, ascending.
    labels: Ints
    #: The sum of their scores and of the links between them.
    value: float


class BestLabels(LabelSet):
    """The best set of labels: a pair `labels, value` with what else was asked for."""

    #: The second-best set; None where there is no other, or where it was not asked for.
    second: LabelSet | None = None
    #: The best value of a set with each label forced in; None where it was not asked for.
    inside: Doubles | None = None
    #: The best value of a set with each label forced out; None where it was not asked for.
    outside: Doubles | None = None


class LabelSum(NamedTuple):
    """The sum over all sets of labels."""

    #: The logarithm of the sum.
    log_z: float
    #: The probability of each label to be in the set.
    marginals: Doubles


class _Order(NamedTuple):
    #: The items of the head places in order, or all items of a whole ranking.
    order: Ints
    #: The score of the order.
    value: float


class RankedItems(_Order):
    """The best order: a pair `order, value` that knows whether it is proven."""

    #: No order has a larger score; `value` where that is proven.
    bound: float = float("inf")

    @property
    def proven(self) -> bool:
        """Whether no order is better. Always so for top-k lists, and without a limit."""
        return self.bound <= self.value


class RankingSum(NamedTuple):
    """The sum over all orders."""

    #: The logarithm of the sum.
    log_z: float
    #: The probability of each item (row) at each place and in the tail (columns).
    marginals: Doubles
    #: The expected design between each item (row) and each item of the core (column): slopes of `log_z` by the links.
    pairs: Doubles


def star_argmax(
    scores: Any,
    links: Any,
    core: Any,
    k: int,
    *,
    fixed: Mapping[int, bool] | None = None,
    loss: Any = None,
    second: bool = False,
    forced: bool = False,
) -> BestLabels:
    """The best set of `k` labels where every link touches a small core of labels.

    A set is worth the sum of its `scores` and of the links inside it: `links[c, j]` is what label `core[c]` and label
    `j` are worth together. A pair inside the core is read from the row of the label that comes first in `core`, and
    what a label has to itself is not read. Of equal sets the same is returned at every call.

    - `fixed`: what is known, `{label: True}` for in and `{label: False}` for out.
    - `loss`: a number per label that is added where the label is in the set, so that the most violated set is found;
      that of precision at k is `(1 - relevant) / k`. The value has it too.
    - `second=True`: `second` of the result is the second-best set.
    - `forced=True`: `inside` and `outside` of the result are the best values with each label forced in and forced out,
      `-inf` where there is no such set.

    Exact. Costs O(2^c n) at worst for a core of c labels, at most 20, and mostly far less.
    """
    values, table, labels = _star(scores, links, core)
    if loss is not None:
        added = _array(loss, "loss", 1)
        if added.shape != values.shape:
            raise ValueError(f"loss: expected {len(values)} numbers, one per label, found {len(added)}")
        values = values + added
    best, following, values_forced = _ordain.star_argmax(
        values, table, labels, _whole(k, "k", 0), _known(fixed), bool(second), bool(forced)
    )
    found = BestLabels(*best)
    if following is not None:
        found.second = LabelSet(*following)
    if values_forced is not None:
        found.inside, found.outside = values_forced
    return found


def star_marginals(scores: Any, links: Any, core: Any, k: int, *, fixed: Mapping[int, bool] | None = None) -> LabelSum:
    """The sum over all sets of `k` labels of `exp` of their worth, as in `star_argmax`; the probability of each label.

    Exact. Costs O(2^c n k) for a core of c labels, at most 10.
    """
    values, table, labels = _star(scores, links, core)
    return LabelSum(*_ordain.star_marginals(values, table, labels, _whole(k, "k", 0), _known(fixed)))


def star_ranking(
    scores: Any,
    links: Any,
    core: Any,
    *,
    k: int | None = None,
    discounts: Any = None,
    design: Any = "distance",
    extra: Any = None,
    fixed: Mapping[int, int] | None = None,
    limit: int | None = None,
) -> RankedItems:
    """The best order of items whose score has terms for pairs: a quadratic assignment where links touch a small core.

    An order is worth the sum of `scores[i] * discounts[place of i]` over its items, and of `links[c, i] * D[place of
    core[c], place of i]` over the pairs with an item of the core. There are `k` head places and a tail for all other
    items, which is one more column of `discounts`, `D` and `extra`. With `k=None` there are as many places as items,
    and the order is a whole ranking. Places count from 0.

    - `links`: a row per item of the core and a column per item; inside the core as in `star_argmax`. Or the whole
      square matrix F of flows, of which `F + F.T` counts: it may link items with the core alone.
    - `discounts`: k numbers (the tail has 0), or k + 1; any numbers. Without them those of DCG, `1 / log2(2 + place)`.
    - `design`: `"distance"` is `|k - l|`, where the tail is one step behind the last head place: links below 0 draw
      items together, those above 0 drive them apart. `"product"` is `discounts[k] * discounts[l]`. `"head"` is 1 where
      both are in the head. Or a symmetric matrix.
    - `extra`: further numbers per item (row) and place (column), such as a loss that is linear in the order; `-inf`
      excludes an item from a place.
    - `fixed`: places that are known, `{item: place}`, with `k` for the tail.
    - `limit`: for whole rankings, how many assignments may be solved; `bound` and `proven` of the result say what
      that left open.

    Returns `order, value`: the items of the head places in order, and the score.

    Exact. Top-k lists cost O(n k) and a small assignment for each of some k^c placements of a core of c items, at most
    8. Whole rankings are searched by bounds: at worst n^c assignments, far fewer for `"distance"`.
    """
    given = _ranking(scores, links, core, k, discounts, design, extra, fixed)
    order, value, bound = _ordain.star_ranking(given, None if limit is None else _whole(limit, "limit", 0))
    found = RankedItems(order, value)
    found.bound = bound
    return found


def star_ranking_marginals(
    scores: Any,
    links: Any,
    core: Any,
    *,
    k: int | None = None,
    discounts: Any = None,
    design: Any = "distance",
    extra: Any = None,
    fixed: Mapping[int, int] | None = None,
) -> RankingSum:
    """The sum over all orders of `exp` of their worth, as in `star_ranking`; the probabilities of places.

    `pairs[i, c]` is the expectation of `D[place of i, place of core[c]]`, 0 where an item meets itself.

    Exact, for at most 16 head places. Costs O(n k 2^k) for each of some k^c placements of a core of c items.
    """
    given = _ranking(scores, links, core, k, discounts, design, extra, fixed)
    return RankingSum(*_ordain.star_ranking_marginals(given))


def star_ranking_forced(
    scores: Any,
    links: Any,
    core: Any,
    *,
    k: int | None = None,
    discounts: Any = None,
    design: Any = "distance",
    extra: Any = None,
    fixed: Mapping[int, int] | None = None,
) -> Doubles:
    """The best value of an order with each item (row) at each place and in the tail (columns), as in `star_ranking`.

    `-inf` where there is no such order. All of them cost little more than one list without bounds.
    """
    given = _ranking(scores, links, core, k, discounts, design, extra, fixed)
    values: Doubles = _ordain.star_ranking_forced(given)
    return values


def _star(scores: Any, links: Any, core: Any) -> tuple[Doubles, Doubles, list[int]]:
    values = _array(scores, "scores", 1)
    labels = [_whole(label, "core", 0) for label in core]
    table = _array(links, "links", 2) if len(labels) else np.empty((0, len(values)))
    return values, table, labels


def _known(fixed: Mapping[int, bool] | None) -> list[tuple[int, bool]]:
    known = []
    for label, inside in (fixed or {}).items():
        if not isinstance(inside, bool | np.bool_):
            raise ValueError(f"fixed: expected True (in) or False (out) for label {label}, found {inside!r}")
        known.append((_whole(label, "fixed", 0), bool(inside)))
    return known


def _ranking(
    scores: Any, links: Any, core: Any, k: Any, discounts: Any, design: Any, extra: Any, fixed: Any
) -> _ordain._Given:
    values, table, items = _star(scores, links, core)
    name = design if isinstance(design, str) else ""
    return (
        values,
        table,
        items,
        None if k is None else _whole(k, "k", 0),
        None if discounts is None else _array(discounts, "discounts", 1),
        name,
        None if isinstance(design, str) else _array(design, "design", 2),
        None if extra is None else _array(extra, "extra", 2),
        [(_whole(item, "fixed", 0), _whole(place, "fixed", 0)) for item, place in (fixed or {}).items()],
    )


__all__ = [
    "BestLabels",
    "LabelSet",
    "LabelSum",
    "RankedItems",
    "RankingSum",
    "star_argmax",
    "star_marginals",
    "star_ranking",
    "star_ranking_forced",
    "star_ranking_marginals",
]
