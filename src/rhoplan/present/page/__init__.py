"""The sections of the printable report."""
