"""What holds for all tests."""

from __future__ import annotations

import signal


def pytest_configure() -> None:
    """Let ctrl-C be felt, also by the commands that tests start, where whoever started the tests had it ignored."""
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
