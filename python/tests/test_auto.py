"""Estimators that choose the method too."""

from __future__ import annotations

import inspect
import pickle

import pytest
from conftest import told, write_letor

import ordain
from ordain import AutoMatcher, AutoRanker, AutoTagger, RankSVM, make_matching, make_tagging


def model_bytes(estimator) -> bytes:
    return estimator._model.to_bytes()


def test_a_ranker_is_that_of_the_command_line(data, tmp_path):
    write_letor(tmp_path / "train.txt", *data)
    told("fit", "auto", tmp_path / "train.txt", "-o", tmp_path / "cli.ordain", "--quiet", "--candidates", 2)
    model = AutoRanker(candidates=2).fit(data.X, data.y, qid=data.qid)
    assert model_bytes(model) == (tmp_path / "cli.ordain").read_bytes()
    assert model.method_ == model.facts_["method"]
    assert model.auto_["candidates"] == 2
    assert [one["method"] for one in model.auto_["tried"]] == ["ranksvm", "listnet"]
    assert model.score(data.X, data.y, data.qid) > 0.5
    # what is loaded is an estimator of the method that was taken
    loaded = ordain.load(tmp_path / "cli.ordain")
    assert type(loaded) is ordain._CLASSES[model.method_]
    assert (loaded.predict(data.X, qid=data.qid) == model.predict(data.X, qid=data.qid)).all()
    again = pickle.loads(pickle.dumps(model))
    assert type(again) is AutoRanker
    assert model_bytes(again) == model_bytes(model)


def test_a_budget_only_ends_the_list(data):
    timed = AutoRanker(budget=0.3).fit(data.X, data.y, qid=data.qid)
    counted = AutoRanker(candidates=timed.auto_["candidates"]).fit(data.X, data.y, qid=data.qid)
    assert model_bytes(timed) == model_bytes(counted)


def test_all_tasks():
    X, Y, _ = make_tagging(80, 6, n_scenes=3)
    tagger = AutoTagger(candidates=1).fit(X, Y)
    assert tagger.method_ == "independent"
    assert tagger.predict(X).shape == Y.shape
    X, y, problem, left, right = make_matching(20)
    ids = {"problem": problem, "left": left, "right": right}
    matcher = AutoMatcher(candidates=1).fit(X, y, **ids)
    assert matcher.method_ == "matchmap"
    assert matcher.predict(X, **ids).sum() > 0


@pytest.mark.parametrize("kind", [AutoRanker, AutoTagger, AutoMatcher])
def test_parameters(kind):
    parameters = inspect.signature(kind).parameters
    assert all(p.kind is p.KEYWORD_ONLY for p in parameters.values())
    assert {"budget", "candidates", "choose_by", "missing", "inputs", "seed", "n_threads", "progress"} <= set(
        parameters
    )
    assert kind(candidates=3).get_params()["candidates"] == 3


@pytest.mark.parametrize(
    ("params", "match"),
    [
        ({"budget": 0}, "budget: expected None or a number of seconds above 0"),
        ({"budget": "60s"}, "budget: expected None or a number of seconds above 0"),
        ({"candidates": True}, "candidates: expected None or a whole number above 0"),
        ({"candidates": 99}, "from 1 to 9"),
        ({"candidates": 2, "budget": 1.0}, "found both"),
    ],
)
def test_wrong_parameters_are_refused(data, params, match):
    with pytest.raises(ValueError, match=match):
        AutoRanker(**params).fit(data.X, data.y, qid=data.qid)


def test_a_callback_hears_of_every_candidate(data):
    heard = []
    AutoRanker(candidates=2).fit(data.X, data.y, qid=data.qid, callbacks=lambda share, word: heard.append(word))
    assert {"trying ranksvm", "trying listnet"} <= set(heard)
    assert not hasattr(RankSVM(), "budget")
