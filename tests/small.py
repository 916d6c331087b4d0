"""Small random problems as arrays, and their value by the plainest recursion there is."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bridge import Array, Compiled, dense_joint, flat


@dataclass(frozen=True)
class Small:
    """A random problem: T (A, S, S), Z (A, S, O), R (A, S); the last state is an end where `ends`."""

    transition: Array
    likelihood: Array
    reward: Array
    start: Array
    ends: bool

    @property
    def compiled(self) -> Compiled:
        return flat(dense_joint(self.transition, self.likelihood), self.reward, self.start)

    @property
    def joint(self) -> Array:
        """P(s', o | s), shape (A, O, S, S)."""
        joint: Array = np.einsum("ast,ato->aost", self.transition, self.likelihood)
        return joint


def draw(seed: int, states: int, *, ends: bool = False) -> Small:
    """Dense or sparse dynamics, informative or useless outcomes, as it comes."""
    rng = np.random.default_rng(seed)
    actions, outcomes = 2, 2
    spread = rng.choice([0.2, 1.0])
    transition = rng.dirichlet(np.full(states, spread), (actions, states))
    likelihood = rng.dirichlet(np.full(outcomes, rng.choice([0.3, 1.0])), (actions, states))
    reward = rng.normal(size=(actions, states)) * rng.choice([1.0, 5.0])
    start = rng.dirichlet(np.ones(states))
    if ends:
        stop = rng.uniform(0.2, 0.5, (actions, states, 1))
        transition = np.concatenate([transition * (1 - stop), stop], axis=2)
        still = np.zeros((actions, 1, states + 1))
        still[:, :, -1] = 1.0
        transition = np.concatenate([transition, still], axis=1)
        likelihood = np.pad(likelihood, ((0, 0), (0, 1), (0, 1)))
        likelihood[:, -1, -1] = 1.0
        reward = np.pad(reward, ((0, 0), (0, 1)))
        start = np.append(start, 0.0)
    return Small(transition, likelihood, reward, start, ends)


def entropy(beliefs: Array) -> Array:
    safe = np.where(beliefs > 0, beliefs, 1.0)
    result: Array = -(beliefs * np.log(safe)).sum(axis=-1)
    return result


def step(problem: Small, beliefs: Array, action: int) -> tuple[Array, Array, Array]:
    """Probability (n, O) of each outcome, belief (n, O, S) after it, and information (n,), for beliefs (n, S)."""
    mass = np.einsum("ns,ost->not", beliefs, problem.joint[action])
    chance = mass.sum(axis=-1)
    after = np.divide(mass, chance[..., None], out=np.zeros_like(mass), where=chance[..., None] > 0)
    return chance, after, entropy(mass.sum(axis=1)) - (chance * entropy(after)).sum(axis=1)


def recursion(problem: Small, beliefs: Array, depth: int, weight: float, discount: float) -> Array:
    """The exact value (n,) of `depth` steps, nothing after them: the plainest recursion there is."""
    if depth == 0:
        return np.zeros(len(beliefs))
    values = []
    for action in range(len(problem.reward)):
        chance, after, information = step(problem, beliefs, action)
        later = recursion(problem, after.reshape(-1, beliefs.shape[1]), depth - 1, weight, discount)
        total = beliefs @ problem.reward[action] + weight * information
        values.append(total + discount * (chance * later.reshape(chance.shape)).sum(axis=1))
    best: Array = np.max(values, axis=0)
    return best
