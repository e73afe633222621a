# The compiled half of the package; its documentation is in the functions themselves. `./check` compares the two.

import os
from collections.abc import Callable, Sequence
from typing import Any, Literal, TypeAlias, final, overload

import numpy as np

_Floats: TypeAlias = np.ndarray[Any, np.dtype[np.float32]]
_Doubles: TypeAlias = np.ndarray[Any, np.dtype[np.float64]]
_Ints: TypeAlias = np.ndarray[Any, np.dtype[np.int64]]
_Bytes: TypeAlias = np.ndarray[Any, np.dtype[np.int8]]
_Bools: TypeAlias = np.ndarray[Any, np.dtype[np.bool_]]
# rows of float32, or indptr, indices, data and the number of columns, or rows and columns that are no numbers
_Rows: TypeAlias = (
    _Floats | tuple[_Ints, _Ints, _Floats, int] | tuple[_Floats, Sequence[tuple[str, Sequence[list[str] | _Floats]]]]
)
_Ids: TypeAlias = _Ints | list[str]
_Names: TypeAlias = list[str] | None
_Settings: TypeAlias = Sequence[tuple[str, str]]
# choose_by, convention, refit, seed, missing, threads and callback
_Run: TypeAlias = dict[str, Any]
# the name of a metric, or a function of what is right and what is said of one unit
# what is decided by, the least probability of a match, and the precision to reach
_Operating: TypeAlias = tuple[str | None, float | None, float | None]
_By: TypeAlias = str | Callable[[_Doubles, _Doubles], float | None]
# a feature, what it is worth, and the ends of its interval
_Worth: TypeAlias = tuple[str, float, float, float]
# a column, its range before and now, rows, rows below and above, units, how far, and the share that moved
_Gone: TypeAlias = tuple[str, list[float], list[float], list[int], float, float | None]
# where the list of each row starts, and the numbers in all of them
_Lists: TypeAlias = tuple[_Ints, _Ints]
_Answers: TypeAlias = tuple[_Lists, _Bools]
_Edges: TypeAlias = tuple[_Rows, _Names, _Ids | None, _Ids, _Ids]
# the number of each row, and what the numbers stand for
_Coded: TypeAlias = tuple[_Ints, list[str]]
# column, both values, the difference after scaling, the weight and their product
_Reason: TypeAlias = tuple[int, float, float, float, float, float]
# the item of each row, and its place in its query, 0 where it is not known
_Known: TypeAlias = dict[str, Any] | None
_Nulls: TypeAlias = tuple[_Doubles, _Doubles] | None
# labels, and their value
_Set: TypeAlias = tuple[_Ints, float]
# scores, links, core, k, discounts, the name of a design, its matrix, extra terms, items at places
_Given: TypeAlias = tuple[
    _Doubles,
    _Doubles,
    list[int],
    int | None,
    _Doubles | None,
    str,
    _Doubles | None,
    _Doubles | None,
    list[tuple[int, int]],
]
_Path: TypeAlias = str | os.PathLike[str]

__all__ = [
    "Annotator",
    "Block",
    "FormatError",
    "Matcher",
    "Ranker",
    "RuleBook",
    "Shard",
    "__version__",
    "coarse_columns",
    "fit_away",
    "fit_labels",
    "fit_match",
    "fit_problems_away",
    "fit_rank",
    "from_bytes",
    "layouts",
    "linear_assignment",
    "link",
    "load",
    "make_levels",
    "make_matching",
    "make_orders",
    "make_ranking",
    "make_registers",
    "make_silhouettes",
    "make_tagging",
    "make_videos",
    "measure",
    "methods",
    "permanent",
    "point_edges",
    "quadratic_assignment",
    "read_arrow",
    "read_letor",
    "read_matching",
    "read_multilabel",
    "sample_matchings",
    "settings",
    "star_argmax",
    "star_marginals",
    "star_ranking",
    "star_ranking_forced",
    "star_ranking_marginals",
    "top_k_marginals",
    "write_whole",
]
__version__: str

class FormatError(ValueError): ...

@final
class Ranker:
    @property
    def method(self) -> str: ...
    @property
    def unfinished(self) -> str | None: ...
    @property
    def by_query(self) -> bool: ...
    @property
    def discounts(self) -> _Doubles: ...
    @property
    def pair_weights(self) -> list[tuple[str, float]] | None: ...
    @property
    def weights(self) -> _Doubles | None: ...
    @property
    def gains(self) -> _Doubles | None: ...
    def header(self) -> str: ...
    def columns(self) -> list[str]: ...
    def to_bytes(self) -> bytes: ...
    def export(self, to: str, how: dict[str, Any]) -> tuple[bytes, list[tuple[str, bytes]], list[str]]: ...
    def save(self, path: _Path) -> None: ...
    def scores(
        self, x: _Rows, names: _Names, qid: _Ids | None, threads: int | None, known: _Known = None
    ) -> _Doubles: ...
    def places(
        self, x: _Rows, names: _Names, qid: _Ids | None, threads: int | None, known: _Known = None
    ) -> tuple[_Doubles, _Doubles, _Doubles]: ...
    def explain(
        self, x: _Rows, names: _Names, qid: _Ids | None, above: int, below: int, known: _Known = None
    ) -> list[_Reason]: ...
    def answers(
        self,
        x: _Rows,
        names: _Names,
        qid: _Ids | None,
        top: int | None,
        probabilities: bool,
        threads: int | None,
        known: _Known = None,
    ) -> list[str]: ...
    def ruled(
        self,
        x: _Rows,
        names: _Names,
        qid: _Ids | None,
        rules: RuleBook,
        values: list[list[str]],
        top: int | None,
        threads: int | None,
        known: _Known = None,
    ) -> list[str]: ...
    def importances(
        self,
        x: _Rows,
        names: _Names,
        qid: _Ids | None,
        y: _Doubles,
        by: tuple[_By, str],
        draws: int,
        threads: int | None,
        known: _Known = None,
    ) -> list[_Worth]: ...
    def drift(
        self, x: _Rows, names: _Names, qid: _Ids | None, threads: int | None, known: _Known = None
    ) -> list[_Gone]: ...

@final
class RuleBook:
    @staticmethod
    def from_json(text: str) -> RuleBook: ...
    @staticmethod
    def read(path: _Path) -> RuleBook: ...
    @property
    def columns(self) -> list[str]: ...

@final
class Annotator:
    @property
    def method(self) -> str: ...
    @property
    def unfinished(self) -> str | None: ...
    @property
    def below_floor(self) -> bool: ...
    @property
    def links(self) -> _Doubles: ...
    @property
    def probabilistic(self) -> bool: ...
    @property
    def gains(self) -> _Doubles | None: ...
    def header(self) -> str: ...
    def columns(self) -> list[str]: ...
    def to_bytes(self) -> bytes: ...
    def export(self, to: str, how: dict[str, Any]) -> tuple[bytes, list[tuple[str, bytes]], list[str]]: ...
    def save(self, path: _Path) -> None: ...
    def values(self, x: _Rows, names: _Names, answers: _Answers | None, threads: int | None) -> _Doubles: ...
    def scores(self, x: _Rows, names: _Names, threads: int | None) -> _Doubles: ...
    def order(self, x: _Rows, names: _Names, threads: int | None) -> _Ints: ...
    def chosen(
        self, x: _Rows, names: _Names, answers: _Answers | None, threads: int | None, decide: str | None = None
    ) -> _Ints: ...
    def measure(
        self,
        by: tuple[_By, str],
        x: _Rows,
        names: _Names,
        labels: list[str],
        yes: _Lists,
        unknown: _Lists | None,
        threads: int | None,
    ) -> tuple[float, list[str]]: ...
    def importances(
        self,
        x: _Rows,
        names: _Names,
        labels: list[str],
        yes: _Lists,
        unknown: _Lists | None,
        by: tuple[_By, str],
        draws: int,
        threads: int | None,
    ) -> list[_Worth]: ...
    def drift(self, x: _Rows, names: _Names, threads: int | None) -> list[_Gone]: ...
    def question(
        self,
        x: _Rows,
        names: _Names,
        answers: _Answers | None,
        skipped: list[int],
        strategy: str,
        k: int | None,
        seed: int,
        threads: int | None,
    ) -> tuple[int, float, float, float | None, float] | None: ...
    def explain(
        self, x: _Rows, names: _Names, row: int, above: int | None, below: int | None, threads: int | None
    ) -> list[tuple[str, float, float, bool]]: ...
    def answers(self, x: _Rows, names: _Names, top: int | None, threads: int | None) -> list[str]: ...
    def label(self, name: str) -> int: ...
    def linear(self) -> tuple[_Doubles, _Doubles]: ...

@final
class Matcher:
    @property
    def method(self) -> str: ...
    @property
    def unfinished(self) -> str | None: ...
    @property
    def null(self) -> float | None: ...
    @property
    def temperature(self) -> float | None: ...
    @property
    def weights(self) -> _Doubles | None: ...
    @property
    def gains(self) -> _Doubles | None: ...
    def header(self) -> str: ...
    def columns(self) -> list[str]: ...
    def to_bytes(self) -> bytes: ...
    def export(self, to: str, how: dict[str, Any]) -> tuple[bytes, list[tuple[str, bytes]], list[str]]: ...
    def save(self, path: _Path) -> None: ...
    def scores(self, data: _Edges, threads: int | None) -> _Doubles: ...
    def matched(self, data: _Edges, threads: int | None, operating: _Operating) -> _Bytes: ...
    def probabilities(self, data: _Edges, threads: int | None) -> tuple[_Doubles, str]: ...
    def matches(
        self, data: _Edges, threads: int | None, operating: _Operating
    ) -> tuple[tuple[_Ints, _Doubles, _Doubles, _Doubles, _Ints, _Bools], str]: ...
    def unmatched(
        self, data: _Edges, threads: int | None, operating: _Operating
    ) -> tuple[tuple[_Ints, _Bools, _Doubles], str]: ...
    def measure(self, data: _Edges, y: _Doubles, metric: _By, threads: int | None) -> float: ...
    def importances(
        self, data: _Edges, y: _Doubles, by: tuple[_By, str], draws: int, threads: int | None
    ) -> list[_Worth]: ...
    def drift(self, data: _Edges, threads: int | None) -> list[_Gone]: ...
    def explain(self, data: _Edges, above: int, below: int) -> list[_Reason]: ...
    def answers(self, data: _Edges, top: int | None, threads: int | None, operating: _Operating) -> list[str]: ...

@final
class Block:
    @staticmethod
    def read(kind: str, path: _Path, columns: dict[str, Any], missing: str, threads: int | None) -> Block: ...
    @staticmethod
    def of_rows(
        x: _Rows,
        names: _Names,
        y: _Doubles,
        qid: _Ids,
        weight: _Doubles | None,
        roles: dict[str, Any],
        missing_: str,
    ) -> Block: ...
    @staticmethod
    def of_edges(
        x: _Rows,
        names: _Names,
        y: _Doubles,
        problem: _Ids | None,
        left: _Ids,
        right: _Ids,
        roles: dict[str, Any],
        missing_: str,
    ) -> Block: ...
    @staticmethod
    def stacked(fragments: Sequence[tuple[Block, int]], plan: str) -> Block: ...
    @staticmethod
    def of_problem_state(x: _Rows, problems: bytes, columns: str) -> Block: ...
    @staticmethod
    def of_state(
        x: _Rows,
        grades: _Doubles,
        sizes: _Ints,
        names: list[str],
        weights: _Doubles | None,
        columns: str,
        input: list[int],
        documents: list[str] | None,
    ) -> Block: ...
    def columns(self) -> str: ...
    def outline(self) -> tuple[_Ints, np.ndarray[Any, np.dtype[np.uint64]]]: ...
    def name(self, unit: int) -> str: ...
    def about(self) -> tuple[bool, bool, bool, int]: ...
    def part(self, from_: int, to: int) -> Block: ...
    def problems(self) -> bytes: ...
    def problem_state(self) -> tuple[Any, bytes, str] | None: ...
    def state(
        self,
    ) -> tuple[Any, _Doubles, _Ints, list[str], _Doubles | None, str, list[int], list[str] | None] | None: ...

@final
class Shard:
    def __new__(cls, block: Block, joint: Block | None, plan: str) -> Shard: ...
    def answer(self, common: bytes, own: bytes, threads: int | None) -> bytes: ...
    def transformed(self, by: bytes, threads: int | None) -> Shard: ...

def layouts(columns: str, sizes: Sequence[_Ints]) -> list[tuple[int, int, str, list[tuple[int, int, int]]]]: ...
def fit_away(
    name: str,
    settings: _Settings,
    columns: str,
    sizes: _Ints,
    weighted: bool,
    runs: Sequence[tuple[int, int]],
    valid_from: int | None,
    run: _Run,
    pool: Any,
) -> tuple[Ranker, BaseException | None]: ...
def fit_problems_away(
    name: str,
    settings: _Settings,
    columns: str,
    problems: Sequence[bytes],
    runs: Sequence[tuple[int, int]],
    valid_from: int | None,
    run: _Run,
    pool: Any,
) -> tuple[Matcher, BaseException | None]: ...
def fit_rank(
    name: str,
    settings: _Settings,
    x: _Rows,
    names: _Names,
    y: _Doubles | None,
    qid: _Ids | None,
    weight: _Doubles | None,
    valid_from: int | None,
    run: _Run,
    items: _Ids | None = None,
    links: dict[str, Any] | None = None,
    start: _Doubles | None = None,
    judged: dict[str, Any] | None = None,
    init: Ranker | None = None,
) -> tuple[Ranker, BaseException | None]: ...
def fit_labels(
    name: str,
    settings: _Settings,
    x: _Rows,
    names: _Names,
    labels: list[str],
    yes: _Lists,
    unknown: _Lists | None,
    valid_from: int | None,
    run: _Run,
) -> tuple[Annotator, BaseException | None]: ...
def fit_match(
    name: str,
    settings: _Settings,
    x: _Rows,
    names: _Names,
    y: _Doubles,
    problem: _Ids | None,
    left: _Ids,
    right: _Ids,
    valid_from: int | None,
    run: _Run,
) -> tuple[Matcher, BaseException | None]: ...
def link(
    left: Any,
    right: Any,
    id: str,
    known: Any,
    block: list[str],
    compare: list[str],
    right_many: bool,
    min_probability: float | None,
) -> tuple[
    list[str | None],
    list[str | None],
    _Doubles,
    list[bool],
    list[tuple[str, int, int]],
    tuple[int, int],
    list[tuple[str, float]],
]: ...
def load(path: _Path) -> Ranker | Annotator | Matcher: ...
def write_whole(path: _Path, content: bytes) -> None: ...
def from_bytes(bytes: bytes) -> Ranker | Annotator | Matcher: ...
def methods() -> list[tuple[str, str]]: ...
def settings(name: str) -> list[tuple[str, str, str, str]]: ...
def read_arrow(
    table: Any, take: list[str], leave: list[str], cells: list[str]
) -> tuple[_Floats, list[str], dict[str, Any], list[str], list[list[str]]]: ...
def coarse_columns(values: Any) -> list[int]: ...
def measure(
    name: _By,
    y: _Doubles,
    score: _Doubles,
    qid: _Ids | None,
    convention: str,
    rules: _Settings,
    docid: list[str] | None = None,
) -> _Doubles: ...
def make_orders(lists: int, link: float, seed: int) -> tuple[_Floats, _Doubles, _Ints, list[str]]: ...
def make_ranking(
    queries: int, documents: tuple[int, int], features: int, grades: int, noise: float, seed: int
) -> tuple[_Floats, _Doubles, _Ints]: ...
def make_tagging(
    items: int, labels: int, scenes: int, noise: float, seed: int
) -> tuple[_Floats, _Bytes, list[str]]: ...
def make_matching(
    problems: int, records: int, matched: float, look_alikes: float, seed: int
) -> tuple[_Floats, _Doubles, _Coded, _Coded, _Coded, _Names, list[str]]: ...
def make_levels(queries: int, documents: int, side: float, seed: int) -> tuple[_Floats, _Doubles, _Ints]: ...
def make_silhouettes(classes: int, each: int, side: int, seed: int) -> tuple[_Floats, list[int]]: ...
def make_videos(classes: int, sequences: int, frames: int, side: int, seed: int) -> tuple[_Floats, list[int]]: ...
def make_registers(
    records: int, page: int | None, seed: int
) -> tuple[_Floats, _Doubles, _Coded, _Coded, _Coded, _Names, list[str]]: ...
def read_letor(
    path: _Path, columns: dict[str, Any], missing: str, n_features: int | None, sparse: bool
) -> tuple[_Rows, _Doubles | None, _Coded, _Names, _Names, _Doubles | None, list[str]]: ...
def read_multilabel(
    path: _Path,
    labels: str | None,
    category: str | None,
    columns: dict[str, Any],
    missing: str,
    sparse: bool,
) -> tuple[_Rows, Any, list[str], _Names, _Names, list[str]]: ...
def read_matching(
    path: _Path, pairs: _Path | None, features: str, columns: dict[str, Any], split: str | None, missing: str
) -> tuple[_Floats, _Doubles, _Coded, _Coded, _Coded, _Names, list[str]]: ...
def point_edges(left: _Doubles, right: _Doubles, wanted: list[str]) -> tuple[_Floats, _Ints, _Ints, list[str]]: ...
@overload
def linear_assignment(cost: Any, *, maximize: bool = False, duals: Literal[False] = False) -> tuple[_Ints, _Ints]: ...
@overload
def linear_assignment(
    cost: Any, *, maximize: bool = False, duals: Literal[True]
) -> tuple[_Ints, _Ints, _Doubles, _Doubles]: ...
def permanent(
    weights: _Doubles, null: _Nulls, method: str, seed: int
) -> tuple[float, _Doubles, str, float | None, str]: ...
def quadratic_assignment(
    a: _Doubles,
    b: _Doubles,
    linear: _Doubles | None,
    seconds: float,
    steps: int | None,
    seed: int,
    bound: str,
) -> tuple[_Ints, float, float, bool, int]: ...
def sample_matchings(weights: _Doubles, count: int, null: _Nulls, method: str, seed: int) -> _Ints: ...
def top_k_marginals(scores: _Doubles, k: int, discounts: _Doubles | None) -> tuple[float, _Doubles, _Doubles]: ...
def star_argmax(
    scores: _Doubles,
    links: _Doubles,
    core: list[int],
    k: int,
    fixed: list[tuple[int, bool]],
    second: bool,
    forced: bool,
) -> tuple[_Set, _Set | None, tuple[_Doubles, _Doubles] | None]: ...
def star_marginals(
    scores: _Doubles, links: _Doubles, core: list[int], k: int, fixed: list[tuple[int, bool]]
) -> tuple[float, _Doubles]: ...
def star_ranking(given: _Given, limit: int | None) -> tuple[_Ints, float, float]: ...
def star_ranking_marginals(given: _Given) -> tuple[float, _Doubles, _Doubles]: ...
def star_ranking_forced(given: _Given) -> _Doubles: ...
