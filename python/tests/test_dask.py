"""Fits on two workers of Dask: the bytes of a fit on one machine, whatever happens to the workers."""

from __future__ import annotations

import asyncio
import faulthandler
import gc
import itertools
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import told, write_letor

import ordain

pytest.importorskip("distributed")
pd = pytest.importorskip("pandas")

import dask  # noqa: E402
import dask.array as da  # noqa: E402
import dask.dataframe as dd  # noqa: E402
from dask.distributed import Client, LocalCluster  # noqa: E402

import ordain.dask as far  # noqa: E402
from ordain._base import _NO_COLUMNS  # noqa: E402
from ordain.dask import _pool, _workers  # noqa: E402

# seconds after which a test hangs; more where other work has the processor
HANGS = int(os.environ.get("ORDAIN_HANGS", "120"))

FIXED: dict[str, Any] = {"transform_": "none", "scale": "global", "lambda_": 0.1}


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    with (
        # how long it is tried to reach a worker that is not there any more
        dask.config.set({"distributed.comm.timeouts.connect": "10s"}),
        LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, memory_limit=0
        ) as cluster,
        Client(cluster) as client,
    ):
        yield client


@pytest.fixture(autouse=True)
def no_hang() -> Iterator[None]:
    """A test that hangs says where, and ends everything."""
    faulthandler.dump_traceback_later(HANGS, exit=True, file=sys.__stderr__)
    yield
    faulthandler.cancel_dump_traceback_later()


def made(queries: int = 40, features: int = 5, seed: int = 0) -> Any:
    """A frame of queries, one behind the other, whose sizes differ."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 12, queries)
    n = int(sizes.sum())
    frame = pd.DataFrame(rng.normal(size=(n, features)).astype(np.float32), columns=[f"f{j}" for j in range(features)])
    frame["qid"] = np.repeat(np.arange(queries) + 100, sizes)
    truth = frame[[f"f{j}" for j in range(features)]].to_numpy() @ rng.normal(size=features)
    frame["label"] = np.clip(np.round(truth + rng.normal(size=n) / 2), 0, 3)
    return frame


def cut(frame: Any, *at: int) -> list[Any]:
    """The frame in parts that begin at these queries."""
    of = frame["qid"].to_numpy() - 100
    ends = [0, *np.searchsorted(of, at).tolist(), len(frame)]
    return [frame.iloc[a:b] for a, b in itertools.pairwise(ends)]


def spread(parts: list[Any]) -> Any:
    """A dask frame of these partitions."""
    return dd.from_map(lambda n: parts[n], range(len(parts)), meta=parts[0].iloc[:0])


def bytes_of(model: Any) -> bytes:
    return model._model.to_bytes()


def nothing_left(client: Client) -> bool:
    """Whether no part of the data is kept, once the client has heard that nobody wants it."""
    gc.collect()
    for _ in range(3):
        client.sync(asyncio.sleep, 0)
    return not client.futures


def kill(client: Client, which: int = 0) -> None:
    """Ends a worker as hard as can be, once both are there: one that ends while it starts is not started again."""
    client.wait_for_workers(2, timeout=HANGS - 10)
    while any(nanny.status.name != "running" for nanny in client.cluster.workers.values()):
        time.sleep(0.05)
    there = client.scheduler_info(n_workers=-1)["workers"]
    found = [nanny.pid for nanny in client.cluster.workers.values() if nanny.worker_address in there]
    os.kill(found[which % len(found)], signal.SIGKILL)


def at_question(
    monkeypatch: pytest.MonkeyPatch, events: dict[int, Callable[[], Any]], during: bool = False
) -> list[int]:
    """Has something happen before some questions to shards, or while they are answered; the list counts them."""
    asked, ask = [0], _pool._Pool.ask

    def told(self: Any, common: bytes, own: list[bytes]) -> Any:
        event = events.get(asked[0], lambda: None)
        asked[0] += 1
        if not during:
            event()
        waiting = ask(self, common, own)
        if during:
            event()
        return waiting

    monkeypatch.setattr(_pool._Pool, "ask", told)
    return asked


@pytest.fixture(scope="module")
def frame() -> Any:
    return made()


@pytest.fixture(scope="module")
def alone(frame: Any) -> bytes:
    return bytes_of(ordain.RankSVM(**FIXED).fit(frame, "label", "qid"))


@pytest.mark.parametrize("at", [(), (20,), (7, 13, 20, 33), (1, 1, 2, 3, 3, 39, 40)])
def test_any_partitions_give_the_bytes_of_one_machine(client: Client, frame: Any, alone: bytes, at: tuple[int, ...]):
    model = far.RankSVM(client=client, **FIXED).fit(spread(cut(frame, *at)), "label", "qid")
    assert bytes_of(model.local_) == alone
    assert isinstance(model.local_, ordain.RankSVM)
    assert nothing_left(client)


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("RankSVM", {"scale": "query", "weight": "pair"}),
        ("RankMatch", {"scale": "minmax"}),
        ("RankMatch", {"scale": "query", "subset": "R", "seed": 3}),
        ("Dorm", {"scale": "global", "ties": "average"}),
        ("ListNet", {"scale": "none"}),
    ],
)
def test_all_methods(client: Client, frame: Any, name: str, settings: dict[str, Any]):
    settings = {"transform_": "none", "lambda_": 0.3, **settings}
    local = getattr(ordain, name)(**settings).fit(frame, "label", "qid")
    model = getattr(far, name)(client=client, **settings).fit(spread(cut(frame, 11, 29)), "label", "qid")
    assert bytes_of(model.local_) == bytes_of(local)


@pytest.mark.filterwarnings("ignore::ordain.ConvergenceWarning")
def test_choices_and_validation_rows(client: Client, frame: Any):
    told_: list[str] = []
    settings = {"max_iter": 3}
    local = ordain.ListNet(**settings).fit(frame, "label", "qid")
    model = far.ListNet(client=client, **settings).fit(
        spread(cut(frame, 25)), callbacks=lambda share, word: told_.append(word)
    )
    assert bytes_of(model.local_) == bytes_of(local)
    assert any("choosing" in word for word in told_)
    assert told_[-1] == "done"
    more = made(60, seed=1)
    local = ordain.RankSVM(**FIXED | {"lambda_": "auto"}).fit(frame, "label", "qid", eval_set=(more, "label", "qid"))
    model = far.RankSVM(client=client, **FIXED | {"lambda_": "auto"}).fit(
        spread(cut(frame, 25)), eval_set=spread(cut(more, 8))
    )
    assert local.facts_["chosen"]["queries"] > 40
    assert bytes_of(model.local_) == bytes_of(local)


def test_arrays_and_weights(client: Client, frame: Any):
    X, y, qid = frame[[f"f{j}" for j in range(5)]].to_numpy(), frame["label"].to_numpy(), frame["qid"].to_numpy()
    weight = 0.5 + np.arange(len(y)) % 3
    local = ordain.RankSVM(**FIXED).fit(X, y, qid, sample_weight=weight)
    ends = np.cumsum([len(part) for part in cut(frame, 9, 30)])
    chunks = tuple(np.diff(ends, prepend=0).tolist())
    spread_ = [da.from_array(values, chunks=(chunks,)) for values in (y, qid, weight)]
    dX = da.from_array(X, chunks=(chunks, 3))
    model = far.RankSVM(client=client, **FIXED).fit(dX, *spread_[:2], sample_weight=spread_[2])
    assert bytes_of(model.local_) == bytes_of(local)
    np.testing.assert_array_equal(model.predict(dX).compute(), local.predict(X))


@pytest.mark.parametrize("ending", ["txt", "csv", "parquet"])
def test_files_give_the_bytes_of_the_command_line(client: Client, frame: Any, tmp_path: Path, ending: str):
    for n, part in enumerate(cut(frame, 15, 22)):
        path = tmp_path / f"train-{n}.{ending}"
        if ending == "txt":
            write_letor(path, part.drop(columns=["qid", "label"]).to_numpy(), part["label"], part["qid"])
        elif ending == "csv":
            part.to_csv(path, index=False)
        else:
            part.to_parquet(path)
    files = sorted(map(str, tmp_path.glob("train-*")))
    out = tmp_path / "model.ordain"
    told("fit", "ranksvm[transform=none,scale=global,lambda=0.1]", *files, "-o", out)
    model = far.RankSVM(client=client, **FIXED).fit_files(str(tmp_path / "train-*"))
    assert bytes_of(model.local_) == out.read_bytes()
    assert nothing_left(client)


@pytest.mark.parametrize(("moment", "during"), [(1, False), (3, True), (6, False)])
def test_a_killed_worker_changes_nothing(
    client: Client, frame: Any, alone: bytes, monkeypatch: pytest.MonkeyPatch, moment: int, during: bool
):
    asked = at_question(monkeypatch, {moment: lambda: kill(client, moment)}, during)
    model = far.RankSVM(client=client, **FIXED).fit(spread(cut(frame, 7, 13, 20, 33)))
    assert asked[0] > moment
    assert bytes_of(model.local_) == alone


def test_kills_at_random_moments(client: Client, frame: Any, alone: bytes, monkeypatch: pytest.MonkeyPatch):
    """ORDAIN_KILLS=50 has a worker end 50 times: while rows are loaded, before a question, or while it is answered."""
    parts, rng = spread(cut(frame, 7, 13, 20, 33)), np.random.default_rng(int(os.environ.get("ORDAIN_SEED", "1")))
    asked = at_question(monkeypatch, {})
    far.RankSVM(client=client, **FIXED).fit(parts)
    questions = asked[0]
    for _ in range(int(os.environ.get("ORDAIN_KILLS", "1"))):
        faulthandler.dump_traceback_later(HANGS, exit=True, file=sys.__stderr__)
        moment, which = int(rng.integers(-2, questions)), int(rng.integers(2))
        with monkeypatch.context() as patch:
            if moment < 0:
                threading.Timer(0.3 * rng.random(), kill, (client, which)).start()
            else:
                at_question(patch, {moment: lambda which=which: kill(client, which)}, bool(rng.integers(2)))
            model = far.RankSVM(client=client, **FIXED).fit(parts)
        assert bytes_of(model.local_) == alone, (moment, which)
    assert nothing_left(client)


def test_both_workers_in_turn_and_files(client: Client, frame: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    for n, part in enumerate(cut(frame, 7, 13, 20, 33)):
        part.to_parquet(tmp_path / f"{n}.parquet")
    first = far.RankSVM(client=client, **FIXED).fit_files(tmp_path / "*.parquet")
    asked = at_question(monkeypatch, {5: lambda: kill(client, 1)})
    # the outlines are gathered by then: blocks are lost before shards are made of them
    shards = _pool._Data.shards
    monkeypatch.setattr(_pool._Data, "shards", lambda self, held: (kill(client, 0), shards(self, held))[1])
    again = far.RankSVM(client=client, **FIXED).fit_files(tmp_path / "*.parquet")
    assert asked[0] > 5
    assert bytes_of(again.local_) == bytes_of(first.local_)


def test_a_worker_comes_and_another_goes(client: Client, frame: Any, alone: bytes, monkeypatch: pytest.MonkeyPatch):
    cluster = client.cluster

    def more() -> None:
        cluster.scale(3)
        client.wait_for_workers(3, timeout=60)

    asked = at_question(
        monkeypatch,
        {
            1: more,
            3: lambda: client.retire_workers(
                [min(client.scheduler_info(n_workers=-1)["workers"])], close_workers=False
            ),
        },
    )
    model = far.RankSVM(client=client, **FIXED).fit(spread(cut(frame, 7, 13, 20, 33)))
    assert asked[0] > 3
    assert bytes_of(model.local_) == alone


def test_blocks_and_shards_travel(client: Client, frame: Any, tmp_path: Path):
    import pickle

    path = tmp_path / "one.parquet"
    frame.to_parquet(path)
    block = _workers._read("query", str(path), _NO_COLUMNS, "error")
    data = pickle.dumps(block)
    assert len(data) < 1000
    assert pickle.loads(data).block.state()[3] == block.block.state()[3]
    copied = pickle.loads(pickle.dumps(_workers._Block(block.block)))
    assert all(np.array_equal(a, b) for a, b in zip(copied.block.state(), block.block.state(), strict=True))
    (_, _, plan, _), *rest = ordain._ordain.layouts(block.block.columns(), [block.block.outline()[0]])
    shard = _workers._shard(block, plan, [])
    assert len(pickle.dumps(shard)) < 10_000
    assert shard.__sizeof__() == 4 * 5 * len(frame)
    assert pickle.loads(pickle.dumps(shard)).shard is not None
    assert rest == []


def test_split_queries_are_refused_or_shuffled(client: Client, frame: Any):
    names = frame.assign(qid="query " + frame["qid"].astype(str))
    half = len(frame) // 2
    split = spread([names.iloc[:half], names.iloc[half:]])
    assert names["qid"].iloc[half - 1] == names["qid"].iloc[half]
    with pytest.raises(ValueError, match=rf"query '{names['qid'].iloc[half]}' is in partition 0 and in partition 1"):
        far.RankSVM(client=client, **FIXED).fit(split)
    model = far.RankSVM(client=client, **FIXED).fit(split, shuffle="qid")
    order = pd.concat([part.compute() for part in split.shuffle("qid").to_delayed()])
    assert len(order) == len(frame)
    assert model.local_.facts_["queries"] == frame["qid"].nunique()
    by_query = far.RankSVM(client=client, **FIXED | {"scale": "query"}).fit(split, shuffle="qid")
    with pytest.raises(ValueError, match="this model scales by query"):
        by_query.predict(split)


def test_predict_is_lazy(client: Client, frame: Any):
    parts = spread(cut(frame, 0, 13, 20))
    for scale in ("query", "none"):
        model = far.ListNet(client=client, **FIXED | {"scale": scale}).fit(parts)
        scores = model.predict(parts[[*reversed(parts.columns)]])
        assert isinstance(scores, dd.Series)
        assert (scores.name, scores.dtype) == ("score", np.float64)
        np.testing.assert_array_equal(scores.compute(), model.local_.predict(frame))
    with pytest.raises(ordain.NotFittedError):
        far.ListNet(client=client).predict(parts)


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"kernel": "rbf"}, "kernel: expected linear on several machines"),
        ({"scorer": "trees"}, "scorer: expected linear on several machines"),
        ({"loss": "hinge"}, "loss: expected logistic"),
        ({"missing": "mean"}, "missing: expected error or zero on several machines"),
        ({"single_query": True}, "single_query: expected False on several machines"),
        ({"inputs": {"f1": "text"}}, "inputs: expected None on several machines"),
    ],
)
def test_what_needs_one_machine_is_refused(client: Client, frame: Any, settings: dict[str, Any], expected: str):
    with pytest.raises(ValueError, match=expected):
        far.RankSVM(client=client, **{"transform_": "none"} | settings).fit(spread(cut(frame, 20)))
    assert nothing_left(client)


def test_errors_of_workers_have_file_and_line(client: Client, tmp_path: Path):
    (tmp_path / "good.txt").write_text("1 qid:1 1:2\n0 qid:1 1:3\n")
    (tmp_path / "bad.txt").write_text("1 qid:2 1:2\n0 qid:2 1:x\n")
    with pytest.raises(ordain.FormatError, match=r"bad\.txt:2:11: expected"):
        far.RankSVM(client=client, **FIXED).fit_files([tmp_path / "good.txt", tmp_path / "bad.txt"])
    with pytest.raises(FileNotFoundError, match=r"absent-\*"):
        far.RankSVM(client=client, **FIXED).fit_files(tmp_path / "absent-*")
    assert nothing_left(client)


def test_files_of_other_columns_are_refused(client: Client, tmp_path: Path):
    (tmp_path / "a.txt").write_text("1 qid:1 1:2 2:1\n0 qid:1 1:3\n")
    (tmp_path / "b.txt").write_text("1 qid:2 1:2\n0 qid:2 1:4\n")
    with pytest.raises(ValueError, match=r"b\.txt: expected the columns of .*a\.txt, found \[\] more and \['2'\] less"):
        far.RankSVM(client=client, **FIXED).fit_files(tmp_path / "*.txt")


def test_a_callback_and_an_interrupt_stop_it(client: Client, frame: Any, monkeypatch: pytest.MonkeyPatch):
    settings = FIXED | {"lambda_": "auto"}
    words: list[str] = []

    def enough(share: float, word: str) -> bool:
        words.append(word)
        return len(words) > 3

    model = far.RankSVM(client=client, **settings).fit(spread(cut(frame, 20)), callbacks=enough)
    assert model.local_.facts_["stop"] == "interrupted"
    asked = at_question(monkeypatch, {8: lambda: os.kill(os.getpid(), signal.SIGINT)})
    with pytest.raises(KeyboardInterrupt):
        far.RankSVM(client=client, **settings).fit(spread(cut(frame, 20)))
    assert asked[0] >= 8
    assert nothing_left(client)


def test_other_versions_are_refused(client: Client, frame: Any, monkeypatch: pytest.MonkeyPatch):
    real = client.run
    monkeypatch.setattr(client, "run", lambda f, *a, **k: dict.fromkeys(real(f, *a, **k), "0.0.1"))
    with pytest.raises(RuntimeError, match=r"expected ordain .* as here, found 0\.0\.1"):
        far.RankSVM(client=client, **FIXED).fit(spread(cut(frame, 20)))


def test_a_part_that_ends_every_worker_is_said(client: Client, frame: Any, monkeypatch: pytest.MonkeyPatch):
    client.run_on_scheduler(_allow, 0)
    monkeypatch.setattr(_pool, "_answer", _end)
    try:
        with pytest.raises(
            MemoryError, match=r"part 1 of 1 \(partition 0\) ended 1 workers; the usual cause is memory"
        ):
            far.RankSVM(client=client, **FIXED).fit(spread([frame]))
    finally:
        client.run_on_scheduler(_allow, 3)


def pairs(problems: int = 40, seed: int = 0) -> Any:
    """A frame of edges of small problems, some of whose items stay alone."""
    rng = np.random.default_rng(seed)
    rows = []
    for p in range(problems):
        left, right = rng.normal(size=(int(rng.integers(2, 5)), 4)), rng.normal(size=(int(rng.integers(2, 5)), 4))
        alike = min(len(left), len(right)) - int(rng.integers(2))
        right[:alike] = left[:alike] + 0.4 * rng.normal(size=(alike, 4))
        rows += [
            (f"p{p}", i, j, float(i == j and i < alike), *np.abs(a - b).astype(np.float32))
            for i, a in enumerate(left)
            for j, b in enumerate(right)
        ]
    return pd.DataFrame(rows, columns=["problem", "left", "right", "matched", "f0", "f1", "f2", "f3"])


def cut_pairs(frame: Any, *at: int) -> list[Any]:
    """The edges in parts that begin at these problems."""
    of = frame["problem"].str[1:].astype(int).to_numpy()
    ends = [0, *np.searchsorted(of, at).tolist(), len(frame)]
    return [frame.iloc[a:b] for a, b in itertools.pairwise(ends)]


@pytest.mark.filterwarnings("ignore::ordain.ConvergenceWarning", "ignore:probabilities are approximate")
@pytest.mark.parametrize(
    "settings",
    [
        {"lambda_": 0.1, "scale": "matched", "null": True, "transform_": "none"},
        {"lambda_": 0.1, "scale": "query", "null": True, "marginals": "bethe"},
        {"max_iter": 4, "null": True},
    ],
)
def test_matchers_have_the_bytes_of_one_machine(
    client: Client, settings: dict[str, Any], monkeypatch: pytest.MonkeyPatch
):
    edges = pairs()
    local = ordain.MatchMap(**settings).fit(edges, "matched")
    asked = at_question(monkeypatch, {5: lambda: kill(client, 1)}, during=True)
    model = far.MatchMap(client=client, **settings).fit(spread(cut_pairs(edges, 7, 7, 30)))
    assert asked[0] > 5
    assert bytes_of(model.local_) == bytes_of(local)
    assert nothing_left(client)
    parts = spread(cut_pairs(edges, 20))
    matched, chances = model.predict(parts), model.predict_proba(parts)
    assert (matched.name, matched.dtype, chances.dtype) == ("matched", np.int8, np.float64)
    np.testing.assert_array_equal(matched.compute(), local.predict(edges))
    np.testing.assert_array_equal(chances.compute(), local.predict_proba(edges))


def test_matchers_of_arrays_and_files(client: Client, tmp_path: Path):
    settings, edges = {"lambda_": 0.1, "scale": "global", "null": True}, pairs(seed=3)
    names = [f"f{j}" for j in range(4)]
    X, ids = edges[names].to_numpy(), [edges[name].to_numpy() for name in ("matched", "problem", "left", "right")]
    local = ordain.MatchMap(**settings).fit(X, *ids)
    chunks = tuple(len(part) for part in cut_pairs(edges, 11, 25))
    arrays = [da.from_array(values, chunks=(chunks,)) for values in ids]
    model = far.MatchMap(client=client, **settings).fit(da.from_array(X, chunks=(chunks, 2)), *arrays)
    assert bytes_of(model.local_) == bytes_of(local)
    for n, part in enumerate(cut_pairs(edges, 11, 25)):
        part.to_parquet(tmp_path / f"{n}.parquet")
    out = tmp_path / "model.ordain"
    told("fit", "matchmap[lambda=0.1,scale=global,null=true]", *sorted(tmp_path.glob("*.parquet")), "-o", out)
    model = far.MatchMap(client=client, **settings).fit_files(tmp_path / "*.parquet")
    assert bytes_of(model.local_) == out.read_bytes()


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"kernel": "rbf"}, "kernel: expected linear on several machines"),
        ({"scorer": "linear+trees"}, "scorer: expected linear on several machines"),
        ({"marginals": "chain"}, "marginals: expected exact, pruned, bethe or sinkhorn on several machines"),
        ({"missing": "mean"}, "missing: expected error or zero on several machines"),
    ],
)
def test_what_matchers_need_one_machine_for_is_refused(client: Client, settings: dict[str, Any], expected: str):
    with pytest.raises(ValueError, match=expected):
        far.MatchMap(client=client, **settings).fit(spread(cut_pairs(pairs(12), 6)))
    assert nothing_left(client)


def test_split_problems_are_refused(client: Client):
    edges = pairs(12)
    inside = int(np.flatnonzero(edges["problem"].eq(edges["problem"].shift()))[20])
    split, name = spread([edges.iloc[:inside], edges.iloc[inside:]]), edges["problem"].iloc[inside]
    with pytest.raises(
        ValueError, match=rf"problem '{name}' is in partition 0 and in partition 1: .* shuffle=\"problem"
    ):
        far.MatchMap(client=client).fit(split)
    model = far.MatchMap(client=client, lambda_=0.1, scale="none", null=True).fit(split, shuffle="problem")
    assert model.local_.facts_["problems"] == 12
    with pytest.raises(ValueError, match="items of a problem are matched together"):
        model.predict(split)


def test_a_slow_worker_is_named(caplog: pytest.LogCaptureFixture):
    pool = _pool._Pool(None, [], [], [], [])
    for _ in range(_pool.AGAIN):
        assert pool.heard([(b"a", 0.2, "one"), (b"b", 0.9, "two")]) == [b"a", b"b"]
    assert "worker two took 0.9 s where others take 0.2 s" in caplog.text


def _allow(failures: int, dask_scheduler: Any) -> None:
    dask_scheduler.allowed_failures = failures


def _end(shard: Any, common: bytes, own: bytes) -> bytes:
    os.kill(os.getpid(), signal.SIGKILL)
    return b""


def test_without_dask_it_is_said_how_to_install_it():
    text = (
        "import sys; sys.modules['dask'] = None\nimport ordain\n"
        "try:\n    import ordain.dask\nexcept ImportError as error:\n    print(error)"
    )
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == 'ordain.dask needs Dask: pip install "dask[dataframe]" distributed'
