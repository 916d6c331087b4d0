"""The paper, reproduced: measurements as jobs, studies as data, verdicts computed from both, and the report."""

__version__ = "0.1.0"
