"""Speed and load of rhoplan, measured on the machine at hand."""

__version__ = "0.1.0"
