"""Sets of labels and orders of items around a core, against enumeration."""

from __future__ import annotations

import itertools
import threading
from typing import Any

import numpy as np
import pytest

import ordain

RNG = np.random.default_rng


def slow_star(s: np.ndarray, links: np.ndarray, core: list[int], k: int) -> dict[tuple[int, ...], float]:
    place = {label: c for c, label in enumerate(core)}
    values = {}
    for labels in itertools.combinations(range(len(s)), k):
        value = float(s[list(labels)].sum())
        for a, b in itertools.combinations(labels, 2):
            c, d = place.get(a, len(core)), place.get(b, len(core))
            if min(c, d) < len(core):
                value += links[c, b] if c < d else links[d, a]
        values[labels] = value
    return values


class TestStar:
    def test_brute_force(self) -> None:
        rng = RNG(41)
        for at in range(150):
            n = int(rng.integers(0, 7))
            core = rng.permutation(n)[: rng.integers(0, 4)].tolist()
            k = int(rng.integers(0, n + 1))
            whole = at % 2 == 0
            s = rng.integers(-2, 3, size=n).astype(float) if whole else rng.normal(size=n)
            links = rng.integers(-2, 3, size=(len(core), n)).astype(float) if whole else rng.normal(size=(len(core), n))
            fixed = {int(i): bool(rng.integers(2)) for i in range(n) if at % 3 == 0 and rng.random() < 0.3}
            loss = rng.integers(0, 2, size=n) / max(k, 1) if at % 5 == 0 else None
            own = s if loss is None else s + loss
            sets = slow_star(own, links, core, k)
            values = {t: v for t, v in sets.items() if all((i in t) == inside for i, inside in fixed.items())}
            if not values:
                with pytest.raises(ValueError, match="cannot choose"):
                    ordain.star_argmax(s, links, core, k, fixed=fixed, loss=loss)
                with pytest.raises(ValueError, match="cannot choose"):
                    ordain.star_marginals(own, links, core, k, fixed=fixed)
                continue
            found = ordain.star_argmax(s, links, core, k, fixed=fixed, loss=loss, second=True, forced=True)
            labels, value = found
            assert value == pytest.approx(max(values.values()), abs=1e-9)
            assert values[tuple(labels.tolist())] == pytest.approx(value, abs=1e-9)
            assert labels.dtype == np.int64
            ranked = sorted(values.values(), reverse=True)
            assert (found.second is None) == (len(ranked) == 1)
            if found.second is not None:
                assert found.second.value == pytest.approx(ranked[1], abs=1e-9)
                assert tuple(found.second.labels.tolist()) != tuple(labels.tolist())
            for i in range(n):
                for inside, forced in ((True, found.inside), (False, found.outside)):
                    assert forced is not None
                    truth = max((v for t, v in values.items() if (i in t) == inside), default=-np.inf)
                    assert forced[i] == pytest.approx(truth, abs=1e-9)
            plain = ordain.star_argmax(s, links, core, k, fixed=fixed, loss=loss)
            assert plain.second is None
            assert plain.inside is None
            assert plain.outside is None
            assert plain.labels.tolist() == labels.tolist()
            weights = np.exp(list(values.values()))
            p = np.zeros(n)
            for labels_of, weight in zip(values, weights / weights.sum(), strict=True):
                p[list(labels_of)] += weight
            total = ordain.star_marginals(own, links, core, k, fixed=fixed)
            assert total.log_z == pytest.approx(np.log(weights.sum()), abs=1e-9)
            np.testing.assert_allclose(total.marginals, p, atol=1e-9)

    def test_refusals(self) -> None:
        s, links = np.zeros(4), np.zeros((1, 4))
        for function in (ordain.star_argmax, ordain.star_marginals):
            with pytest.raises(ValueError, match="core: expected labels from 0 to 3"):
                function(s, links, [4], 2)
            with pytest.raises(ValueError, match="core: expected"):
                function(s, links, [-1], 2)
            with pytest.raises(ValueError, match="links: expected the shape"):
                function(s, links, [0, 1], 2)
            with pytest.raises(ValueError, match="cannot choose 5 labels"):
                function(s, links, [0], 5)
            with pytest.raises(ValueError, match=r"scores\[0\]"):
                function([np.inf, 0, 0, 0], links, [0], 2)
            with pytest.raises(ValueError, match="different labels"):
                function(s, np.zeros((2, 4)), [1, 1], 2)
            with pytest.raises(ValueError, match="fixed: expected numbers from 0 to 3"):
                function(s, links, [0], 2, fixed={4: True})
            with pytest.raises(ValueError, match=r"fixed: expected True \(in\) or False \(out\) for label 1"):
                function(s, links, [0], 2, fixed={1: 2})  # type: ignore[dict-item, unused-ignore]
            with pytest.raises(ValueError, match="cannot choose 2 labels: 3 are forced in"):
                function(s, links, [0], 2, fixed={0: True, 1: True, 2: True})
        with pytest.raises(ValueError, match="loss: expected 4 numbers"):
            ordain.star_argmax(s, links, [0], 2, loss=[1.0])


def slow_orders(
    s: np.ndarray,
    links: np.ndarray,
    core: list[int],
    k: int,
    c: np.ndarray,
    d: np.ndarray,
    extra: np.ndarray,
    fixed: dict[int, int],
) -> dict[tuple[int, ...], float]:
    """The value of every order, given by the place of each item; `k` is the tail."""
    n, values = len(s), {}
    for head in itertools.permutations(range(n), k):
        places = np.full(n, k)
        places[list(head)] = np.arange(k)
        if any(places[i] != j for i, j in fixed.items()):
            continue
        value = float((s * c[places]).sum() + extra[np.arange(n), places].sum())
        for a, item in enumerate(core):
            for i in range(n):
                if i not in core[: a + 1]:
                    value += links[a, i] * d[places[item], places[i]]
        if value > -np.inf:
            values[tuple(places.tolist())] = value
    return values


class TestRanking:
    def case(self, rng: np.random.Generator, at: int) -> tuple[Any, dict[tuple[int, ...], float], int, bool]:
        n = int(rng.integers(1, 6))
        whole = at % 3 == 0
        k = n - 1 if whole else int(rng.integers(0, n + 1))
        core = rng.permutation(n)[: rng.integers(0, 4)].tolist()
        s, links = rng.normal(size=n), rng.normal(size=(len(core), n))
        classes = k + 1
        discounts = rng.normal(size=classes) if at % 2 else None
        c = discounts if discounts is not None else 1 / np.log2(2 + np.arange(classes))
        if discounts is None and not whole:
            c[k] = 0
        name = ["distance", "product", "head", "matrix"][at % 4]
        if name == "head" and whole:
            name = "distance"
        place = np.arange(classes)
        inside = (place < k).astype(float)
        any_table = rng.normal(size=(classes, classes))
        d = {
            "distance": np.abs(place[:, None] - place).astype(float),
            "product": np.outer(c, c),
            "head": np.outer(inside, inside),
            "matrix": any_table + any_table.T,
        }[name]
        extra = np.zeros((n, classes))
        if at % 5 == 0:
            extra = rng.normal(size=(n, classes))
            extra[rng.random((n, classes)) < 0.15] = -np.inf
        fixed = {}
        if at % 7 < 2:
            pairs = zip(rng.permutation(n), rng.permutation(classes), strict=False)
            fixed = {int(i): int(j) for i, j in list(pairs)[: rng.integers(1, 3)]}
        given = {
            "scores": s,
            "links": links,
            "core": core,
            "k": None if whole else k,
            "discounts": discounts,
            "design": d if name == "matrix" else name,
            "extra": extra if extra.any() else None,
            "fixed": fixed or None,
        }
        return given, slow_orders(s, links, core, k, c, d, extra, fixed), k, whole

    def test_brute_force(self) -> None:
        rng = RNG(42)
        for at in range(300):
            given, values, k, whole = self.case(rng, at)
            if not values:
                for function in (ordain.star_ranking, ordain.star_ranking_marginals, ordain.star_ranking_forced):
                    with pytest.raises(ValueError, match="expected an order that pins and excluded places allow"):
                        function(**given)
                continue
            n, core = len(given["scores"]), given["core"]
            found = ordain.star_ranking(**given)
            order, value = found
            assert found.proven
            assert found.bound == value
            assert order.dtype == np.int64
            assert len(order) == (n if whole else k)
            assert value == pytest.approx(max(values.values()), abs=1e-9)
            places = np.full(n, k)
            places[order[:k]] = np.arange(k)
            assert values[tuple(places.tolist())] == pytest.approx(value, abs=1e-9)
            forced = ordain.star_ranking_forced(**given)
            total = ordain.star_ranking_marginals(**given)
            weights = np.exp(list(values.values()))
            assert total.log_z == pytest.approx(np.log(weights.sum()), abs=1e-9)
            p, best = np.zeros((n, k + 1)), np.full((n, k + 1), -np.inf)
            design = given["design"]
            c = given["discounts"]
            if c is None:
                c = 1 / np.log2(2 + np.arange(k + 1))
                c[k] = c[k] if whole else 0
            place = np.arange(k + 1)
            d = (
                {
                    "distance": np.abs(place[:, None] - place),
                    "product": np.outer(c, c),
                    "head": np.outer(place < k, place < k),
                }[design]
                if isinstance(design, str)
                else design
            )
            pairs = np.zeros((n, len(core)))
            for where, weight in zip(values, weights / weights.sum(), strict=True):
                p[np.arange(n), where] += weight
                best[np.arange(n), where] = np.maximum(best[np.arange(n), where], values[where])
                for a, item in enumerate(core):
                    pairs[:, a] += weight * d[np.array(where), where[item]]
            for a, item in enumerate(core):
                pairs[item, a] = 0
            np.testing.assert_allclose(total.marginals, p, atol=1e-9)
            np.testing.assert_allclose(total.pairs, pairs, atol=1e-9)
            np.testing.assert_allclose(forced, best, atol=1e-9)

    def test_flows_of_both_directions_count(self) -> None:
        rng = RNG(43)
        s, core = rng.normal(size=6), [4, 1]
        flow = np.zeros((6, 6))
        flow[core] = rng.normal(size=(2, 6))
        flow[:, core] += rng.normal(size=(6, 2))
        np.fill_diagonal(flow, 0)
        rows = (flow + flow.T)[core]
        for k in (3, None):
            a, b = (ordain.star_ranking(s, links, core, k=k) for links in (flow, rows))
            assert a.order.tolist() == b.order.tolist()
            assert a.value == b.value
        flow[0, 2] = 1
        with pytest.raises(ValueError, match=r"links that touch the core \[4, 1\], found 1 between items 0 and 2"):
            ordain.star_ranking(s, flow, core, k=3)

    def test_a_block_design_is_a_set(self) -> None:
        rng = RNG(44)
        s, links, core = rng.normal(size=9), rng.normal(size=(2, 9)), [2, 5]
        order, value = ordain.star_ranking(s, links, core, k=4, discounts=np.ones(4), design="head")
        labels, best = ordain.star_argmax(s, links, core, 4)
        assert sorted(order.tolist()) == labels.tolist()
        assert value == pytest.approx(best)

    def test_a_limit_leaves_a_bound(self) -> None:
        rng = RNG(45)
        s, links = rng.normal(size=25), rng.normal(size=(3, 25))
        best = ordain.star_ranking(s, links, [0, 1, 2])
        assert best.proven
        early = ordain.star_ranking(s, links, [0, 1, 2], limit=0)
        assert not early.proven
        assert early.value <= best.value <= early.bound
        assert sorted(early.order.tolist()) == list(range(25))
        again = ordain.star_ranking(s, links, [0, 1, 2], limit=0)
        assert again.order.tolist() == early.order.tolist()
        assert again.bound == early.bound

    def test_empty(self) -> None:
        order, value = ordain.star_ranking([], np.zeros((0, 0)), [])
        assert order.tolist() == []
        assert value == 0
        total = ordain.star_ranking_marginals([1.0, 2.0], np.zeros((0, 2)), [], k=0)
        assert total.log_z == 0
        assert total.marginals.tolist() == [[1.0], [1.0]]
        assert total.pairs.shape == (2, 0)

    def test_threads(self) -> None:
        rng = RNG(46)
        s, links = rng.normal(size=40), rng.normal(size=(2, 40))
        truth = ordain.star_ranking_marginals(s, links, [3, 4], k=5)
        found: list[Any] = [None] * 4

        def run(at: int) -> None:
            found[at] = ordain.star_ranking_marginals(s, links, [3, 4], k=5)

        threads = [threading.Thread(target=run, args=(at,)) for at in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert all((one.marginals == truth.marginals).all() and one.log_z == truth.log_z for one in found)

    def test_refusals(self) -> None:
        s, links = np.zeros(4), np.zeros((1, 4))
        for function in (ordain.star_ranking, ordain.star_ranking_marginals, ordain.star_ranking_forced):
            for wrong, said in (
                ({"core": [4]}, "core: expected numbers from 0 to 3"),
                ({"core": [0, 1]}, "links: expected the shape"),
                ({"core": [1, 1], "links": np.zeros((2, 4))}, "different items"),
                ({"core": range(9), "links": np.zeros((9, 20)), "scores": np.zeros(20)}, "core: expected at most 8"),
                ({"k": 5}, "k: expected at most 4"),
                ({"k": -1}, "k: expected"),
                ({"scores": [np.nan, 0, 0, 0]}, r"scores\[0\]"),
                ({"links": [[0, np.inf, 0, 0]]}, r"links\[0, 1\]"),
                ({"discounts": [1.0]}, "discounts: expected 2 numbers, or 3 with that of the tail, found 1"),
                ({"discounts": [1.0, np.nan]}, r"discounts\[1\]"),
                ({"design": "distant"}, 'did you mean "distance"'),
                ({"design": "head", "k": None}, "expected k with design"),
                ({"design": np.zeros((2, 2))}, r"design: expected the shape \(3, 3\)"),
                ({"design": [[0, 1, 0], [2, 0, 0], [0, 0, 0]]}, "a symmetric design"),
                ({"extra": np.zeros((4, 2))}, r"extra: expected the shape \(4, 3\)"),
                ({"extra": np.full((4, 3), np.inf)}, r"extra\[0, 0\]: .* or -inf for a place that is excluded"),
                ({"extra": np.full((4, 3), -np.inf)}, "item 0, for which every place is excluded"),
                ({"fixed": {4: 0}}, "fixed: expected numbers from 0 to 3"),
                ({"fixed": {0: 3}}, "fixed places: expected numbers from 0 to 2"),
                ({"fixed": {0: 1, 2: 1}}, "items 0 and 2 pinned at place 1"),
                ({"fixed": {0: 2, 1: 2, 2: 2}}, "3 items that may stand in the tail only, which holds 2"),
            ):
                given: dict[str, Any] = {"scores": s, "links": links, "core": [0], "k": 2, **wrong}
                with pytest.raises(ValueError, match=said):
                    function(**given)
        with pytest.raises(ValueError, match="limit: expected"):
            ordain.star_ranking(s, links, [0], limit=-1)
        with pytest.raises(ValueError, match="k: expected at most 16 places"):
            ordain.star_ranking_marginals(np.zeros(30), np.zeros((0, 30)), [], k=17)
        with pytest.raises(ValueError, match="found whole rankings of 30 items"):
            ordain.star_ranking_marginals(np.zeros(30), np.zeros((0, 30)), [])
