"""What all tests share: laws that are tried on drawn examples look at no clock, however busy the machine is."""

import signal

from hypothesis import HealthCheck, settings

settings.register_profile("patient", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("patient")


def pytest_configure() -> None:
    """Let ctrl-C be felt, also by the commands that tests start, where whoever started the tests had it ignored."""
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
