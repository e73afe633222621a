"""The computational core against brute force, and against SciPy where it has the same."""

from __future__ import annotations

import gc
import itertools
import math
import pickle
import threading
from typing import Any

import numpy as np
import pytest

import ordain

RNG = np.random.default_rng


def injections(n: int, m: int) -> Any:
    """Every matching of the lesser side, as pairs."""
    if n <= m:
        for columns in itertools.permutations(range(m), n):
            yield list(zip(range(n), columns, strict=True))
    else:
        for rows in itertools.permutations(range(n), m):
            yield sorted(zip(rows, range(m), strict=True))


def partial(n: int, m: int) -> Any:
    """Every partial matching, as pairs."""
    for k in range(min(n, m) + 1):
        for rows in itertools.combinations(range(n), k):
            for columns in itertools.permutations(range(m), k):
                yield list(zip(rows, columns, strict=True))


def costs(rng: np.random.Generator, n: int, m: int, kind: int) -> np.ndarray:
    if kind == 0:
        return rng.normal(size=(n, m))
    cost = rng.integers(-3, 4, size=(n, m)).astype(float)  # ties
    if kind == 2:
        cost[rng.random((n, m)) < 0.3] = np.inf
    return cost


def check_duals(cost: np.ndarray, rows: Any, cols: Any, u: Any, v: Any, sign: float = 1.0) -> None:
    """Feasible, complementary, and nothing for whoever is left over."""
    n, m = cost.shape
    assert u.shape == (n,)
    assert v.shape == (m,)
    slack = sign * (cost - u[:, None] - v[None, :])
    size = 1e-9 * max(1.0, float(np.abs(cost[np.isfinite(cost)]).max(initial=0.0)))
    assert (slack >= -size).all()
    np.testing.assert_allclose(slack[rows, cols], 0, atol=size)
    left = np.ones(n, bool), np.ones(m, bool)
    left[0][rows] = left[1][cols] = False
    assert (u[left[0]] == 0).all()
    assert (v[left[1]] == 0).all()
    if n < m:
        assert (sign * v <= 0).all()
    if n > m:
        assert (sign * u <= 0).all()


class TestLinearAssignment:
    @pytest.mark.parametrize("kind", [0, 1, 2])
    def test_brute_force(self, kind: int) -> None:
        rng = RNG(kind)
        for _ in range(150):
            n, m = rng.integers(0, 5, size=2).tolist()
            cost = costs(rng, n, m, kind)
            values = [sum(cost[pair] for pair in pairs) for pairs in injections(n, m)]
            best = min(values)
            if np.isinf(best):
                with pytest.raises(ValueError, match=r"(row|column) \d+ .*cannot be matched"):
                    ordain.linear_assignment(cost)
                continue
            rows, cols, u, v = ordain.linear_assignment(cost, duals=True)
            assert rows.dtype == cols.dtype == np.int64
            assert len(rows) == min(n, m)
            assert (np.diff(rows) > 0).all()
            assert len(set(cols.tolist())) == len(cols)
            assert cost[rows, cols].sum() == pytest.approx(best, abs=1e-9)
            check_duals(cost, rows, cols, u, v)
            # the other way round
            rows, cols, u, v = ordain.linear_assignment(-cost, maximize=True, duals=True)
            assert cost[rows, cols].sum() == pytest.approx(best, abs=1e-9)
            check_duals(-cost, rows, cols, u, v, sign=-1.0)

    def test_scipy(self) -> None:
        optimize = pytest.importorskip("scipy.optimize")
        rng = RNG(7)
        # both sides of every size at which the way changes
        sizes = [tuple(rng.integers(1, 90, size=2)) for _ in range(150)]
        sizes += [(n, m) for n in (1, 49, 50, 51, 63, 64, 65, 128) for m in (1, 50, 64, 65, 130)]
        sizes += [(300, 300), (1023, 1023), (1030, 1024), (1024, 1100)]
        for at, (n, m) in enumerate(sizes):
            cost = rng.random((n, m))
            if at % 4 == 1:
                cost = np.outer(rng.random(n), rng.random(m))
            elif at % 4 == 2:
                cost = rng.integers(0, 5, size=(n, m)).astype(float)
            elif at % 4 == 3:
                cost = np.where(cost < 0.2, np.inf, 1e6 * rng.normal(size=(n, m)))
            maximize = bool(at % 3 == 0)
            if maximize:
                cost = -cost
            try:
                other = optimize.linear_sum_assignment(cost, maximize)
            except ValueError:
                with pytest.raises(ValueError, match="cannot be matched"):
                    ordain.linear_assignment(cost, maximize=maximize)
                continue
            rows, cols, u, v = ordain.linear_assignment(cost, maximize=maximize, duals=True)
            assert len(rows) == min(n, m)
            assert (np.diff(rows) > 0).all()
            assert len(set(cols.tolist())) == len(cols)
            assert cost[rows, cols].sum() == pytest.approx(cost[other].sum(), rel=1e-9, abs=1e-9)
            assert u.sum() + v.sum() == pytest.approx(cost[other].sum(), rel=1e-9, abs=1e-9)
            check_duals(cost, rows, cols, u, v, -1.0 if maximize else 1.0)

    def test_types_and_layouts(self) -> None:
        cost = RNG(1).integers(-40, 40, size=(7, 9))
        expected = ordain.linear_assignment(cost.astype(float))
        unaligned = np.frombuffer(b"x" + cost.astype(float).tobytes(), np.uint8)[1:].view(float).reshape(7, 9)
        frozen = cost.astype(float)
        frozen.flags.writeable = False
        others: list[Any] = [
            cost,
            cost.astype(np.int8),
            cost.astype(np.float32),
            cost.astype(">f8"),
            np.asfortranarray(cost.astype(float)),
            np.repeat(np.repeat(cost.astype(float), 2, axis=0), 3, axis=1)[::2, ::3],
            unaligned,
            frozen,
            cost.tolist(),
        ]
        for other in others:
            found = ordain.linear_assignment(other)
            assert all((a == b).all() for a, b in zip(found, expected, strict=True))
        bits = RNG(2).random((4, 4)) < 0.5
        assert bits[ordain.linear_assignment(bits)].sum() == min(
            sum(bits[pair] for pair in pairs) for pairs in injections(4, 4)
        )

    def test_input_stays(self) -> None:
        cost = RNG(3).random((80, 60))
        kept = cost.copy()
        ordain.linear_assignment(cost, maximize=True, duals=True)
        assert (cost == kept).all()

    def test_empty(self) -> None:
        for shape in ((0, 0), (0, 3), (3, 0)):
            rows, cols, u, v = ordain.linear_assignment(np.empty(shape), duals=True)
            assert rows.shape == cols.shape == (0,)
            assert rows.dtype == cols.dtype == np.int64
            assert (u.tolist(), v.tolist()) == ([0.0] * shape[0], [0.0] * shape[1])

    @pytest.mark.parametrize("n", [4, 60])
    def test_wrong_values(self, n: int) -> None:
        cost = np.zeros((n, n))
        for value, maximize in ((np.nan, False), (-np.inf, False), (np.inf, True), (np.nan, True), (2e300, False)):
            cost[2, 3] = value
            with pytest.raises(ValueError, match=r"cost\[2, 3\]: expected .* found "):
                ordain.linear_assignment(cost, maximize=maximize)
        cost[:] = 0
        cost[1] = np.inf
        with pytest.raises(ValueError, match=r"row 1 .*cannot be matched"):
            ordain.linear_assignment(cost)

    def test_whole_numbers_that_a_double_does_not_hold(self) -> None:
        # nearest doubles would make these equal, and the dearer matching as good as the cheaper
        cost = 2**53 + np.array([[1, 0], [2, 0]], dtype=np.int64)
        for kind in (np.int64, np.uint64, ">i8", np.longlong):
            for layout in (cost, np.asfortranarray(cost), np.repeat(cost, 2, axis=1)[:, ::2]):
                with pytest.raises(ValueError, match=r"cost\[0, 0\]: .*2\*\*53.* found 9007199254740993; subtract"):
                    ordain.linear_assignment(layout.astype(kind))
        with pytest.raises(ValueError, match=r"cost\[1, 0\]: .* found -9223372036854775807; "):
            ordain.linear_assignment([[0, 0], [-(2**63) + 1, 0]])
        with pytest.raises(ValueError, match=r"cost\[0, 1\]: .* found 18446744073709551615; "):
            ordain.linear_assignment(np.array([[0, 2**64 - 1]], dtype=np.uint64))
        # what it says helps, with more rows than columns too, and what a double holds is taken whatever its size
        with pytest.raises(ValueError, match="subtract the same number from all costs, which changes no matching"):
            ordain.linear_assignment(cost[:, :1])
        rows, cols = ordain.linear_assignment(cost - 2**53)
        assert cols.tolist() == [0, 1]
        rows, cols = ordain.linear_assignment(cost[:, :1] - 2**53)
        assert (rows.tolist(), cols.tolist()) == ([0], [0])
        rows, cols = ordain.linear_assignment([[-(2**63), 0], [2**53, 2**62]])
        assert (rows.tolist(), cols.tolist()) == ([0, 1], [0, 1])
        rows, cols = ordain.linear_assignment(np.array([[2**63, 2]], dtype=np.uint64))
        assert cols.tolist() == [1]

    def test_wrong_arguments(self) -> None:
        wrong: list[Any] = [[1.0, 2.0], 3.0, np.zeros((2, 2, 2)), [["a"]], np.zeros((2, 2), complex), None]
        for value in wrong:
            with pytest.raises(ValueError, match="expected a matrix"):
                ordain.linear_assignment(value)
        with pytest.raises(TypeError):
            ordain.linear_assignment(np.zeros((2, 2)), True)  # type: ignore[misc, unused-ignore]

    def test_threads(self) -> None:
        problems = [RNG(k).random((k + 1, 2 * k + 1)) for k in range(40)]
        expected = [ordain.linear_assignment(cost)[1] for cost in problems]
        wrong: list[int] = []

        def go() -> None:
            for _ in range(5):
                for k, cost in enumerate(problems):
                    if (ordain.linear_assignment(cost)[1] != expected[k]).any():
                        wrong.append(k)

        threads = [threading.Thread(target=go) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        gc.collect()
        assert not wrong


def slow_sum(w: np.ndarray, null: tuple[np.ndarray, np.ndarray] | None) -> tuple[float, np.ndarray, dict[Any, float]]:
    """log Z, marginals and the law, over all matchings."""
    n, m = w.shape
    law: dict[Any, float] = {}
    for pairs in injections(n, m) if null is None else partial(n, m):
        score = sum(w[pair] for pair in pairs)
        if null is not None:
            score += sum(null[0][i] for i in range(n) if i not in [p[0] for p in pairs])
            score += sum(null[1][j] for j in range(m) if j not in [p[1] for p in pairs])
        columns = [-1] * n
        for i, j in pairs:
            columns[i] = j
        law[tuple(columns)] = float(np.exp(score))
    z = sum(law.values())
    law = {key: weight / z for key, weight in law.items()} if z > 0 else {}
    p = np.zeros((n, m))
    for columns, share in law.items():
        for i, j in enumerate(columns):
            if j >= 0:
                p[i, j] += share
    return (float(np.log(z)) if z > 0 else -np.inf), p, law


def nulls(rng: np.random.Generator, n: int, m: int) -> tuple[np.ndarray, np.ndarray]:
    return rng.normal(size=n), rng.normal(size=m)


class TestPermanent:
    @pytest.mark.parametrize("method", ["auto", "exact", "pruned"])
    @pytest.mark.parametrize("with_null", [False, True])
    def test_brute_force(self, method: Any, with_null: bool) -> None:
        rng = RNG(11)
        for at in range(120):
            n, m = rng.integers(0, 5, size=2).tolist()
            w = costs(rng, n, m, at % 2)
            w[rng.random((n, m)) < 0.25] = -np.inf
            null = nulls(rng, n, m) if with_null else None
            log_z, p, _ = slow_sum(w, null)
            if np.isinf(log_z):
                with pytest.raises(ValueError, match="cannot be matched"):
                    ordain.permanent(w, null=null, method=method)
                continue
            found = ordain.permanent(w, null=null, method=method)
            assert found.log_z == pytest.approx(log_z, abs=1e-9)
            np.testing.assert_allclose(found.marginals, p, atol=1e-9)
            assert (found.how, found.error) == ("exact", 0.0)

    def test_methods_say_how_near_they_are(self) -> None:
        w = RNG(4).normal(size=(6, 6))
        log_z, p, _ = slow_sum(w, None)
        for method, how, near in (
            ("bethe", "approximate", 0.2),
            ("sinkhorn", "approximate", 0.3),
            ("huber-law", "estimated", 0.1),
            ("deepar", "estimated", 0.1),
            ("importance", "estimated", 0.1),
            ("chain", "estimated", 0.1),
        ):
            found = ordain.permanent(w, method=method, seed=3)  # type: ignore[arg-type, unused-ignore]
            assert (found.how, found.method) == (how, method)
            assert (found.error is None) == (how == "approximate")
            assert np.abs(found.marginals - p).max() < near
            if how == "estimated" and method != "chain":
                assert abs(found.log_z - log_z) < 0.3
            again = ordain.permanent(w, method=method, seed=3)  # type: ignore[arg-type, unused-ignore]
            assert (again.marginals == found.marginals).all()

    def test_large(self) -> None:
        peaked = 40 * np.eye(30) + RNG(5).normal(size=(30, 30))
        found = ordain.permanent(peaked)
        assert found.how == "certified"
        assert found.error is not None
        assert 0 <= found.error < 1e-6
        np.testing.assert_allclose(found.marginals.sum(axis=0), 1, atol=1e-6)
        assert ordain.permanent(np.zeros((20, 20))).log_z == pytest.approx(np.log(np.arange(1, 21)).sum())

    def test_exact_sums_of_as_many_as_are_promised(self) -> None:
        # all matchings weigh the same: 26!, and each pair is in one of 26
        found = ordain.permanent(np.zeros((26, 26)), method="exact")
        assert (found.how, found.method) == ("exact", "exact")
        assert found.log_z == pytest.approx(math.lgamma(27), rel=1e-14)
        np.testing.assert_allclose(found.marginals, 1 / 26, atol=1e-11)
        found = ordain.permanent(np.zeros((23, 25)), method="exact")
        assert found.log_z == pytest.approx(math.lgamma(26) - math.lgamma(3), rel=1e-14)
        # with null the sum over the number k of pairs: C(n, k)² k!
        found = ordain.permanent(np.zeros((19, 19)), null=0.0, method="exact")
        assert found.log_z == pytest.approx(math.log(sum(math.comb(19, k) ** 2 * math.factorial(k) for k in range(20))))

    def test_one_null_for_all(self) -> None:
        w = RNG(6).normal(size=(2, 3))
        a = ordain.permanent(w, null=-1)
        b = ordain.permanent(w, null=(np.full(2, -1.0), np.full(3, -1.0)))
        c = ordain.permanent(w, null=(-1, -1.0))
        assert a.log_z == b.log_z == c.log_z

    def test_refusals(self) -> None:
        w = np.zeros((3, 3))
        w[1, 2] = np.nan
        with pytest.raises(ValueError, match=r"log_weights\[1, 2\]"):
            ordain.permanent(w)
        w[1, 2] = np.inf
        with pytest.raises(ValueError, match=r"log_weights\[1, 2\]"):
            ordain.permanent(w)
        w[1, 2] = 0
        with pytest.raises(ValueError, match='did you mean "exact"'):
            ordain.permanent(w, method="exakt")  # type: ignore[arg-type, unused-ignore]
        with pytest.raises(ValueError, match="null: expected"):
            ordain.permanent(w, null=([1.0, 2.0], 0.0))
        with pytest.raises(ValueError, match="null: expected"):
            ordain.permanent(w, null=np.nan)
        with pytest.raises(ValueError, match="seed: expected"):
            ordain.permanent(w, seed=-1)
        for shape, null, most in (((27, 27), None, "22"), ((23, 30), None, "22"), ((23, 23), 0.0, "22")):
            with pytest.raises(ValueError, match=f'at most {most} items .*method="auto", found {shape[0]} items'):
                ordain.permanent(np.zeros(shape), null=null, method="exact")
        with pytest.raises(ValueError, match="2 dimension"):
            ordain.permanent([1.0, 2.0])


class TestSampleMatchings:
    @pytest.mark.parametrize("method", ["auto", "exact", "deepar", "huber-law", "chain"])
    @pytest.mark.parametrize("shape", [(3, 3), (2, 4), (4, 2), (1, 1)])
    @pytest.mark.parametrize("with_null", [False, True])
    def test_frequencies(self, method: Any, shape: tuple[int, int], with_null: bool) -> None:
        rng = RNG(21)
        w = rng.normal(size=shape)
        w[0, -1] = -np.inf if shape != (1, 1) else 0.0
        null = nulls(rng, *shape) if with_null else None
        if method == "exact" and with_null:
            with pytest.raises(ValueError, match="no null"):
                ordain.sample_matchings(w, 1, null=null, method=method)
            return
        count = 4000
        samples = ordain.sample_matchings(w, count, null=null, method=method, seed=1)
        assert samples.shape == (count, shape[0])
        assert samples.dtype == np.int64
        _, _, law = slow_sum(w, null)
        seen, counts = np.unique(samples, axis=0, return_counts=True)
        assert all(law.get(tuple(columns), 0.0) > 0 for columns in seen.tolist())
        shares = dict(zip(map(tuple, seen.tolist()), counts / count, strict=True))
        wide = 12 if method == "chain" else 5
        for columns, p in law.items():
            assert abs(shares.get(columns, 0.0) - p) <= wide * np.sqrt(p * (1 - p) / count) + 1e-9

    def test_seeds(self) -> None:
        w = RNG(1).normal(size=(8, 8))
        a, b, c = (ordain.sample_matchings(w, 20, seed=seed) for seed in (1, 1, 2))
        assert (a == b).all()
        assert (a != c).any()

    def test_peaked_weights_are_exact_too(self) -> None:
        w = np.where(np.eye(20, dtype=bool), 500.0, 0.0)
        assert (ordain.sample_matchings(w, 5) == np.arange(20)).all()

    def test_empty(self) -> None:
        assert ordain.sample_matchings(np.zeros((3, 3)), 0).shape == (0, 3)
        assert ordain.sample_matchings(np.zeros((0, 3)), 2).shape == (2, 0)
        assert (ordain.sample_matchings(np.zeros((3, 0)), 2) == -1).all()

    def test_refusals(self) -> None:
        w = np.zeros((3, 2))
        w[:, 1] = -np.inf
        for method in ("auto", "deepar", "chain"):
            with pytest.raises(ValueError, match=r"column 1 .*cannot be matched"):
                ordain.sample_matchings(w, 1, method=method)  # type: ignore[arg-type, unused-ignore]
        with pytest.raises(ValueError, match="unknown method"):
            ordain.sample_matchings(w, 1, method="bethe")  # type: ignore[arg-type, unused-ignore]
        with pytest.raises(ValueError, match="n: expected"):
            ordain.sample_matchings(w, -1)
        with pytest.raises(MemoryError):
            ordain.sample_matchings(np.zeros((3, 3)), 2**62)


class TestQuadraticAssignment:
    @staticmethod
    def value(A: np.ndarray, B: np.ndarray, linear: np.ndarray | None, p: Any) -> float:
        p = np.asarray(p, dtype=int)
        total = (A * B[np.ix_(p, p)]).sum()
        return float(total if linear is None else total + linear[np.arange(len(p)), p].sum())

    def problem(self, rng: np.random.Generator, n: int, at: int) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
        """Whole or real numbers, symmetric or not, with a linear term or without."""
        draw: Any = (lambda size: rng.integers(-4, 9, size=size)) if at % 2 else (lambda size: rng.normal(size=size))
        A, B = draw((n, n)), draw((n, n))
        if at % 3 == 0:
            A = A + A.T
        if at % 5 < 2:
            B = B + B.T
        return A, B, draw((n, n)) if at % 4 < 2 else None

    def test_brute_force(self) -> None:
        rng = RNG(51)
        for at in range(60):
            n = int(rng.integers(0, 6))
            A, B, linear = self.problem(rng, n, at)
            values = [self.value(A, B, linear, p) for p in itertools.permutations(range(n))]
            for maximize in (False, True):
                found = ordain.quadratic_assignment(A, B, linear, maximize=maximize)
                best = max(values) if maximize else min(values)
                assert found.fun == pytest.approx(best, abs=1e-9)
                assert self.value(A, B, linear, found.col_ind) == pytest.approx(best, abs=1e-9)
                assert found.col_ind.dtype == np.int64
                assert found.proven
                assert found.bound == found.fun
                assert found.gap == 0

    @pytest.mark.parametrize("bound", ["auto", "none", "gilmore-lawler", "hahn-grant", "projection"])
    def test_bounds_and_search(self, bound: Any) -> None:
        rng = RNG(52)
        A, B = rng.integers(0, 10, size=(2, 12, 12))
        A, B = A + A.T, B + B.T
        known = ordain.quadratic_assignment(A, B, steps=60_000, bound="none")
        for maximize in (False, True):
            found = ordain.quadratic_assignment(A, B, maximize=maximize, steps=20_000, seed=3, bound=bound)
            assert sorted(found.col_ind.tolist()) == list(range(12))
            assert found.fun == self.value(A, B, None, found.col_ind)  # whole numbers are exact
            assert found.gap == (found.bound - found.fun if maximize else found.fun - found.bound)
            assert found.gap >= 0
            assert math.isinf(found.gap) == (bound == "none")
            assert found.bound >= found.fun if maximize else found.bound <= known.fun
            again = ordain.quadratic_assignment(A, B, maximize=maximize, steps=20_000, seed=3, bound=bound)
            assert (again.col_ind == found.col_ind).all()
            assert found.nit == again.nit <= 20_000

    def test_scipy(self) -> None:
        optimize = pytest.importorskip("scipy.optimize")
        rng = RNG(53)
        for at in range(6):
            A, B, _ = self.problem(rng, 15, at)
            for maximize in (False, True):
                other = optimize.quadratic_assignment(A, B, options={"maximize": maximize})
                found = ordain.quadratic_assignment(A, B, maximize=maximize, steps=20_000, bound="gilmore-lawler")
                assert set(other) <= set(found)
                assert found["fun"] >= other["fun"] if maximize else found["fun"] <= other["fun"]
                # its assignments have the value that it says, and none passes the bound
                assert self.value(A, B, None, other.col_ind) == pytest.approx(other.fun)
                assert (found.bound >= other.fun) if maximize else (found.bound <= other.fun)

    def test_whole_numbers_that_a_double_does_not_hold_are_refused(self) -> None:
        small, large = np.array([[0, 1], [2, 0]]), np.array([[0, 2**53 + 1], [2, 0]])
        for what, given in (("A", (large, small)), ("B", (small, large)), ("linear", (small, small, large))):
            for kind in (np.int64, np.uint64, ">i8"):
                changed = [matrix.astype(kind) for matrix in given]
                with pytest.raises(ValueError, match=rf"{what}\[0, 1\]: .*2\*\*53.* found 9007199254740993; divide"):
                    ordain.quadratic_assignment(*changed)
        with pytest.raises(ValueError, match=r"A\[1, 0\]: .* found -9223372036854775807; "):
            ordain.quadratic_assignment([[0, 0], [-(2**63) + 1, 0]], small)
        # what a double holds is taken whatever its size
        assert ordain.quadratic_assignment([[0, 2**60], [0, 0]], [[0, 1], [3, 0]]).fun == 2**60

    def test_results_are_like_those_of_scipy(self) -> None:
        found = ordain.quadratic_assignment([[0, 1], [2, 0]], [[0, 3], [4, 0]])
        assert (found["fun"], found.fun, found.nit) == (10.0, 10.0, 2)
        assert list(found) == ["col_ind", "fun", "bound", "gap", "proven", "nit"]
        assert {"fun", "keys"} <= set(dir(found))
        found.note = "mine"
        assert found["note"] == "mine"
        del found.note
        with pytest.raises(AttributeError, match="note"):
            found.note  # noqa: B018
        copy = pickle.loads(pickle.dumps(found))
        assert type(copy) is type(found)
        assert copy.fun == 10.0

    def test_time_is_a_limit(self) -> None:
        A, B = RNG(54).random((2, 40, 40))
        assert ordain.quadratic_assignment(A, B, seconds=0).nit == 0
        for found in (ordain.quadratic_assignment(A, B, seconds=seconds) for seconds in (0, 0.02)):
            assert sorted(found.col_ind.tolist()) == list(range(40))
            assert found.fun == pytest.approx(self.value(A, B, None, found.col_ind))

    def test_refusals(self) -> None:
        square = np.ones((3, 3))
        for wrong, message in [
            (np.ones((3, 2)), r"B: expected the shape \(3, 3\)"),
            (np.ones((2, 2)), r"B: expected the shape \(3, 3\)"),
            (np.ones(3), "B: expected numbers in 2 dimension"),
            (np.array([["a"] * 3] * 3), "B: expected numbers"),
            (np.full((3, 3), np.nan), r"B\[0, 0\]: expected a finite number, found nan"),
            (np.full((3, 3), 1e300), "divide the entries by a common factor"),
        ]:
            with pytest.raises(ValueError, match=message):
                ordain.quadratic_assignment(square * 1e10, wrong)
        with pytest.raises(ValueError, match="linear: expected"):
            ordain.quadratic_assignment(square, square, "2opt")
        with pytest.raises(ValueError, match=r"linear\[1, 2\]"):
            ordain.quadratic_assignment(square, square, [[0, 0, 0], [0, 0, np.inf], [0, 0, 0]])
        with pytest.raises(ValueError, match='unknown bound "projetion": did you mean "projection"'):
            ordain.quadratic_assignment(square, square, bound="projetion")  # type: ignore[arg-type, unused-ignore]
        with pytest.raises(ValueError, match="symmetric A or B"):
            ordain.quadratic_assignment(np.arange(9).reshape(3, 3), np.arange(9).reshape(3, 3), bound="projection")
        with pytest.raises(ValueError, match="seconds: expected"):
            ordain.quadratic_assignment(square, square, seconds=-1.0)
        with pytest.raises(ValueError, match="steps: expected"):
            ordain.quadratic_assignment(square, square, steps=1.5)  # type: ignore[arg-type, unused-ignore]
        with pytest.raises(ValueError, match="seed: expected"):
            ordain.quadratic_assignment(square, square, seed=-1)


def slow_top_k(s: np.ndarray, c: np.ndarray) -> tuple[float, np.ndarray]:
    k = min(len(c), len(s))
    p = np.zeros((len(s), len(c)))
    orders = list(itertools.permutations(range(len(s)), k))
    weights = np.array([np.exp(sum(s[i] * c[j] for j, i in enumerate(order))) for order in orders])
    for order, weight in zip(orders, weights / weights.sum(), strict=True):
        for j, i in enumerate(order):
            p[i, j] += weight
    return float(np.log(weights.sum())), p


class TestTopK:
    def test_brute_force(self) -> None:
        rng = RNG(31)
        for at in range(80):
            n, k = int(rng.integers(0, 6)), int(rng.integers(0, 5))
            s = rng.normal(size=n) if at % 2 else rng.integers(-2, 3, size=n).astype(float)
            c = np.sort(rng.choice([0.0, 0.5, 1.0, 2.5], size=k))[::-1]
            log_z, p = slow_top_k(s, c)
            found = ordain.top_k_marginals(s, k, discounts=c)
            assert found.log_z == pytest.approx(log_z, abs=1e-9)
            np.testing.assert_allclose(found.marginals, p, atol=1e-9)
            np.testing.assert_allclose(found.first_k, p.sum(axis=1), atol=1e-9)

    def test_usual_discounts(self) -> None:
        s = RNG(2).normal(size=5)
        c = 1 / np.log2(1 + np.arange(1, 4))
        np.testing.assert_allclose(ordain.top_k_marginals(s, 3).marginals, slow_top_k(s, c)[1], atol=1e-12)

    def test_refusals(self) -> None:
        with pytest.raises(ValueError, match=r"scores\[1\]"):
            ordain.top_k_marginals([1.0, np.nan], 1)
        with pytest.raises(ValueError, match="at most 16"):
            ordain.top_k_marginals(np.zeros(20), 17)
        with pytest.raises(ValueError, match="at most 16"):
            ordain.top_k_marginals(np.zeros(2), 2**62)
        for wrong in ([1.0], [0.5, 1.0], [1.0, -1.0], [np.nan, 0.0]):
            with pytest.raises(ValueError, match="discounts: expected 2 numbers"):
                ordain.top_k_marginals(np.zeros(3), 2, discounts=wrong)
        with pytest.raises(ValueError, match="k: expected"):
            ordain.top_k_marginals(np.zeros(3), 1.5)  # type: ignore[arg-type, unused-ignore]


def test_a_pair_of_nulls_is_a_tuple():
    weights = np.zeros((2, 2))
    for null in ([1.0, 5.0], np.array([1.0, 5.0])):
        both = ordain.permanent(weights, null=(np.array([1.0, 5.0]), np.array([1.0, 5.0])))
        assert ordain.permanent(weights, null=null).log_z == both.log_z


def test_weights_beyond_numbers_are_refused():
    steep = np.random.default_rng(1).normal(size=(6, 6)) * 1e20
    for call in (lambda: ordain.permanent(steep), lambda: ordain.top_k_marginals(steep[0], 3)):
        with pytest.raises(ValueError, match="expected a number of at most 1e15"):
            call()
