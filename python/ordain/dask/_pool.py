"""Shards on workers, as they are seen where the fit runs."""

from __future__ import annotations

import json
import logging
import statistics
import uuid
from collections.abc import Iterable
from typing import Any

import distributed
import numpy as np
from distributed.scheduler import KilledWorker

from .. import _ordain
from ._workers import _aligned, _answer, _name, _outline, _part, _problems, _shard, _transformed, _version

LOG = logging.getLogger("ordain.dask")

SLOW, LEAST, AGAIN = 3.0, 0.05, 5  # times the usual worker, seconds, and questions in a row from which a worker is slow


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
        return self.pool.heard(self.pool.gather(self.futures))

    def cancel(self) -> None:
        """Nobody wants the answers."""
        self.pool.client.cancel(self.futures)
        _release(self.futures)


class _Pool:
    """Shards on workers."""

    def __init__(self, client: Any, handles: list[Any], names: list[str], sizes: list[int], held: list[Any]) -> None:
        self.client, self.handles, self.names, self.sizes, self.held = client, handles, names, sizes, held
        self.slow: dict[str, int] = {}
        # at first: where a worker has ended nobody is there to be asked
        there = {} if client is None else client.scheduler_info(n_workers=-1)["workers"]
        self.limits = [worker["memory_limit"] for worker in there.values()]

    def ask(self, common: bytes, own: list[bytes]) -> _Waiting:
        """Asks every shard."""
        run = uuid.uuid4().hex
        futures = [
            self.client.submit(_answer, handle, common, mask, key=f"ordain-answer-{run}-{n}", pure=False)
            for n, (handle, mask) in enumerate(zip(self.handles, own, strict=True))
        ]
        return _Waiting(self, futures)

    def heard(self, answers: list[Any]) -> list[bytes]:
        """The answers; a worker that is slow again and again is named."""
        took: dict[str, float] = {}
        for _, seconds, worker in answers:
            took[worker] = took.get(worker, 0.0) + seconds
        usual = statistics.median_low(took.values()) if took else 0.0
        for worker, seconds in took.items():
            slow = len(took) > 1 and seconds > max(SLOW * usual, LEAST)
            self.slow[worker] = self.slow.get(worker, 0) + 1 if slow else 0
            if self.slow[worker] == AGAIN:
                LOG.warning(
                    "worker %s took %.2g s where others take %.2g s, %d questions in a row: it may hold too much of "
                    "the data (write more and smaller partitions or files), or its machine has other work",
                    *(worker, seconds, usual, AGAIN),
                )
        return [answer for answer, _, _ in answers]

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
        least = min(self.limits, default=0)
        limit = f"a worker has {least / 1e9:.3g} GB" if least else "workers have no limit"
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


# what rows of a frame are exchanged by, so that units are whole
SHUFFLES = {"query": "qid", "problem": "problem"}


class _Data:
    """Blocks of units on workers, and what is known of them here."""

    def __init__(self, client: Any, unit: str, blocks: list[Any], names: list[str], first_valid: int | None) -> None:
        self.client, self.unit, self.names = client, unit, names
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
        """Refuses a unit in two blocks."""
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
                    f"{self.unit} {a!r} is in {one} and in {two}: a {self.unit} has to be whole in one of them; write "
                    f'files {self.unit} by {self.unit}, or of a frame pass shuffle="{SHUFFLES[self.unit]}"'
                )

    def problems(self) -> list[bytes]:
        """The problems of all blocks, without the features of their edges."""
        pool = _Pool(self.client, self.blocks, self.names, self.bytes, [])
        return list(pool.gather([self.client.submit(_problems, block, pure=False) for block in self.blocks]))

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
