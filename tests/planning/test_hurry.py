"""Ctrl-C while the first bounds are worked out: they are told as far as they have come."""

from __future__ import annotations

import os
import signal
import threading

import numpy as np
import pytest

import rhoplan
from rhoplan.planning import clock
from rhoplan.planning.certified.solve import solve


def press() -> None:
    os.kill(os.getpid(), signal.SIGINT)


def test_the_first_press_makes_every_deadline_pass_and_the_second_stops() -> None:
    deadline = clock.now() + 1e6
    with clock.hurrying() as hurry:
        clock.check(deadline)
        assert not hurry.pressed
        press()
        assert hurry.pressed
        with pytest.raises(TimeoutError):
            clock.check(deadline)
        with pytest.raises(KeyboardInterrupt):
            press()
    clock.check(deadline)  # and the clock is right again
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    with pytest.raises(KeyboardInterrupt):
        press()


def test_who_has_a_meaning_of_their_own_for_ctrl_c_keeps_it() -> None:
    heard: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, frame: heard.append(number))
    try:
        with clock.hurrying() as hurry:
            press()
        assert heard == [signal.SIGINT]
        assert not hurry.pressed
    finally:
        signal.signal(signal.SIGINT, before)


def test_other_threads_work_as_ever() -> None:
    seen: list[bool] = []

    def work() -> None:
        with clock.hurrying() as hurry:
            seen.append(hurry.pressed)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [False]


def test_who_presses_ctrl_c_at_the_first_bounds_has_them(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("numba", reason="solving general problems needs numba")
    from rhoplan.planning.certified.pointbased import standing

    rng = np.random.default_rng(0)
    changes, shows = rng.dirichlet(np.ones(4), (3, 4)), rng.dirichlet(np.ones(3), (3, 4))
    problem = rhoplan.from_arrays(changes, shows, rng.uniform(-3, 3, (3, 4, 4)), discount=0.9)
    whole = solve(problem, gap=1e-4)
    work_out = standing.lasting

    def interrupted(*given: object) -> object:
        press()
        return work_out(*given)

    monkeypatch.setattr(standing, "lasting", interrupted)
    found = solve(problem, gap=1e-4)
    assert found.stopped_by == "interrupted"
    assert found.method == "points"
    assert found.policy is not None
    assert found.lower <= whole.lower + 1e-4
    assert found.upper >= whole.upper - 1e-4
    assert found.upper - found.lower < 60  # nothing but the range of rewards would give 10 * 6
    assert found.seconds < 1e6
