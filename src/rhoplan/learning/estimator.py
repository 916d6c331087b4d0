"""`CaseAdvisor`: learning from cases in the manner of scikit-learn (`fit`, `predict`, `score`), and advice on a case.

`fit` takes a DataFrame (or an array and `feature_names`) and what cases turned out to be; what is learned from them is
in attributes that end with an underscore. `score` is minus the cost per case of the policy on other cases, so that
larger is better, as scikit-learn has it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from rhoplan.agents.agent import decide
from rhoplan.errors import EvidenceError, MissingExtra, in_a_row
from rhoplan.learning.build import Learned, build
from rhoplan.learning.cases import Cases, match
from rhoplan.learning.choices import Choice, Grid
from rhoplan.learning.choose import choose, cost_of
from rhoplan.learning.folds import POLICY, Splitting
from rhoplan.learning.outcomes import Cut
from rhoplan.learning.plan import Plan, read_plan
from rhoplan.learning.replay import Replayed, replay
from rhoplan.learning.table import Table, make_column, table_of
from rhoplan.model.belief import Belief
from rhoplan.model.diagnostic import Done
from rhoplan.model.pomdp import POMDP, Array
from rhoplan.planning.recommendation import Recommendation

try:
    from sklearn.base import BaseEstimator
except ImportError:
    raise MissingExtra("CaseAdvisor", "scikit-learn") from None


class CaseAdvisor(BaseEstimator):  # type: ignore[misc, unused-ignore]
    """Learns what to observe and when to stop from past cases.

    plan: a Plan or the path of one. choice: how to learn and look ahead; None to choose on folds inside `fit`. After
    `fit`: problem_, choice_, classes_ (diagnoses), feature_names_in_ and n_features_in_, warnings_.
    """

    def __init__(self, plan: Plan | Path | str, *, choice: Choice | None = None, seed: int = 0) -> None:
        self.plan = plan
        self.choice = choice
        self.seed = seed

    def fit(self, X: Any, y: Sequence[object]) -> CaseAdvisor:
        """Learn from cases X, one row each, that turned out to be y."""
        plan = self.plan if isinstance(self.plan, Plan) else read_plan(self.plan)
        cases = match(_table(X, plan, y), plan)
        everybody = np.arange(cases.size)
        inner = Splitting().inner(cases, everybody, seed=self.seed)
        self.choice_ = self.choice or choose(cases, inner, seed=self.seed, grid=Grid())[POLICY]
        self.learned_: Learned = build(
            cases.table, cases.plan, cases.diagnosis, everybody, self.choice_, seed=self.seed
        )
        self.problem_: POMDP = self.learned_.problem
        self.cases_plan_ = cases.plan
        self.classes_ = np.array(cases.plan.states)
        self.feature_names_in_ = np.array([name for name in cases.table.columns if name != plan.target], dtype=object)
        self.n_features_in_ = len(self.feature_names_in_)
        self.warnings_ = cases.warnings
        return self

    def advise(self, case: Mapping[str, object], *, unavailable: Sequence[str] = ()) -> Recommendation:
        """What to do next in a case so far: results by test, in the order they were seen, as the table has them."""
        self._check_fitted()
        cuts = {cut.column: cut for cut in self.learned_.cuts}
        given = [(name, _outcome(cuts, name, value)) for name, value in case.items()]
        situation = self.problem_.belief(given=given)
        names = {test.name for test in self.problem_.flat.tests}
        for name in unavailable:
            if name not in names:
                raise EvidenceError(f"there is no test '{name}' that could be unavailable", field=("unavailable",))
        if unavailable:
            done = situation.observable
            assert isinstance(done, Done)
            situation = Belief(self.problem_, done._replace(run=done.run | set(unavailable)), situation.beliefs)
        return decide(self.problem_, self.choice_.agent, situation)

    def predict_proba(self, X: Any) -> Array:
        """The belief (n, D) about the diagnosis where the policy stops in each case."""
        belief = self._replayed(X).belief
        return np.stack(
            [belief[:, self.learned_.diagnosis == d].sum(axis=1) for d in range(len(self.classes_))], axis=1
        )

    def predict(self, X: Any) -> Any:
        """The commit (n,) that the policy ends with in each case, by name."""
        commits = np.array([commit.name for commit in self.cases_plan_.commits], dtype=object)
        return commits[self._replayed(X).commit]

    def score(self, X: Any, y: Sequence[object]) -> float:
        """Minus the mean cost of the cases X that turned out to be y: tests and losses."""
        self._check_fitted()
        place = {name: number for number, name in enumerate(self.cases_plan_.states)}
        unknown = next((str(one) for one in y if str(one) not in place), None)
        if unknown is not None:
            raise EvidenceError(f"y must be diagnoses ({', '.join(place)}); one is '{unknown}'", field=("y",))
        diagnosis = np.array([place[str(one)] for one in y])
        replayed = self._replayed(X)
        cases = Cases(_table(X, self.cases_plan_), self.cases_plan_, diagnosis, np.ones(len(diagnosis)), ())
        return -float(cost_of(cases, replayed, np.arange(len(diagnosis))).mean())

    def _replayed(self, X: Any) -> Replayed:
        self._check_fitted()
        table = _table(X, self.cases_plan_)
        return replay(self.problem_, self.choice_.agent, self.learned_.outcomes(table, np.arange(table.size)))

    def _check_fitted(self) -> None:
        from sklearn.utils.validation import check_is_fitted

        check_is_fitted(self, "problem_")


def _table(cases: Any, plan: Plan, y: Sequence[object] | None = None) -> Table:
    """A DataFrame, or a map from names to columns, as a table; with y as the target."""
    if isinstance(cases, Mapping):
        named: dict[str, Any] = {str(name): list(values) for name, values in cases.items()}
    elif hasattr(cases, "columns"):
        named = {str(name): cases[name].tolist() for name in cases.columns}
    else:
        values = np.asarray(cases, dtype=object)
        if values.ndim != 2 or values.shape[1] != len(plan.tests):
            raise EvidenceError(
                "cases must be a DataFrame, a map of columns, or an array with a column for each of "
                f"{len(plan.tests)} tests",
                field=("X",),
            )
        named = {test.name: values[:, place].tolist() for place, test in enumerate(plan.tests)}
    named.pop(plan.target, None)
    if y is not None:
        named[plan.target] = [None if one is None or one != one else str(one) for one in y]
    missing = next((test.name for test in plan.tests if test.name not in named), None)
    if missing is not None:
        raise EvidenceError(
            f"cases must have a column for every test of the plan; '{missing}' is missing", field=("X",)
        )
    sizes = {len(values) for values in named.values()}
    if len(sizes) != 1:
        raise EvidenceError(f"X and y must be of one length; they have {sorted(sizes)}", field=("y",))
    return table_of(list(named), named.values())


def _outcome(cuts: Mapping[str, Cut], name: str, value: object) -> str:
    """The outcome of a test that `value` is."""
    if name not in cuts:
        raise EvidenceError(f"there is no test '{name}'; there are {', '.join(cuts)}", field=("test",))
    cut = cuts[name]
    if str(value) in cut.outcomes:
        return str(value)
    column = make_column(name, np.array([str(value)], dtype=object), "the case", np.array([1]), [])
    if cut.cuts is not None and column.numbers is None:
        raise EvidenceError(f"test '{name}' gives a number; this is '{value}'", field=("outcome",))
    found = int(cut(column, np.array([0]))[0])
    if found < 0:
        raise EvidenceError(
            f"test '{name}' has no outcome '{value}'; it has {in_a_row(cut.outcomes)}", field=("outcome",)
        )
    return cut.outcomes[found]
