"""Rows turned into files and figures; nothing here sees live objects."""
