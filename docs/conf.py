"""How Sphinx builds the documentation site: `python3 run.py docs` writes it to docs/_build/html."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from rhoplan.version import __version__

project = "rhoplan"
author = "the rhoplan authors"
version = release = __version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "docstrings", "offline", "finished"]
exclude_patterns = ["_build"]
smartquotes = False

myst_enable_extensions = ["dollarmath", "amsmath"]
myst_heading_anchors = 3
myst_update_mathjax = False

# Docstrings put code between single backticks, as Markdown does.
default_role = "code"
add_module_names = False
autodoc_member_order = "bysource"
autodoc_default_options = {"members": True, "exclude-members": "__init__, __new__"}
autodoc_type_aliases = {name: name for name in ("Array", "Ids", "Visible", "Menu", "Leaf", "Rule")}
python_use_unqualified_type_names = True
python_maximum_signature_line_length = 100

html_theme = "furo"
html_title = f"rhoplan {version}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_copyright = False
html_math_renderer = "mathml"
