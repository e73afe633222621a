"""Data that are made up, and files that are read as plain arrays."""

from __future__ import annotations

import gzip
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ordain
from ordain.datasets import (
    make_matching,
    make_ranking,
    make_registers,
    make_tagging,
    read_letor,
    read_matching,
    read_multilabel,
)

LETOR = """#1: bm25
#2: length
2 qid:10 1:0.5 2:3 #docid = GX-1 inc = 0.6
0 qid:7 2:4
1 qid:10 1:0.25 # GX-3
"""


def write(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def kinds(*arrays: Any) -> list[str]:
    return [array.dtype.name for array in arrays]


class TestMakers:
    def test_ranking(self) -> None:
        X, y, qid = make_ranking(n_queries=12, n_documents=(3, 6), n_features=5, n_grades=3, seed=4)
        assert kinds(X, y, qid) == ["float32", "float64", "int64"]
        assert X.shape == (len(y), 5)
        assert set(qid) == set(range(1, 13))
        sizes = np.bincount(qid)[1:]
        assert sizes.min() >= 3
        assert sizes.max() <= 6
        assert set(y) <= {0.0, 1.0, 2.0}
        assert (X[:, -1] == 1).all()
        again = make_ranking(12, (3, 6), 5, n_grades=3, seed=4)
        assert np.array_equal(X, again[0])
        assert np.array_equal(y, again[1])
        assert (make_ranking(12, 4, 5)[0] != make_ranking(12, 4, 5, seed=1)[0]).any()
        assert (np.bincount(make_ranking(12, 4, 5)[2])[1:] == 4).all()

    def test_tagging(self) -> None:
        X, Y, names = make_tagging(50, 9, seed=2)
        assert kinds(X, Y) == ["float32", "int8"]
        assert (X.shape, Y.shape, len(names)) == ((50, 9), (50, 9), 9)
        assert set(np.unique(Y)) == {0, 1}
        assert ((Y.sum(axis=1) > 0) & (Y.sum(axis=1) < 9)).all()
        assert X[Y == 1].mean() > 0.5 > -0.5 > X[Y == 0].mean()
        assert names[0] == "beach"

    def test_matching(self) -> None:
        X, y, problem, left, right = make_matching(6, 4, seed=1)
        assert kinds(X, y, problem) == ["float32", "float64", "int64"]
        assert X.shape == (len(y), 5)
        assert len(y) == len(problem) == len(left) == len(right)
        assert set(y) == {0.0, 1.0}
        assert set(problem) == set(range(1, 7))
        assert left[0] == "a1"
        for p in range(1, 7):
            here = (problem == p) & (y == 1)
            assert len(set(left[here])) == here.sum() == len(set(right[here]))

    def test_registers(self) -> None:
        one, pages = make_registers(200, seed=1), make_registers(200, page=8, seed=1)
        assert kinds(one.X, one.y) == ["float32", "float64"]
        assert one.X.shape == (len(one.y), 16)
        assert one.feature_names is not None
        assert one.feature_names[-1] == "birth_levenshtein"
        assert set(one.problem) == {1}
        assert set(pages.problem) == set(range(1, 26))
        assert pages.y.sum() == 140 >= one.y.sum() > 120
        assert 0.15 < np.isnan(one.X).mean() < 0.25  # of two fields one is empty; candidates share one that is not

    def test_learnable(self) -> None:
        X, y, qid = make_ranking(40, 10, 8, seed=1)
        ranker = ordain.RankSVM(lambda_=0.1).fit(X, y, qid)
        assert ranker.score(X, y, qid) > 0.6

    @pytest.mark.parametrize(
        ("call", "name"),
        [
            (lambda: make_ranking(0), "n_queries"),
            (lambda: make_ranking(3, (5, 2)), "n_documents"),
            (lambda: make_ranking(3, n_features=1.5), "n_features"),  # type: ignore[arg-type, unused-ignore]
            (lambda: make_ranking(noise=-1), "noise"),
            (lambda: make_ranking(noise=float("nan")), "noise"),
            (lambda: make_ranking(seed=-1), "seed"),
            (lambda: make_tagging(n_labels=1), "n_labels"),
            (lambda: make_matching(matched=1.5), "matched"),
            (lambda: make_registers(0), "n_records"),
        ],
    )
    def test_refusals(self, call: Any, name: str) -> None:
        with pytest.raises(ValueError, match=f"{name}: expected"):
            call()


class TestLetor:
    def test_text_in_the_order_of_the_file(self, tmp_path: Path) -> None:
        path = write(tmp_path, "train.txt", LETOR)
        data = read_letor(path)
        assert data.X.dtype == np.float32
        assert data.X.tolist() == [[0.5, 3.0], [0.0, 4.0], [0.25, 0.0]]
        assert data.y is not None
        assert data.y.tolist() == [2.0, 0.0, 1.0]
        assert data.qid.dtype == np.int64
        assert data.qid.tolist() == [10, 7, 10]
        assert data.feature_names == ["bm25", "length"]
        assert data.docid is not None
        assert data.docid.tolist() == ["GX-1", "2", "GX-3"]
        assert data.weight is None

    def test_compressed(self, tmp_path: Path) -> None:
        path = tmp_path / "train.txt.gz"
        path.write_bytes(gzip.compress(LETOR.encode()))
        assert read_letor(str(path)).qid.tolist() == [10, 7, 10]

    def test_csv(self, tmp_path: Path) -> None:
        path = write(tmp_path, "a.csv", "label,qid,docid,weight,bm25\n2,b,x,1,0.5\n0,a,y,2,0.25\n1,b,z,0.5,1\n")
        data = read_letor(path)
        assert data.qid.tolist() == ["b", "a", "b"]
        assert data.weight is not None
        assert data.weight.tolist() == [1.0, 2.0, 0.5]
        assert data.X.tolist() == [[0.5], [0.25], [1.0]]
        assert data.feature_names == ["bm25"]
        bare = read_letor(write(tmp_path, "b.tsv", "qid\tbm25\n1\t0.5\n01\t2\n"))
        assert bare.y is None
        assert bare.qid.tolist() == ["1", "01"]
        assert bare.docid is None

    def test_numbered_columns(self, tmp_path: Path) -> None:
        path = write(tmp_path, "a.txt", "1 qid:1 1:5 3:6\n0 qid:1 1:7 3:8\n")
        assert read_letor(path).feature_names is None
        assert read_letor(path).X.tolist() == [[5, 0, 6], [7, 0, 8]]
        data = read_letor(path, n_features=4)
        assert data.feature_names is None
        assert data.X.tolist() == [[5, 0, 6, 0], [7, 0, 8, 0]]
        assert read_letor(path, n_features=2).X.tolist() == [[5, 0], [7, 0]]
        named = write(tmp_path, "train.txt", LETOR)
        with pytest.raises(ValueError, match="n_features"):
            read_letor(named, n_features=4)

    def test_sparse(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        sparse = pytest.importorskip("scipy.sparse")
        rng = np.random.default_rng(1)
        X = np.where(rng.random((30, 60)) < 0.1, rng.random((30, 60)), 0).astype(np.float32)
        X[0] = 1
        rows = [
            f"{i % 3} qid:{i % 4} " + " ".join(f"{j + 1}:{float(x)!r}" for j, x in enumerate(row) if x)
            for i, row in enumerate(X)
        ]
        path = write(tmp_path, "a.txt", "\n".join(rows))
        data = read_letor(path)
        assert sparse.issparse(data.X)
        assert data.X.dtype == np.float32
        assert data.X.has_canonical_format
        assert (data.X.toarray() == X).all()
        assert data.qid.tolist() == [i % 4 for i in range(30)]
        ranker = ordain.RankSVM(lambda_=1.0, scale="global")
        scores = ranker.fit(data.X, data.y, data.qid).predict(data.X)
        monkeypatch.setitem(sys.modules, "scipy", None)
        dense = read_letor(path)
        assert isinstance(dense.X, np.ndarray)
        assert (dense.X == X).all()
        np.testing.assert_allclose(ranker.fit(X, data.y, data.qid).predict(X), scores, atol=1e-6)

    def test_missing(self, tmp_path: Path) -> None:
        path = write(tmp_path, "a.csv", "label,qid,a\n1,1,\n0,1,3\n0,1,5\n")
        with pytest.raises(ordain.FormatError, match=r"a\.csv:2:\d+: expected .*missing=\"zero\""):
            read_letor(path)
        assert read_letor(path, missing="zero").X[:, 0].tolist() == [0, 3, 5]
        assert read_letor(path, missing="mean").X[:, 0].tolist() == [4, 3, 5]
        assert np.isnan(read_letor(path, missing="nan").X[0, 0])
        with pytest.raises(ValueError, match="unknown missing"):
            read_letor(path, missing="drop")  # type: ignore[arg-type, unused-ignore]

    def test_errors(self, tmp_path: Path) -> None:
        with pytest.raises(FileNotFoundError, match="nowhere"):
            read_letor(tmp_path / "nowhere.txt")
        with pytest.raises(ordain.FormatError, match=r"a\.txt:2:9: expected"):
            read_letor(write(tmp_path, "a.txt", "1 qid:1 1:5\n0 qid:1 1;7\n"))
        with pytest.raises(ordain.FormatError, match="empty"):
            read_letor(write(tmp_path, "b.txt", ""))
        with pytest.raises(ordain.FormatError, match="expected a file or a pipe, found a folder"):
            read_letor(tmp_path)


class TestMultilabel:
    TABLE = "id,blue,green,labels\na,0.9,0.1,sky;sea\nb,0.2,0.8,forest\nc,0.5,0.5,\n"

    def test_table(self, tmp_path: Path) -> None:
        data = read_multilabel(write(tmp_path, "photos.csv", self.TABLE))
        assert data.label_names == ["sky", "sea", "forest"]
        assert data.Y.dtype == np.int8
        assert data.Y.tolist() == [[1, 1, 0], [0, 0, 1], [0, 0, 0]]
        assert data.feature_names == ["blue", "green"]
        assert data.item is not None
        assert data.item.tolist() == ["a", "b", "c"]
        np.testing.assert_allclose(data.X, [[0.9, 0.1], [0.2, 0.8], [0.5, 0.5]])

    def test_columns_of_labels(self, tmp_path: Path) -> None:
        path = write(tmp_path, "a.csv", 'name,x,sea,"sky, blue"\np,0.5,1,0\nq,0.25,,yes\n')
        for labels in (["sea", "sky, blue"], 'sea,"sky, blue"'):
            data = read_multilabel(path, labels=labels, id="name")
            assert data.label_names == ["sea", "sky, blue"]
            assert data.Y.dtype == np.float32
            np.testing.assert_array_equal(data.Y, [[1, 0], [np.nan, 1]])
            assert data.item is not None
            assert data.item.tolist() == ["p", "q"]

    def test_category(self, tmp_path: Path) -> None:
        path = write(tmp_path, "a.csv", "photo,kind,name,blue\np1,sea,x.jpg,9\np2,forest,y.jpg,2\np3,sea,z.jpg,8\n")
        data = read_multilabel(path, category="kind", id="photo", ignore=["name"])
        assert data.label_names == ["sea", "forest"]
        assert data.Y.tolist() == [[1, 0], [0, 1], [1, 0]]
        assert data.X.tolist() == [[9], [2], [8]]

    def test_arff(self, tmp_path: Path) -> None:
        text = (
            "@relation p\n@attribute bright numeric\n@attribute season {spring,autumn}\n@attribute sea {0,1}\n@data\n"
        )
        path = write(tmp_path, "p.arff", text + "0.75,autumn,1\n0.25,spring,?\n")
        labels = write(tmp_path, "p.xml", '<labels><label name="sea"></label></labels>')
        for where in (None, labels, str(labels)):
            data = read_multilabel(path, labels=where)
            assert data.feature_names == ["bright", "season=spring", "season=autumn"]
            assert data.X.tolist() == [[0.75, 0, 1], [0.25, 1, 0]]
            np.testing.assert_array_equal(data.Y, [[1], [np.nan]])
            assert data.item is None

    def test_text(self, tmp_path: Path) -> None:
        pytest.importorskip("scipy")
        path = write(tmp_path, "a.txt", "1,0 1:0.5 4:1 # photo7\n1 3:1\n 2:0.25 4:1\n")
        write(tmp_path, "labels.txt", "sea\nsky\n")
        data = read_multilabel(path)
        assert data.label_names == ["sea", "sky"]
        assert data.Y.tolist() == [[1, 1], [0, 1], [0, 0]]
        assert data.X.toarray().tolist() == [[0.5, 0, 0, 1], [0, 0, 1, 0], [0, 0.25, 0, 1]]
        assert data.feature_names is None

    def test_without_labels(self, tmp_path: Path) -> None:
        data = read_multilabel(write(tmp_path, "a.csv", "id,x\np,0.5\n"))
        assert data.Y is None
        assert data.label_names == []

    def test_errors(self, tmp_path: Path) -> None:
        with pytest.raises(FileNotFoundError):
            read_multilabel(tmp_path / "nowhere.arff")
        with pytest.raises(ordain.FormatError, match=r"a\.csv:2:2: .*labels=\"x\" takes"):
            read_multilabel(write(tmp_path, "a.csv", "id,x,labels\np,word,a\n"))
        with pytest.raises(ordain.FormatError, match=r"b\.csv"):
            read_multilabel(write(tmp_path, "b.csv", "id,x\np,1\n"), labels=["sea"])


class TestMatching:
    EDGES = "problem,left,right,alike,matched\n1,a,x,0.9,1\n2,5,7,0.5,0\n1,b,x,0.2,0\n1,b,y,0.4,\n"

    def test_edges(self, tmp_path: Path) -> None:
        data = read_matching(write(tmp_path, "links.csv", self.EDGES))
        assert data.problem.tolist() == [1, 1, 1, 2]
        assert data.left.tolist() == ["a", "b", "b", "5"]
        assert data.right.tolist() == ["x", "x", "y", "7"]
        np.testing.assert_array_equal(data.y, [1, 0, np.nan, 0])
        np.testing.assert_allclose(data.X[:, 0], [0.9, 0.2, 0.4, 0.5])
        assert data.feature_names == ["alike"]
        assert kinds(data.X, data.y) == ["float32", "float64"]

    def test_numbers(self, tmp_path: Path) -> None:
        data = read_matching(write(tmp_path, "links.csv", "left,right,alike\n0,10,1\n0,11,2\n"))
        assert (data.left.dtype, data.right.tolist()) == (np.int64, [10, 11])
        assert np.isnan(data.y).all()

    def test_points_of_two_sides(self, tmp_path: Path) -> None:
        text = "problem,side,id,x,y,red\n1,left,a,0,0,0.5\n1,left,b,4,1,1\n1,right,b,5,1,0.5\n1,right,c,2,2,0\n"
        data = read_matching(write(tmp_path, "points.csv", text), features=["coordinates", "descriptors"])
        assert data.feature_names == ["dx", "dy", "dx2", "dy2", "red"]
        assert len(data.y) == 4
        pairs = dict(zip(zip(data.left.tolist(), data.right.tolist(), strict=True), data.y.tolist(), strict=True))
        assert pairs == {("a", "b"): 0, ("a", "c"): 0, ("b", "b"): 1, ("b", "c"): 0}

    def test_points_of_frames(self, tmp_path: Path) -> None:
        text = "frame,point,x,y\n1,0,0,0\n1,1,4,1\n1,2,2,5\n2,0,0,1\n2,1,4,1\n2,2,3,5\n"
        path = write(tmp_path, "points.csv", text)
        pairs = write(tmp_path, "pairs.csv", "frame_a,frame_b,split\n1,2,test\n2,1,train\n")
        data = read_matching(path, pairs=pairs)
        assert data.X.shape == (18, 60)
        assert list(dict.fromkeys(data.problem.tolist())) == ["1-2", "2-1"]
        assert ((data.left == data.right) == (data.y == 1)).all()
        train = read_matching(path, pairs=pairs, split="train", features=["degree"])
        assert set(train.problem.tolist()) == {"2-1"}
        assert train.X.shape == (9, 1)
        with pytest.raises(ValueError, match="split: expected pairs="):
            read_matching(path, split="train")
        with pytest.raises(ValueError, match="unknown split"):
            read_matching(path, pairs=pairs, split="dev")  # type: ignore[arg-type, unused-ignore]
        with pytest.raises(ordain.FormatError, match="pairs="):
            read_matching(path)
        with pytest.raises(ValueError, match="unknown feature of points"):
            read_matching(path, pairs=pairs, features=["shape_context"])

    def test_missing_and_errors(self, tmp_path: Path) -> None:
        path = write(tmp_path, "a.csv", "left,right,alike\na,x,\na,y,2\n")
        with pytest.raises(ordain.FormatError, match=r"a\.csv:2:\d+"):
            read_matching(path)
        assert np.isnan(read_matching(path, missing="nan").X[0, 0])
        assert read_matching(path, missing="mean").X[:, 0].tolist() == [2, 2]
        with pytest.raises(ordain.FormatError, match="the first is on line 2"):
            read_matching(write(tmp_path, "b.csv", "left,right,alike\na,x,1\na,x,2\n"))
        with pytest.raises(FileNotFoundError):
            read_matching(tmp_path / "nowhere.csv")


def test_more_than_a_machine_holds_is_refused():
    for call in (
        lambda: ordain.make_ranking(n_queries=10**12),
        lambda: ordain.make_tagging(n_items=10**12),
        lambda: ordain.make_matching(n_records=10**9),
    ):
        with pytest.raises(MemoryError, match="values to make up"):
            call()
