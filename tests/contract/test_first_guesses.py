"""What a researcher types first, coming from other packages: it works, or is refused in one line that says what to do.

A row is a line of Python that is run with the names of `namespace`, and what must hold for its result.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rhoplan

A = [np.array([[0.9, 0.2], [0.1, 0.8]])]
B = [np.stack([np.eye(2), np.eye(2)[::-1]], axis=-1)]
C = [np.array([0.0, 1.0])]
D = [np.array([0.5, 0.5])]


@dataclass(frozen=True)
class Guess:
    """One line of code. holds: a predicate of its result. refused: words of the error instead. needs: public names."""

    name: str
    code: str
    holds: Callable[[Any], bool] | None = None
    refused: tuple[str, ...] = ()
    needs: str = ""


def tables(column: str) -> Callable[[Any], bool]:
    return lambda frame: column in frame.columns


def near(value: float, tolerance: float = 1e-9) -> Callable[[Any], bool]:
    return lambda found: abs(float(found) - value) <= tolerance


OPTIMUM = 5.1599  # of Tiger at discount 1

NAMED = 'states=["home", "away"], observations=["low", "high"], actions=["stay", "move"]'

GUESSES = (
    Guess("solve-file", 'rp.solve("hallway.pomdp")', lambda best: best.lower <= best.upper, needs="Lookahead"),
    Guess("action-of-list", "rp.solve(tiger, gap=1e-3).policy.action([.5, .5])", "listen".__eq__, needs="Lookahead"),
    Guess("evaluate-solution", "rp.evaluate(tiger, rp.solve(tiger)).reward", near(OPTIMUM, 1e-3), needs="Lookahead"),
    Guess("evaluate-names", 'rp.evaluate("tiger", "efe").reward', near(OPTIMUM, 1e-3), needs="Lookahead"),
    Guess("evaluate-function", "rp.evaluate(tiger, rule).reward", lambda found: found < OPTIMUM, needs="Lookahead"),
    Guess("action-of-mapping", 'policy.action({"tiger-left": .5, "tiger-right": .5})', "listen".__eq__,
          needs="Lookahead"),
    Guess("value", "policy.value(belief)", lambda found: isinstance(found, float), needs="Lookahead"),
    Guess("action-values", "policy.action_values(belief).to_frame()", tables("continuation"), needs="Lookahead"),
    Guess("update", 'belief.update("listen", "hear-left").max()', near(0.85)),
    Guess("probability", 'belief["tiger-left"]', near(0.5)),
    Guess("states", "tiger.states", ("tiger-left", "tiger-right").__eq__),
    Guess("actions", "tiger.actions", ("listen", "open-left", "open-right").__eq__),
    Guess("observations", "tiger.observations", ("hear-left", "hear-right").__eq__),
    Guess("simulate", "rp.simulate(tiger, policy, episodes=1000).reward", lambda found: abs(float(found) - 5) < 2,
          needs="Lookahead"),
    Guess("episode", "list(rp.episode(tiger, policy, seed=0))[0].action", "listen".__eq__, needs="Lookahead episode"),
    Guess("save-policy", 'rp.solve(tiger).policy.save("p") or Path("p").exists()', bool, needs="Lookahead"),
    Guess("load-policy", '(rp.solve(tiger).policy.save("p"), rp.load_policy("p", tiger))[1].action([.5, .5])',
          "listen".__eq__, needs="Lookahead"),
    Guess("plot-policy", "rp.plot_policy(policy)", refused=("rhoplan.solve",), needs="Lookahead"),
    Guess("plot-solution", 'rp.plot_policy(rp.solve(tiger, method="points"))', lambda found: found is not None,
          needs="Lookahead"),
    Guess("print-solution", "print(rp.solve(tiger))", lambda found: found is None),
    Guess("html-solution", "rp.solve(tiger)._repr_html_()", lambda found: "<table" in found, needs="Lookahead"),
    Guess("from-arrays", 'rp.from_arrays(T, Z, R, discount=.95, states=["left", "right"], '
          'actions=["listen", "left", "right"], observations=["hear-left", "hear-right"])',
          lambda p: (p.states, p.actions, p.observations)
          == (("left", "right"), ("listen", "left", "right"), ("hear-left", "hear-right"))),
    Guess("load", 'rp.load("hallway.pomdp").discount', near(0.95)),
    Guess("solve-objective", "rp.solve(p, objective=rp.Objective(information_weight=1), seconds=5)",
          lambda best: best.lower <= best.upper, needs="Lookahead"),
    Guess("solve-horizon", "rp.solve(p, horizon=10)", lambda best: best.lower <= best.upper, needs="Lookahead"),
    Guess("pymdp-names", f"rp.from_pymdp(A, B, C, D, {NAMED})",
          lambda p: (p.states, p.observations, p.actions)
          == (("home", "away"), ("low", "high"), ("stay", "move"))),
    Guess("pymdp-lists", f"rp.from_pymdp(listed(A), listed(B), listed(C), listed(D), {NAMED})", lambda p: same(p)),
    Guess("pymdp-objects", f"rp.from_pymdp(boxed(A), boxed(B), boxed(C), boxed(D), {NAMED})", lambda p: same(p)),
    Guess("pymdp-jax", f"rp.from_pymdp(jaxed(A), jaxed(B), jaxed(C), jaxed(D), {NAMED})", lambda p: same(p)),
    Guess("pymdp-batch", "rp.from_pymdp(batched(A), batched(B), batched(C), batched(D))",
          refused=("batch", "one[0] for one in D")),
    Guess("pymdp-time", "rp.from_pymdp(A, B, [np.zeros((2, 5))], D)", refused=("depend on time", "one time step")),
    Guess("pymdp-policy-len", "rp.from_pymdp(A, B, C, D, policy_len=3)", refused=("policy_len", "horizon")),
    Guess("decide", 'rp.decide(tiger, "efe", {"listen": "hear-left"}).choice', "listen".__eq__, needs="Lookahead"),
    Guess("agent", 'rp.agent("efe", information_weight=2, information_unit="bits").solve(tiger).action(belief)',
          "listen".__eq__, needs="agent"),
    *(
        Guess(f"{name}-of-arrays", f"rp.{name}(p)", refused=("evaluate", "solve", "decide"))
        for name in ("pathway", "report", "advise")
    ),
)  # fmt: skip


def listed(arrays: list[Any]) -> list[Any]:
    return [one.tolist() for one in arrays]


def boxed(arrays: list[Any]) -> Any:
    found = np.empty(len(arrays), dtype=object)
    found[:] = arrays
    return found


def jaxed(arrays: list[Any]) -> list[Any]:
    jax = pytest.importorskip("jax", reason="needs JAX: pip install 'rhoplan[validation]'")
    return [jax.numpy.asarray(one) for one in arrays]


def batched(arrays: list[Any]) -> list[Any]:
    return [one[None] for one in jaxed(arrays)]


def same(problem: rhoplan.POMDP) -> bool:
    """Whether it is the problem of A, B, C and D, to the digits of single precision."""
    whole = rhoplan.from_pymdp(A, B, C, D, states=["home", "away"])
    pairs = list(zip(problem.menu(problem.start), whole.menu(whole.start), strict=True))
    return problem.states == whole.states and all(
        np.allclose(one.likelihood, other.likelihood, atol=1e-6) and np.allclose(one.reward, other.reward, atol=1e-6)
        for one, other in pairs
    )


def rule(belief: rhoplan.Belief) -> str:
    if belief.max() < 0.9:
        return "listen"
    return "open-right" if belief["tiger-left"] > 0.5 else "open-left"


@pytest.fixture
def namespace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    monkeypatch.chdir(tmp_path)
    tiger = rhoplan.make("tiger")
    hears = np.array([[0.85, 0.15], [0.15, 0.85]])
    arrays = {
        "T": np.stack([np.eye(2), np.full((2, 2), 0.5), np.full((2, 2), 0.5)]),
        "Z": np.stack([hears, np.full((2, 2), 0.5), np.full((2, 2), 0.5)]),
        "R": np.array([[-1.0, -100.0, 10.0], [-1.0, 10.0, -100.0]]),
    }
    p = rhoplan.from_arrays(**arrays, discount=0.95)
    rhoplan.save(p, "hallway.pomdp")
    names: dict[str, Any] = {"rp": rhoplan, "np": np, "Path": Path, "tiger": tiger, "belief": tiger.belief(), "p": p}
    names |= {"rule": rule, "A": A, "B": B, "C": C, "D": D, **arrays}
    names |= {one.__name__: one for one in (listed, boxed, jaxed, batched)}
    return names


@pytest.mark.parametrize("guess", GUESSES, ids=lambda guess: guess.name)
def test_a_first_guess_works_or_is_refused_with_what_to_do(guess: Guess, namespace: Mapping[str, Any]) -> None:
    missing = [name for name in guess.needs.split() if not hasattr(rhoplan, name)]
    if missing:
        pytest.skip(f"needs rhoplan.{missing[0]}")
    names, code = dict(namespace), compile(guess.code, guess.name, "eval")
    if "policy" in code.co_names:
        names["policy"] = rhoplan.Lookahead(horizon=6).solve(names["tiger"], rhoplan.Objective(information_weight=1.0))
    if guess.holds is not None:
        assert guess.holds(eval(code, names))
        return
    with pytest.raises(rhoplan.RhoplanError) as caught:
        eval(code, names)
    message = str(caught.value)
    assert "\n" not in message
    assert all(word in message for word in guess.refused)
