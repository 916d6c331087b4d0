"""Every public name is documented, and the examples in the docstring of the package run."""

from __future__ import annotations

import doctest
import inspect

import pytest

import rhoplan


@pytest.mark.parametrize("name", rhoplan.__all__)
def test_a_public_name_exists_and_is_documented(name: str) -> None:
    found = getattr(rhoplan, name)
    if inspect.isclass(found) or inspect.isfunction(found):
        assert found.__doc__


def test_examples_in_the_docstring_of_the_package_run() -> None:
    failures, tried = doctest.testmod(rhoplan)
    assert tried >= 4
    assert failures == 0
