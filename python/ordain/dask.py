"""Fits on a Dask cluster, with the bytes of a fit on one machine.

Every worker keeps queries, and is asked for sums over them; the fit itself runs where it was called. A question says
everything that its answer depends on, so a worker may be lost at any time: Dask makes its part of the data anew, and
the model is the same.

>>> from dask.distributed import Client  # doctest: +SKIP
>>> from ordain.dask import RankSVM  # doctest: +SKIP
>>> model = RankSVM(client=Client(), transform_="none").fit(ddf, "label", "qid")  # doctest: +SKIP
>>> model.local_.save("model.ordain")  # doctest: +SKIP
"""

from __future__ import annotations

import glob
import json
import os
import uuid
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from . import _ordain, ranking
from ._base import _NO_COLUMNS, Callback
from ._input import Table, column, columns_of, ids, named

try:
    import dask
    import distributed
    from distributed.scheduler import KilledWorker
except ImportError as error:
    raise ImportError('ordain.dask needs Dask: pip install "dask[dataframe]" distributed') from error

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["Dorm", "ListNet", "RankMatch", "RankSVM"]


# What lives on workers.


class _Block:
    """Queries of a file or of a part of a frame; nothing of an empty part. What a file held travels as its name."""

    def __init__(self, block: Any, recipe: tuple[Any, ...] | None = None) -> None:
        self.block, self.recipe = block, recipe

    def __reduce__(self) -> Any:
        if self.recipe is not None:
            return _read, self.recipe
        return _again, (None if self.block is None else self.block.state(),)

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
    return _Block(_ordain.Block.of_state(_aligned(x), *map(_aligned, rest)))


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


def _read(path: str, columns: dict[str, Any], missing: str) -> _Block:
    """The queries of a file."""
    return _Block(_ordain.Block.read(path, columns, missing, _threads()), (path, columns, missing))


def _take(X: Any, y: Any, qid: Any, weight: Any, kind: Any, roles: dict[str, Any], missing: str) -> _Block:
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


def _outline(block: _Block) -> tuple[Any, ...] | None:
    """What a fit has to know of a block."""
    if block.block is None:
        return None
    return (block.block.columns(), *block.block.outline(), *block.block.about())


def _name(block: _Block, query: int) -> str:
    """The name of a query."""
    return str(block.block.query(query))


def _part(block: _Block, start: int, end: int) -> _Block:
    """Some queries of a block."""
    return _Block(block.block.part(start, end))


class _Shard:
    """Pieces of the set. It travels as what it is made of: a file by its name."""

    def __init__(self, block: _Block, plan: str, rows: Sequence[int], fragments: Sequence[_Block]) -> None:
        # the rows of a file are in the shard alone
        own = block if block.recipe is None else _File(block.recipe)
        self.recipe = (own, plan, rows, fragments)
        pairs = [(one.block, row) for one, row in zip(fragments, rows, strict=True)]
        self.shard = _ordain.Shard(block.block, pairs, plan)
        self.size = block.__sizeof__()

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
    return _Shard(block, plan, rows, fragments)


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


def _transformed_again(block: _Block, plan: str, rows: Sequence[int], fragments: Sequence[_Block], by: bytes) -> Any:
    return _Transformed(_Shard(block, plan, rows, fragments), by)


def _answer(shard: _Shard | _Transformed, common: bytes, own: bytes) -> bytes:
    return bytes(shard.shard.answer(common, own, _threads()))


def _version() -> str:
    return _ordain.__version__


# Where the fit runs.


def _release(futures: Iterable[Any]) -> None:
    """Gives free what futures hold, whoever knows them."""
    for future in futures:
        future.release()


class _Waiting:
    """A question that was asked."""

    def __init__(self, pool: _Pool, futures: list[Any]) -> None:
        self.pool, self.futures = pool, futures

    def wait(self, seconds: float) -> list[bytes] | None:
        """The answers; None where they are not there yet."""
        try:
            distributed.wait(self.futures, timeout=seconds)
        except (TimeoutError, distributed.TimeoutError):
            if not any(future.status == "error" for future in self.futures):
                return None
        return self.pool.gather(self.futures)

    def cancel(self) -> None:
        """Nobody wants the answers."""
        self.pool.client.cancel(self.futures)
        _release(self.futures)


class _Pool:
    """Shards on workers."""

    def __init__(self, client: Any, handles: list[Any], names: list[str], sizes: list[int], held: list[Any]) -> None:
        self.client, self.handles, self.names, self.sizes, self.held = client, handles, names, sizes, held

    def ask(self, common: bytes, own: list[bytes]) -> _Waiting:
        """Asks every shard."""
        run = uuid.uuid4().hex
        futures = [
            self.client.submit(_answer, handle, common, mask, key=f"ordain-answer-{run}-{n}", pure=False)
            for n, (handle, mask) in enumerate(zip(self.handles, own, strict=True))
        ]
        return _Waiting(self, futures)

    def transform(self, by: bytes) -> None:
        """Puts transformed shards in the place of the shards."""
        run = uuid.uuid4().hex
        made = [
            self.client.submit(_transformed, handle, by, key=f"ordain-transformed-{run}-{n}")
            for n, handle in enumerate(self.handles)
        ]
        self.held += made
        self.made(made)
        _release(self.handles)
        self.handles = made

    def made(self, handles: list[Any]) -> None:
        """Waits for shards; one that cannot be made says why."""
        distributed.wait(handles)
        failed = [handle for handle in handles if handle.status == "error"]
        if failed:
            self.gather(failed)

    def gather(self, futures: list[Any]) -> list[Any]:
        """What came of futures, one for each shard or block."""
        try:
            return list(self.client.gather(futures))
        except KilledWorker as error:
            said = self.killed(error, futures)
            _release(futures)
            raise said from error
        except BaseException:
            _release(futures)  # an error knows its frames, and they know the futures
            raise

    def killed(self, error: Any, futures: list[Any]) -> MemoryError:
        """What to say where workers end again and again."""
        limits = [worker["memory_limit"] for worker in self.client.scheduler_info(n_workers=-1)["workers"].values()]
        limit = f"a worker has {min(limits) / 1e9:.3g} GB" if limits and min(limits) else "workers have no limit"
        at = next((n for n, future in enumerate(futures) if future.key == error.task), None)
        what = "a part of the data" if at is None else f"part {at + 1} of {len(self.names)} ({self.names[at]})"
        size = "" if at is None or not self.sizes[at] else f", its features take {self.sizes[at] / 1e9:.3g} GB"
        return MemoryError(
            f"{what} ended {error.allowed_failures + 1} workers; the usual cause is "
            f"memory: {limit}{size}. Write the data as more and smaller files or partitions, or give workers more"
        )


def _client(client: Any) -> Any:
    """The client that is meant, of a cluster whose workers have this version."""
    if client is None:
        try:
            client = distributed.get_client()
        except ValueError as error:
            raise ValueError(
                "client: expected a dask.distributed.Client, found none; Client() starts workers here"
            ) from error
    if not client.scheduler_info(n_workers=-1)["workers"]:
        client.wait_for_workers(1, timeout=60)
    own = _version()
    # a worker that ends meanwhile has no version
    for worker, found in client.run(_version, on_error="ignore").items():
        if found != own:
            raise RuntimeError(f"worker {worker}: expected ordain {own} as here, found {found}: models would differ")
    return client


class _Data:
    """Blocks of queries on workers, and what is known of them here."""

    def __init__(self, client: Any, blocks: list[Any], names: list[str], first_valid: int | None) -> None:
        self.client, self.names = client, names
        pool = _Pool(client, blocks, names, [0] * len(blocks), [])
        outlines = pool.gather([client.submit(_outline, block, pure=False) for block in blocks])
        kept = [n for n, outline in enumerate(outlines) if outline is not None]
        if not kept:
            raise ValueError("expected rows, found none: every partition is empty")
        self.blocks, self.names = [blocks[n] for n in kept], [names[n] for n in kept]
        outlines = [outlines[n] for n in kept]
        self.columns = outlines[0][0]
        self.sizes: list[Any] = [_aligned(outline[1]) for outline in outlines]
        self.weighted = bool(outlines[0][4])
        self.bytes: list[int] = [outline[6] for outline in outlines]
        self.starts = np.concatenate([[0], np.cumsum([len(sizes) for sizes in self.sizes])])
        valid = None if first_valid is None else sum(n < first_valid for n in kept)
        self.valid_from = None if valid is None else int(self.starts[valid])
        self._alike(outlines)
        hashes = [outline[2] for outline in outlines]
        for part in (slice(0, valid), slice(valid, None)) if valid is not None else (slice(None),):
            self._whole(hashes[part], part.start or 0)

    def _alike(self, outlines: list[Any]) -> None:
        """Refuses blocks that do not belong together."""
        first, known = outlines[0], json.loads(outlines[0][0])
        for outline, name in zip(outlines, self.names, strict=True):
            own = json.loads(outline[0])
            if own["numbered"] != known["numbered"] or set(own["names"]) != set(known["names"]):
                more, less = (sorted(set(a["names"]) - set(b["names"])) for a, b in ((own, known), (known, own)))
                raise ValueError(
                    f"{name}: expected the columns of {self.names[0]}, found {more[:5]} more and {less[:5]} less; "
                    "files of LETOR text have the same columns where in each of them some row has the last feature"
                )
            if not outline[3]:
                raise ValueError(f"{name}: expected grades (a column named label), found none")
            for at, what in ((4, "weights"), (5, "sparse features")):
                if outline[at] != first[at]:
                    has = ["without", "with"]
                    expected, found = (f"rows {has[one[at]]} {what}" for one in (first, outline))
                    raise ValueError(f"{name}: expected {expected} as in {self.names[0]}, found {found}")

    def _whole(self, hashes: list[Any], first: int) -> None:
        """Refuses a query in two blocks."""
        if not hashes:
            return
        everything = np.concatenate(hashes)
        order = np.argsort(everything, kind="stable")
        same = np.flatnonzero(everything[order[1:]] == everything[order[:-1]])
        starts = np.concatenate([[0], np.cumsum([len(one) for one in hashes])])
        for at in same:
            places = [(int(np.searchsorted(starts, row, "right")) - 1, row) for row in order[at : at + 2]]
            (a, b) = (
                self.client.submit(_name, self.blocks[first + n], int(row - starts[n]), pure=False).result()
                for n, row in places
            )
            if a == b:
                one, two = (self.names[first + n] for n, _ in places)
                raise ValueError(
                    f"query {a!r} is in {one} and in {two}: a query has to be whole in one of them; write files query "
                    'by query, or of a frame pass shuffle="qid"'
                )

    def shards(self, held: list[Any]) -> tuple[_Pool, list[tuple[int, int]]]:
        """The shards that blocks make, and their pieces; the blocks are given free, and shards stand in their place."""
        run, client = uuid.uuid4().hex, self.client
        rows = np.concatenate([[0], np.cumsum([int(sizes.sum()) for sizes in self.sizes])])
        blocks = list(held)
        handles, names, sizes, runs = [], [], [], []
        for n, (first, end, plan, needs) in enumerate(_ordain.layouts(self.columns, self.sizes)):
            if first == end:
                continue
            parts = [
                client.submit(_part, self.blocks[block], a, b, key=f"ordain-part-{run}-{n}-{block}")
                for block, a, b in needs
            ]
            held += parts
            starts = [int(rows[block]) for block, *_ in needs]
            handles.append(client.submit(_shard, self.blocks[n], plan, starts, *parts, key=f"ordain-shard-{run}-{n}"))
            held.append(handles[-1])
            blocks += parts
            names.append(self.names[n])
            sizes.append(self.bytes[n])
            runs.append((first, end))
        pool = _Pool(client, handles, names, sizes, held)
        pool.made(handles)
        _release(blocks)
        return pool, runs


class _Ranker:
    """A ranker whose rows are on workers of Dask: the parameters are those of the ranker on one machine.

    `client` is a `dask.distributed.Client`, by default the one of this process. After `fit`, `local_` is the ordinary
    estimator, whose file is byte for byte that of a fit on one machine.
    """

    _kind: ClassVar[Any]

    def __init__(self, *, client: Any = None, **settings: Any) -> None:
        self.client = client
        self._local = self._kind(**settings)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters."""
        return {"client": self.client, **self._local.get_params(deep=deep)}

    def set_params(self, **params: Any) -> Self:
        """Changes parameters."""
        if "client" in params:
            self.client = params.pop("client")
        self._local.set_params(**params)
        return self

    def fit(
        self,
        X: Any,
        y: Any = "label",
        qid: Any = "qid",
        *,
        sample_weight: Any = None,
        ignore: Iterable[str] = (),
        eval_set: Any = None,
        shuffle: str | None = None,
        callbacks: Iterable[Callback] | Callback | None = None,
    ) -> Self:
        """Learns from a dask DataFrame with columns `y` and `qid`, or from dask arrays `X`, `y` and `qid`.

        Every query has to be whole in one partition; with `shuffle="qid"` rows of a frame are exchanged until that is
        so, and the model is the one of that order of rows. `eval_set` is another frame, or a tuple of arrays, to choose
        on.
        """
        client, missing = _client(self.client), self._checked()
        if shuffle not in (None, "qid"):
            raise ValueError(f"shuffle: expected None or 'qid', found {shuffle!r}")
        given: dict[str, Any] = {"label": y, "query": qid, "weight": sample_weight}
        roles = _NO_COLUMNS | {"ignore": [ignore] if isinstance(ignore, str) else list(ignore)}
        if columns_of(X):
            names, left = named(X, given, ignore)
            roles |= names | {"ignore": left}
        first = self._partitions(X, given, roles, missing, shuffle)
        parts, valid = first, None
        if eval_set is not None:
            more = dict(given)
            if isinstance(eval_set, (tuple, list)):
                X, *rest = eval_set
                more |= dict(zip(("label", "query"), rest, strict=False))
            else:
                X = eval_set
            parts = first + self._partitions(X, more, roles, missing, shuffle)
            valid = len(first)
        names_of = [f"partition {n}" for n in range(len(first))]
        names_of += [f"partition {n} of eval_set" for n in range(len(parts) - len(first))]
        return self._fit(client, list(client.compute(parts)), names_of, valid, callbacks)

    def _partitions(
        self, X: Any, given: dict[str, Any], roles: dict[str, Any], missing: str, shuffle: Any
    ) -> list[Any]:
        """The blocks of a frame or of arrays, to be made by workers."""
        take = dask.delayed(_take, pure=False)
        if columns_of(X):
            for what in ("label", "query"):
                if not isinstance(given[what], str):
                    raise ValueError(f"{what}: expected the name of a column of X, found {type(given[what]).__name__}")
            if shuffle is not None:
                X = X.shuffle(given["query"])
            return [take(part, None, None, None, self._kind, roles, missing) for part in X.to_delayed()]
        if shuffle is not None:
            raise ValueError("shuffle: expected a dask DataFrame, found arrays")
        if not hasattr(X, "chunks"):
            raise ValueError(f"X: expected a dask DataFrame or a dask array, found {type(X).__name__}")
        X = X.rechunk({1: -1})
        lists = []
        for what in ("label", "query", "weight"):
            values = given[what]
            if values is None and what == "weight":
                lists.append([None] * len(X.chunks[0]))
                continue
            if not hasattr(values, "chunks"):
                raise ValueError(f"{what}: expected a dask array as X is one, found {type(values).__name__}")
            lists.append(values.rechunk((X.chunks[0],)).to_delayed().ravel().tolist())
        rows = zip(X.to_delayed().ravel().tolist(), *lists, strict=True)
        return [take(x, y, qid, weight, self._kind, roles, missing) for x, y, qid, weight in rows]

    def fit_files(
        self,
        files: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
        *,
        label: str | None = None,
        qid: str | None = None,
        docid: str | None = None,
        weight: str | None = None,
        ignore: Iterable[str] = (),
        features: Iterable[str] | None = None,
        valid: str | os.PathLike[str] | Iterable[str | os.PathLike[str]] | None = None,
        callbacks: Iterable[Callback] | Callback | None = None,
    ) -> Self:
        """Learns from files that every worker can read: LETOR text, CSV, TSV, Parquet or Feather, as in `ordain fit`.

        `files` are names or patterns such as `"train-*.parquet"`, in the order of the set; each is read by one worker,
        so that there should be a few for each worker. Other arguments name columns of tables, as in `ordain fit`.
        """
        client, missing = _client(self.client), self._checked()
        roles = _NO_COLUMNS | {
            "label": label,
            "query": qid,
            "id": docid,
            "weight": weight,
            "ignore": [ignore] if isinstance(ignore, str) else list(ignore),
            "features": None if features is None else list(features),
        }
        train, held = _files(files), [] if valid is None else _files(valid)
        paths = train + held
        run = uuid.uuid4().hex
        # the largest first, each to whoever is free; a worker that a file were bound to might be lost
        sizes = [os.path.getsize(path) if os.path.exists(path) else 0 for path in paths]
        blocks: list[Any] = [None] * len(paths)
        for n in sorted(range(len(paths)), key=lambda n: -sizes[n]):
            blocks[n] = client.submit(_read, paths[n], roles, missing, key=f"ordain-file-{run}-{n}")
        return self._fit(client, blocks, paths, len(train) if held else None, callbacks)

    def _checked(self) -> str:
        """What missing values mean; refuses parameters that need all rows in one place."""
        local = self._local
        local._run(None)
        for name, usual in (("inputs", None), ("single_query", False)):
            if getattr(local, name) != usual:
                raise ValueError(f"{name}: expected {usual!r} on several machines, found {getattr(local, name)!r}")
        return str(local.missing)

    def _fit(self, client: Any, blocks: list[Any], names: list[str], valid: int | None, callbacks: Any) -> Self:
        local = self._kind(**self._local.get_params(deep=False))
        settings, run = local._settings(), local._run(callbacks)
        held = list(blocks)
        try:
            data = _Data(client, held, names, valid)
            pool, runs = data.shards(held)
            sizes = np.concatenate(data.sizes)
            model, raised = _ordain.fit_away(
                self._kind._method, settings, data.columns, sizes, data.weighted, runs, data.valid_from, run, pool
            )
        finally:
            _release(held)
        columns = model.columns()
        local._take(model)
        numbered = local.facts_["features"]["numbered"]
        shape = (int(sizes.sum()), len(columns))
        self.local_ = local._keep(model, Table(None, None if numbered else columns, shape), raised)  # type: ignore[arg-type]
        return self

    def predict(self, X: Any, qid: Any = None) -> Any:
        """The score of each row, lazily: a dask Series of a frame, a dask array of an array.

        Where a score depends on the query (`scale="query"`, `"minmax"`), every query has to be whole in one partition.
        """
        local = self._fitted()
        model = dask.delayed(local._model.to_bytes())
        by_query = bool(local._model.by_query)
        if columns_of(X):
            name = local.columns_.get("query", "qid")
            if by_query:
                parts = X[name].to_delayed()
                _refuse_split([dask.delayed(_ids)(part) for part in parts])
            return X.map_partitions(_predict, model, self._kind, meta=("score", "f8"))
        X = X.rechunk({1: -1})
        take = dask.delayed(_predict_rows)
        queries: list[Any] = [None] * len(X.chunks[0])
        if qid is not None:
            queries = qid.rechunk((X.chunks[0],)).to_delayed().ravel().tolist()
            if by_query:
                _refuse_split([dask.delayed(_ids)(part) for part in queries])
        import dask.array as da

        rows = zip(X.to_delayed().ravel().tolist(), queries, X.chunks[0], strict=True)
        return da.concatenate(
            [da.from_delayed(take(x, q, model, self._kind), shape=(n,), dtype=np.float64) for x, q, n in rows]
        )

    def _fitted(self) -> Any:
        if not hasattr(self, "local_"):
            return self._local._fitted()  # says that it is not fitted
        return self.local_


def _ids(part: Any) -> list[Any]:
    """The queries of a part."""
    return sorted({str(one) for one in ids(np.asarray(part), "qid", len(part))})


def _refuse_split(parts: list[Any]) -> None:
    """Refuses a query in two parts."""
    seen: dict[str, int] = {}
    for n, names in enumerate(dask.compute(*parts)):
        for name in names:
            if seen.setdefault(name, n) != n:
                raise ValueError(
                    f"query {name!r} is in partitions {seen[name]} and {n}: this model scales by query, so a query has "
                    "to be whole in one of them"
                )


_models: dict[bytes, Any] = {}


def _local(model: bytes, kind: Any) -> Any:
    """The estimator of a model; the last one is kept."""
    if model not in _models:
        _models.clear()
        _models[model] = kind._of_model(_ordain.from_bytes(model))
    return _models[model]


def _predict(part: Any, model: bytes, kind: Any) -> Any:
    import pandas

    if len(part) == 0:
        return pandas.Series(np.empty(0), index=part.index, name="score")
    return pandas.Series(_local(model, kind).predict(part), index=part.index, name="score")


def _predict_rows(part: Any, qid: Any, model: bytes, kind: Any) -> Any:
    return _local(model, kind).predict(_aligned(part), _aligned(qid)) if len(part) else np.empty(0)


def _files(given: Any) -> list[str]:
    """The files that names and patterns mean, with their whole paths."""
    found: list[str] = []
    for pattern in [given] if isinstance(given, (str, os.PathLike)) else given:
        text = os.path.abspath(os.fspath(pattern))
        some = sorted(glob.glob(text)) if glob.has_magic(text) and not os.path.exists(text) else [text]
        if not some:
            raise FileNotFoundError(f"{os.fspath(pattern)}: expected files of this pattern, found none")
        found += some
    if not found:
        raise ValueError("files: expected at least one file, found none")
    return found


class RankSVM(_Ranker):
    """`ordain.RankSVM` on several machines: linear, with the squared hinge."""

    _kind = ranking.RankSVM


class RankMatch(_Ranker):
    """`ordain.RankMatch` on several machines."""

    _kind = ranking.RankMatch


class Dorm(_Ranker):
    """`ordain.Dorm` on several machines, with `ties="average"`."""

    _kind = ranking.Dorm


class ListNet(_Ranker):
    """`ordain.ListNet` on several machines."""

    _kind = ranking.ListNet
