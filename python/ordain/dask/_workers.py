"""What lives on workers: blocks of rows as they came, and the shards of a set that they make together."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from typing import Any

import distributed
import numpy as np

from .. import _ordain, ranking
from .._input import column
from ..matching import _IDS


class _Block:
    """Units of a file or of a part of a frame; nothing of an empty part. What a file held travels as its name."""

    def __init__(self, block: Any, recipe: tuple[Any, ...] | None = None) -> None:
        self.block, self.recipe = block, recipe

    def __reduce__(self) -> Any:
        if self.recipe is not None:
            return _read, self.recipe
        return _again, (None if self.block is None else self.block.state() or self.block.problem_state(),)

    def __sizeof__(self) -> int:
        return 64 if self.block is None else int(self.block.about()[3])


def _again(state: tuple[Any, ...] | None) -> _Block:
    """A block that was elsewhere."""
    if state is None:
        return _Block(None)
    x, *rest = state
    if isinstance(x, tuple):
        values, indices, starts, cols = x
        x = (np.asarray(starts, dtype=np.int64), np.asarray(indices, dtype=np.int64), values, cols)
    made = _ordain.Block.of_problem_state if len(rest) == 2 else _ordain.Block.of_state
    return _Block(made(_aligned(x), *map(_aligned, rest)))


def _aligned(x: Any) -> Any:
    """An array as the compiled half reads it: what came in a message may stand at an odd address."""
    if isinstance(x, tuple):
        return tuple(map(_aligned, x))
    return np.require(x, requirements=["C", "A"]) if isinstance(x, np.ndarray) else x


def _threads() -> int | None:
    """The threads of this worker."""
    try:
        return int(distributed.get_worker().state.nthreads)
    except (ValueError, AttributeError):
        return None


def _read(kind: str, path: str, columns: dict[str, Any], missing: str) -> _Block:
    """The units of a file."""
    return _Block(_ordain.Block.read(kind, path, columns, missing, _threads()), (kind, path, columns, missing))


def _take_queries(X: Any, y: Any, qid: Any, weight: Any, kind: Any, roles: dict[str, Any], missing: str) -> _Block:
    """The queries of a part of a frame, or of chunks of arrays."""
    if len(X) == 0:
        return _Block(None)
    one = kind()
    names = {what: name for what, name in roles.items() if isinstance(name, str)}
    data = one._table(X, names | {"ignore": roles["ignore"], "inputs": []})
    n = data.shape[0]
    grades = column(X[names["label"]] if "label" in names else y, "y", n)
    queries = one._queries(data, None if "query" in names else qid)
    weights = X[names["weight"]] if "weight" in names else weight
    weights = None if weights is None else ranking._weights(weights, n)
    rows, grades, queries, weights = map(_aligned, (data.rows, grades, queries, weights))
    return _Block(_ordain.Block.of_rows(rows, data.names, grades, queries, weights, roles, missing))


def _take_problems(
    X: Any, y: Any, problem: Any, left: Any, right: Any, kind: Any, roles: dict[str, Any], missing: str
) -> _Block:
    """The problems of a part of a frame, or of chunks of arrays."""
    if len(X) == 0:
        return _Block(None)
    one = kind()
    one._given_roles = {what: name for what, name in roles.items() if isinstance(name, str)} | {
        "ignore": roles["ignore"],
        "inputs": [],
    }
    data = one._table(X)
    truth = column(X[roles["matched"]] if isinstance(roles["matched"], str) else y, "y", data.shape[0], gaps=True)
    of = [None if isinstance(roles[what], str) else ids for what, ids in zip(_IDS, (problem, left, right), strict=True)]
    edges = one._edges(data, (of[0], of[1], of[2]))
    if edges[0] is None:
        raise ValueError("problem: expected a problem for each edge on several machines, found none")
    rows, truth, of_, left, right = map(_aligned, (data.rows, truth, *edges))
    return _Block(_ordain.Block.of_edges(rows, data.names, truth, of_, left, right, roles, missing))


def _outline(block: _Block) -> tuple[Any, ...] | None:
    """What a fit has to know of a block."""
    if block.block is None:
        return None
    return (block.block.columns(), *block.block.outline(), *block.block.about())


def _problems(block: _Block) -> bytes:
    """The problems of a block, without the features of their edges."""
    return bytes(block.block.problems())


def _name(block: _Block, unit: int) -> str:
    """The name of a unit."""
    return str(block.block.name(unit))


def _part(block: _Block, start: int, end: int) -> _Block:
    """Some units of a block."""
    return _Block(block.block.part(start, end))


class _Shard:
    """Pieces of the set. It travels as what it is made of: a file by its name."""

    def __init__(self, block: _Block, plan: str, joint: _Block) -> None:
        # the rows of a file are in the shard alone
        own = block if block.recipe is None else _File(block.recipe)
        self.recipe = (own, plan, joint)
        self.shard = _ordain.Shard(block.block, joint.block, plan)
        self.size = block.__sizeof__() + (joint.__sizeof__() if joint.block is not None else 0)

    def __reduce__(self) -> Any:
        return _Shard, self.recipe

    def __sizeof__(self) -> int:
        return self.size


class _File:
    """A file that is read where it arrives."""

    def __init__(self, recipe: tuple[Any, ...]) -> None:
        self.recipe = recipe

    def __reduce__(self) -> Any:
        return _read, self.recipe


def _shard(block: _Block, plan: str, rows: Sequence[int], *fragments: _Block) -> _Shard:
    pairs = [(one.block, row) for one, row in zip(fragments, rows, strict=True)]
    joint = _Block(_ordain.Block.stacked(pairs, plan) if pairs else None)
    whole = json.loads(plan)["whole"]
    if whole["start"] == whole["end"] and block.recipe is None:
        block = _part(block, 0, 0)  # all of its rows are in pieces that it shares
    return _Shard(block, plan, joint)


def _transformed(shard: _Shard, by: bytes) -> _Transformed:
    return _Transformed(shard, by)


class _Transformed:
    """A shard with its columns transformed."""

    def __init__(self, shard: _Shard, by: bytes) -> None:
        self.recipe, self.size = (*shard.recipe, by), shard.size
        self.shard = shard.shard.transformed(by, _threads())

    def __reduce__(self) -> Any:
        return _transformed_again, self.recipe

    def __sizeof__(self) -> int:
        return self.size


def _transformed_again(block: _Block, plan: str, joint: _Block, by: bytes) -> Any:
    return _Transformed(_Shard(block, plan, joint), by)


def _answer(shard: _Shard | _Transformed, common: bytes, own: bytes) -> tuple[bytes, float, str]:
    """The answer of a shard, the seconds that it took, and where that was."""
    start = time.perf_counter()
    answer = bytes(shard.shard.answer(common, own, _threads()))
    return answer, time.perf_counter() - start, str(distributed.get_worker().address)


def _version() -> str:
    return _ordain.__version__
