#!/usr/bin/env python3
"""Measure fits on a Dask cluster of this machine: what they cost beside a fit without Dask, and what a lost worker does.

Made-up rows, one thread for each worker; the model has fixed settings, so that a fit is some evaluations of the loss and a
Hessian. `--turns N` times fits alone, after the rows are where they are needed, in turns, and prints ratios of medians. `--kills N`
ends workers at N random moments, with one seed, and compares the bytes of every model. `--memory` fits more than a worker may keep.
`--others` ends one of two workers in the middle of a fit of xgboost.dask and of lightgbm.dask, and says what becomes of it.

    python scripts/bench_dask.py --rows 8000000 --turns 2              # efficiency: an idle machine of two cores, 12 GB, 4 minutes
    python scripts/bench_dask.py --rows 20000 --columns 20 --kills 50  # a worker ends at 50 random moments
    python scripts/bench_dask.py --memory                              # more rows than one worker may keep
    python scripts/bench_dask.py --rows 100000 --columns 20 --others   # a worker ends in fits of xgboost.dask and lightgbm.dask

It runs in an environment that has ordain (a release build for times) and dask; --others needs xgboost and lightgbm there.
"""

import argparse
import gc
import os
import random
import signal
import statistics
import threading
import time

import numpy as np
import pandas as pd

PARTS = 8
LIMIT = 120  # seconds for a fit of another tool after a worker ended


def part(n, rows, width):
    """Make one part of the rows: queries of 100 documents."""
    rng = np.random.default_rng(n)
    values = rng.standard_normal((rows, width), dtype=np.float32)
    frame = pd.DataFrame(values, columns=[f"f{j}" for j in range(width)])
    truth = frame.to_numpy()[:, :10].sum(axis=1) + 3 * rng.standard_normal(rows)
    frame["label"] = np.clip(np.round(truth / 2), 0, 4)
    frame["qid"] = n * rows + np.arange(rows) // 100
    return frame


def spread(rows, columns, parts=PARTS):
    """Give the rows as a dask frame, each part made where it is needed."""
    import dask.dataframe as dd

    return dd.from_map(part, range(parts), rows=rows // parts, width=columns, meta=part(0, 100, columns).iloc[:0])


def chunk(n, rows, width):
    """Make one part of the rows as arrays."""
    rng = np.random.default_rng(n)
    x = rng.standard_normal((rows, width), dtype=np.float32)
    truth = x[:, :10].sum(axis=1) + 3 * rng.standard_normal(rows, dtype=np.float32)
    return x, np.clip(np.round(truth / 2), 0, 4).astype(np.float64), n * rows + np.arange(rows) // 100


def arrays(rows, columns):
    """Give the rows as dask arrays, each part made where it is needed."""
    import dask
    import dask.array as da

    size = rows // PARTS
    made = [dask.delayed(chunk)(n, size, columns) for n in range(PARTS)]
    shapes = (((size, columns), np.float32), ((size,), np.float64), ((size,), np.int64))
    return [
        da.concatenate([da.from_delayed(one[k], shape=shape, dtype=dtype) for one in made])
        for k, (shape, dtype) in enumerate(shapes)
    ]


def cluster(workers, limit=0):
    """Start workers of one thread each."""
    from dask.distributed import LocalCluster

    how = {"threads_per_worker": 1, "processes": True, "dashboard_address": None, "memory_limit": limit}
    return LocalCluster(n_workers=workers, **how)


def settings():
    """Settings that leave nothing to choose."""
    return {"transform_": "none", "scale": "global", "lambda_": 1e-3, "n_threads": 1, "tol": 1e-9}


def timed(module, name, call):
    """Call, and give what it gave with the seconds that one function in it took."""
    took, real = [], getattr(module, name)

    def wrapped(*args, **more):
        start = time.perf_counter()
        try:
            return real(*args, **more)
        finally:
            took.append(time.perf_counter() - start)

    setattr(module, name, wrapped)
    try:
        return call(), took[-1]
    finally:
        setattr(module, name, real)


def efficiency(rows, columns, turns):
    """Time fits without Dask, on one worker and on two, in turns."""
    from dask.distributed import Client

    import ordain
    import ordain.dask as far
    from ordain.dask._pool import _Pool
    from ordain import _ordain

    times = {0: [], 1: [], 2: []}
    questions = []
    with cluster(1) as one, cluster(2) as two, Client(one) as client_one, Client(two) as client_two:
        ask = _Pool.ask

        def counted(self, common, own):
            questions.append(len(self.handles))
            return ask(self, common, own)

        _Pool.ask = counted
        size = rows // PARTS
        x, y, qid = np.empty((rows, columns), np.float32), np.empty(rows), np.empty(rows, np.int64)
        for n in range(PARTS):
            at = slice(n * size, (n + 1) * size)
            x[at], y[at], qid[at] = chunk(n, size, columns)
        for turn in range(turns):
            models = []
            for workers, client in ((0, None), (1, client_one), (2, client_two)):
                if client is None:
                    model, took = timed(_ordain, "fit_rank", lambda: ordain.RankSVM(**settings()).fit(x, y, qid))
                    models.append(model._model.to_bytes())
                else:
                    model, took = timed(
                        _ordain,
                        "fit_away",
                        lambda client=client: far.RankSVM(client=client, **settings()).fit(*arrays(rows, columns)),
                    )
                    models.append(model.local_._model.to_bytes())
                times[workers].append(took)
            assert models[0] == models[1] == models[2], "the bytes of models differ"
            print(f"turn {turn + 1}: " + ", ".join(f"{w} workers {t[-1]:.2f} s" for w, t in times.items()), flush=True)
        _Pool.ask = ask
    none, first, second = (statistics.median(times[workers]) for workers in (0, 1, 2))
    evaluations = model.local_.facts_["iterations"]
    print(f"{rows} x {columns}: {len(questions) // (2 * turns)} questions and {evaluations} steps a fit")
    trip = roundtrip()
    print(f"a question of nothing: {1000 * trip[1]:.1f} ms on one worker, {1000 * trip[2]:.1f} ms on two")
    print(f"T(1)/(2 T(2)) {first / (2 * second):.2f}, T(1 worker)/T(no Dask) {first / none:.2f}")


def roundtrip(times=50):
    """Measure how long a question takes to which the answer is at hand."""
    from dask.distributed import Client

    took = {}
    for workers in (1, 2):
        with cluster(workers) as some, Client(some) as client:
            handles = [client.submit(int, n, pure=False) for n in range(workers)]
            start = time.perf_counter()
            for _ in range(times):
                client.gather([client.submit(abs, handle, pure=False) for handle in handles])
            took[workers] = (time.perf_counter() - start) / times
    return took


def memory(rows=8_000_000, columns=136, limit=4_200_000_000):
    """Fit a set that is larger than what one worker may keep, on one worker and on two."""
    import dask
    from dask.distributed import Client

    import ordain.dask as far

    # parts are much larger than pieces of 65,536 rows: of those that go on in another part both sides are kept, and their sum
    # nothing is written to disk: what does not fit ends a worker
    rules = dict.fromkeys((f"distributed.worker.memory.{what}" for what in ("target", "spill", "pause")), False)
    print(f"{rows} x {columns}: {4e-9 * rows * columns:.2f} GB of features, a worker may have {1e-9 * limit:.2f} GB")
    for workers in (1, 2):
        with (
            dask.config.set(rules | {"distributed.worker.memory.terminate": 0.95}),
            cluster(workers, limit) as some,
            Client(some) as client,
        ):
            client.run_on_scheduler(allow_one)
            start = time.perf_counter()
            try:
                far.RankSVM(client=client, **settings()).fit(spread(rows, columns, 16))
                said = "a model"
            except MemoryError as error:
                said = f"MemoryError: {error}"
            print(f"{workers} of them: {said}, after {time.perf_counter() - start:.0f} s", flush=True)


def allow_one(dask_scheduler):
    """Have a task given up after the second worker that it ended."""
    dask_scheduler.allowed_failures = 1


def kills(rows, columns, number, seed):
    """End a worker before or during random questions of fits."""
    from dask.distributed import Client

    import ordain
    import ordain.dask as far
    from ordain.dask._pool import _Pool

    rng = random.Random(seed)
    whole = pd.concat([part(n, rows // PARTS, columns) for n in range(PARTS)])
    truth = ordain.RankSVM(**settings()).fit(whole, "label", "qid")._model.to_bytes()
    asked, ask, events = [0], _Pool.ask, {}
    state, ended = {}, []

    def told(self, common, own):
        when = events.get(asked[0])
        asked[0] += 1
        if when is False:
            ended.append(end_one(state["client"], rng))
        waiting = ask(self, common, own)
        if when is True:
            ended.append(end_one(state["client"], rng))
        return waiting

    def both():
        """Give a client of two workers: a cluster that cannot start one again in time is replaced."""
        if "client" in state:
            try:
                state["client"].wait_for_workers(2, timeout=60)
                return state["client"]
            except TimeoutError:
                state["client"].close()
                state["cluster"].close()
        state["cluster"] = cluster(2)
        state["client"] = Client(state["cluster"])
        return state["client"]

    _Pool.ask = told
    far.RankSVM(client=both(), **settings()).fit(spread(rows, columns))
    questions, same, left = asked[0], 0, 0
    for n in range(number):
        client = both()
        asked[0] = 0
        events.clear()
        # some while the rows are loaded, the others before or during a question
        if n % 5 == 4:
            threading.Timer(rng.random() * 0.5, lambda client=client: ended.append(end_one(client, rng))).start()
        else:
            events[rng.randrange(questions)] = bool(rng.randrange(2))
        model = far.RankSVM(client=client, **settings()).fit(spread(rows, columns))
        same += model.local_._model.to_bytes() == truth
        gc.collect()
        time.sleep(0.1)
        left += len(client.futures)
        print(f"{n + 1}: {same} alike", flush=True)
    _Pool.ask = ask
    state["client"].close()
    state["cluster"].close()
    print(f"{sum(ended)} kills in {number} fits of {questions} questions: {same} models have the bytes of one machine")
    print(f"{left} futures left")


def end_one(client, rng):
    """End a worker as hard as can be, and say whether: not where Dask cannot start one again in time."""
    try:
        client.wait_for_workers(2, timeout=60)
    except TimeoutError:
        return False
    # one that ends while it starts is not started again
    while any(nanny.status.name != "running" for nanny in client.cluster.workers.values()):
        time.sleep(0.05)
    there = client.scheduler_info(n_workers=-1)["workers"]
    found = [nanny.pid for nanny in client.cluster.workers.values() if nanny.worker_address in there]
    os.kill(rng.choice(found), signal.SIGKILL)
    return True


def others(rows, columns):
    """End a worker in the middle of fits of other tools."""
    import importlib.metadata

    import dask
    import dask.array as da
    from dask.distributed import Client

    names = [f"f{j}" for j in range(columns)]
    frame = spread(rows, columns)
    size = rows // PARTS
    group = da.from_array(np.full(rows // 100, 100), chunks=size // 100)
    x, y, _ = arrays(rows, columns)

    def xgboost(client):
        import xgboost.dask as tool

        model = tool.DaskXGBRanker(n_estimators=400, tree_method="hist")
        return bytes(model.fit(frame[names], frame["label"], qid=frame["qid"]).get_booster().save_raw())

    def lightgbm(client):
        import lightgbm.dask as tool

        model = tool.DaskLGBMRanker(n_estimators=400, client=client, verbose=-1)
        return model.fit(x, y, group=group).booster_.model_to_string()

    for name, fit in (("xgboost", xgboost), ("lightgbm", lightgbm)):
        with dask.config.set({"distributed.comm.timeouts.connect": "10s"}), cluster(2) as two, Client(two) as client:
            whole = time.perf_counter()
            first = fit(client)
            whole = time.perf_counter() - whole
            again = "the same" if fit(client) == first else "another"
            said, start = [], time.perf_counter()

            def run(client=client, said=said, fit=fit, first=first):
                try:
                    said.append("the same model" if fit(client) == first else "another model")
                except BaseException as error:
                    said.append(f"{type(error).__name__}: {str(error).splitlines()[0][:90]}")

            thread = threading.Thread(target=run, daemon=True)
            thread.start()
            time.sleep(whole / 2)
            end_one(client, random.Random(1))
            thread.join(LIMIT)
            after = f"{said[0]}, after {time.perf_counter() - start:.0f} s" if said else f"nothing in {LIMIT} s"
            version = importlib.metadata.version({"xgboost": "xgboost-cpu"}.get(name, name))
            print(f"{name} {version}: {again} model without a kill; with one {after}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=400_000)
    parser.add_argument("--columns", type=int, default=136)
    parser.add_argument("--turns", type=int, default=0)
    parser.add_argument("--kills", type=int, default=0)
    parser.add_argument("--memory", action="store_true")
    parser.add_argument("--others", action="store_true")
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    if args.turns:
        efficiency(args.rows, args.columns, args.turns)
    if args.kills:
        kills(args.rows, args.columns, args.kills, args.seed)
    if args.memory:
        memory()
    if args.others:
        others(args.rows, args.columns)


if __name__ == "__main__":
    main()
