#!/usr/bin/env python3
"""Measure fits on a Dask cluster of this machine: what they cost beside a fit without Dask, and what a lost worker does.

Made-up rows, one thread for each worker; the model has fixed settings, so that a fit is some evaluations of the loss and a
Hessian. Times are of the fit alone, after the rows are where they are needed, in turns; ratios are printed, the medians of all
turns. `--kills N` ends workers at N random questions of a fit, with one seed, and compares the bytes of every model.
`--others` ends one of two workers in the middle of a fit of xgboost.dask and of lightgbm.dask, and says what becomes of it.

    python scripts/bench_dask.py --rows 2000000 --columns 136 --turns 3
    python scripts/bench_dask.py --rows 20000 --turns 0 --kills 50 --others

It runs in an environment that has ordain (a release build for times) and dask; --others needs xgboost and lightgbm there.
"""

import argparse
import os
import random
import signal
import statistics
import threading
import time

import numpy as np
import pandas as pd

PARTS = 8
LIMIT = 120  # seconds for a fit of another tool


def part(n, rows, columns):
    """Make one part of the rows: queries of 100 documents."""
    rng = np.random.default_rng(n)
    values = rng.standard_normal((rows, columns), dtype=np.float32)
    frame = pd.DataFrame(values, columns=[f"f{j}" for j in range(columns)])
    truth = frame.to_numpy()[:, :10].sum(axis=1) + 3 * rng.standard_normal(rows)
    frame["label"] = np.clip(np.round(truth / 2), 0, 4)
    frame["qid"] = n * rows + np.arange(rows) // 100
    return frame


def spread(rows, columns):
    """Give the rows as a dask frame, each part made where it is needed."""
    import dask.dataframe as dd

    return dd.from_map(part, range(PARTS), rows=rows // PARTS, columns=columns, meta=part(0, 100, columns).iloc[:0])


def cluster(workers):
    """Start workers of one thread each."""
    from dask.distributed import LocalCluster

    return LocalCluster(n_workers=workers, threads_per_worker=1, processes=True, dashboard_address=None, memory_limit=0)


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
    from ordain import _ordain

    times = {0: [], 1: [], 2: []}
    questions = []
    with cluster(1) as one, cluster(2) as two, Client(one) as client_one, Client(two) as client_two:
        ask = far._Pool.ask

        def counted(self, common, own):
            questions.append(len(self.handles))
            return ask(self, common, own)

        far._Pool.ask = counted
        whole = pd.concat([part(n, rows // PARTS, columns) for n in range(PARTS)])
        for turn in range(turns):
            models = []
            for workers, client in ((0, None), (1, client_one), (2, client_two)):
                if client is None:
                    model, took = timed(_ordain, "fit_rank", lambda: ordain.RankSVM(**settings()).fit(whole, "label", "qid"))
                    models.append(model._model.to_bytes())
                else:
                    model, took = timed(
                        _ordain,
                        "fit_away",
                        lambda client=client: far.RankSVM(client=client, **settings()).fit(spread(rows, columns)),
                    )
                    models.append(model.local_._model.to_bytes())
                times[workers].append(took)
            assert models[0] == models[1] == models[2], "the bytes of models differ"
            print(f"turn {turn + 1}: " + ", ".join(f"{w} workers {t[-1]:.2f} s" for w, t in times.items()), flush=True)
        far._Pool.ask = ask
    none, first, second = (statistics.median(times[workers]) for workers in (0, 1, 2))
    print(f"{rows} x {columns}: {len(questions) // (2 * turns)} questions a fit")
    print(f"T(1)/(2 T(2)) {first / (2 * second):.2f}, T(1 worker)/T(no Dask) {first / none:.2f}")


def kills(rows, columns, number, seed):
    """End a worker before or during random questions of fits."""
    from dask.distributed import Client

    import ordain
    import ordain.dask as far

    rng = random.Random(seed)
    whole = pd.concat([part(n, rows // PARTS, columns) for n in range(PARTS)])
    truth = ordain.RankSVM(**settings()).fit(whole, "label", "qid")._model.to_bytes()
    asked, ask, events = [0], far._Pool.ask, {}
    with cluster(2) as two, Client(two) as client:

        def told(self, common, own):
            when = events.get(asked[0])
            asked[0] += 1
            if when is False:
                end_one(client, rng)
            waiting = ask(self, common, own)
            if when is True:
                end_one(client, rng)
            return waiting

        far._Pool.ask = told
        far.RankSVM(client=client, **settings()).fit(spread(rows, columns))
        questions, same = asked[0], 0
        for n in range(number):
            asked[0] = 0
            events.clear()
            # some while the rows are loaded, the others before or during a question
            loading = n % 5 == 4
            if loading:
                threading.Timer(rng.random() * 0.5, end_one, (client, rng)).start()
            else:
                events[rng.randrange(questions)] = bool(rng.randrange(2))
            client.wait_for_workers(2, timeout=60)
            model = far.RankSVM(client=client, **settings()).fit(spread(rows, columns))
            same += model.local_._model.to_bytes() == truth
        far._Pool.ask = ask
    print(f"{number} kills at {questions} questions: {same} models have the bytes of one machine")


def end_one(client, rng):
    """End a worker as hard as can be, once both are there."""
    client.wait_for_workers(2, timeout=60)
    there = client.scheduler_info(n_workers=-1)["workers"]
    found = [nanny.pid for nanny in client.cluster.workers.values() if nanny.worker_address in there]
    os.kill(rng.choice(found), signal.SIGKILL)


def others(rows, columns):
    """End a worker in the middle of fits of other tools."""
    import importlib.metadata

    import dask
    import dask.array as da
    from dask.distributed import Client

    frame = pd.concat([part(n, rows // PARTS, columns) for n in range(PARTS)])
    size = rows // PARTS
    x = da.from_array(frame[[f"f{j}" for j in range(columns)]].to_numpy(), chunks=(size, columns))
    y = da.from_array(frame["label"].to_numpy(), chunks=size)
    qid = da.from_array(frame["qid"].to_numpy(), chunks=size)
    group = da.from_array(np.full(rows // 100, 100), chunks=size // 100)

    def xgboost(client):
        import xgboost.dask as tool

        tool.DaskXGBRanker(n_estimators=400, tree_method="hist").fit(x, y, qid=qid)

    def lightgbm(client):
        import lightgbm.dask as tool

        tool.DaskLGBMRanker(n_estimators=400, client=client, verbose=-1).fit(x, y, group=group)

    for name, fit in (("xgboost", xgboost), ("lightgbm", lightgbm)):
        with dask.config.set({"distributed.comm.timeouts.connect": "10s"}), cluster(2) as two, Client(two) as client:
            whole = time.perf_counter()
            fit(client)
            whole = time.perf_counter() - whole
            said, start = [], time.perf_counter()

            def run(client=client, said=said, fit=fit):
                try:
                    fit(client)
                    said.append("a model")
                except BaseException as error:
                    said.append(f"{type(error).__name__}: {str(error).splitlines()[0][:90]}")

            thread = threading.Thread(target=run, daemon=True)
            thread.start()
            time.sleep(whole / 2)
            end_one(client, random.Random(1))
            thread.join(LIMIT)
            after = f"{said[0]}, after {time.perf_counter() - start:.0f} s" if said else f"nothing in {LIMIT} s"
            version = importlib.metadata.version({"xgboost": "xgboost-cpu"}.get(name, name))
            print(f"{name} {version}: {after}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=400_000)
    parser.add_argument("--columns", type=int, default=136)
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--kills", type=int, default=0)
    parser.add_argument("--others", action="store_true")
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    if args.turns:
        efficiency(args.rows, args.columns, args.turns)
    if args.kills:
        kills(args.rows, args.columns, args.kills, args.seed)
    if args.others:
        others(args.rows, args.columns)


if __name__ == "__main__":
    main()
