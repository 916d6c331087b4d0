"""What needs no plan: to run no test, or to run them all and let a classifier judge.

The classifiers are scikit-learn's; they see what running everything shows, and commit to what costs least by their
probabilities (that is the threshold that the losses ask for). What running everything costs is the menu's to say:
groups, orders and caps included.

Shapes: n cases, T tests, D diagnoses, E commits.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rhoplan.errors import MissingExtra
from rhoplan.learning.build import prior_of
from rhoplan.learning.cases import Cases
from rhoplan.learning.outcomes import cut_column
from rhoplan.model.diagnostic import Done
from rhoplan.model.pomdp import Array, Ids

NO_TEST = "no test"
BOOSTING = "all tests + boosting"
CLASSIFIERS = ("all tests + logistic", BOOSTING)
TRIVIAL = (NO_TEST, *CLASSIFIERS)
"""Policies that need no plan; a model that does not beat the best of them is not worth having."""


def need_sklearn() -> None:
    """MissingExtra where scikit-learn is not installed."""
    try:
        import sklearn  # noqa: F401
    except ImportError:
        raise MissingExtra("learning from cases", "scikit-learn") from None


def commit_without_test(cases: Cases, train: Ids) -> int:
    """The best commit when nothing is known but how frequent diagnoses are."""
    return int(np.argmin(cases.plan.losses @ prior_of(cases.plan, cases.diagnosis[train])))


def run_everything(cases: Cases) -> tuple[NDArray[np.bool_], Array]:
    """Which tests (n, T) are run where all are that can be had, in the plan's order, and what (n,) that costs."""
    menu, tests = cases.plan.menu, cases.plan.tests
    there = np.stack([~cases.table.columns[test.name].blank for test in tests], axis=1)
    patterns, place = np.unique(there, axis=0, return_inverse=True)
    run, price = np.zeros_like(patterns), np.zeros(len(patterns))
    for number, pattern in enumerate(patterns):
        done, left = Done(), [t for t in range(len(tests)) if pattern[t]]
        while ready := [t for t in left if menu.allowed(tests[t], done)]:
            price[number] += menu.price(tests[ready[0]], done)
            done = menu.after(tests[ready[0]], done)
            run[number, ready[0]] = True
            left.remove(ready[0])
    place = place.ravel()
    return run[place], price[place]


def classified(cases: Cases, train: Ids, test: Ids, run: NDArray[np.bool_], name: str, *, seed: int) -> Ids:
    """The commits (m,) for the cases `test` by the classifier `name` made of the cases `train`."""
    commits: Ids = np.argmin(judged(cases, train, test, run, name, seed=seed) @ cases.plan.losses.T, axis=1)
    return commits


def judged(cases: Cases, train: Ids, test: Ids, run: NDArray[np.bool_], name: str, *, seed: int) -> Array:
    """The chances (m, D) of diagnoses in the cases `test` by the classifier `name` made of the cases `train`.

    run (n, T): the tests whose results it may see.
    """
    features, kinds = _features(cases, train, run)
    there = np.flatnonzero(~np.isnan(features[train]).all(axis=0))
    if not there.size:
        return np.tile(prior_of(cases.plan, cases.diagnosis[train]), (len(test), 1))
    features, kinds = features[:, there], [kinds[place] for place in there]
    model = _classifier(name, kinds, seed)
    from threadpoolctl import threadpool_limits

    with warnings.catch_warnings(), threadpool_limits(1):  # the tables are small: more threads wait more than they work
        warnings.simplefilter("ignore")  # that a fit has not settled is no fault of the table
        model.fit(features[train], cases.diagnosis[train], **_weights(name, cases, train))
        found = model.predict_proba(features[test])
    probability = np.zeros((len(test), len(cases.plan.states)))
    probability[:, model.classes_] = found
    return probability


def _weights(name: str, cases: Cases, train: Ids) -> dict[str, Array]:
    step = "" if name == BOOSTING else "logisticregression__"
    return {f"{step}sample_weight": cases.weight[train]}


def _features(cases: Cases, train: Ids, run: NDArray[np.bool_]) -> tuple[Array, list[bool]]:
    """Numbers (n, T), NaN where blank, texts as codes; and which columns are texts."""
    columns, kinds = [], []
    for place, test in enumerate(cases.plan.tests):
        column = cases.table.columns[test.name]
        if column.numbers is not None and not test.outcomes:
            values = column.numbers.copy()
        else:
            cut = cut_column(column, train, 0, test.outcomes)
            found = (
                np.zeros(len(column.cells)) if cut is None else cut(column, np.arange(len(column.cells))).astype(float)
            )
            values = np.where((found < 0) | column.blank, np.nan, found)
        kinds.append(column.numbers is None and not test.outcomes)
        columns.append(np.where(run[:, place], values, np.nan))
    return np.stack(columns, axis=1), kinds


def _classifier(name: str, texts: list[bool], seed: int) -> Any:
    from sklearn.compose import make_column_transformer
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.impute import SimpleImputer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    if name == BOOSTING:
        return HistGradientBoostingClassifier(categorical_features=texts, random_state=seed)
    numbers = [place for place, text in enumerate(texts) if not text]
    names = [place for place, text in enumerate(texts) if text]
    filled = SimpleImputer(strategy="median", add_indicator=True, keep_empty_features=True)
    prepared = make_column_transformer(
        (make_pipeline(filled, StandardScaler()), numbers), (OneHotEncoder(handle_unknown="ignore"), names)
    )
    return make_pipeline(prepared, LogisticRegression(max_iter=1000))
