"""The documentation: `make docs` builds it into docs/_build/html. Nothing is fetched, at building or at reading."""

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "_ext"))

from bayestopics import __version__  # noqa: E402

project = "bayestopics"
author = "the bayestopics authors"
release = version = __version__
extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx.ext.viewcode",
    "sphinx_copybutton",
    "sphinx_design",
    "generated",
]
exclude_patterns = ["_build", "_generated", "_ext", "_snippets"]
smartquotes = False  # they would join the two dashes of an option
default_role = "code"  # of single backticks in docstrings

myst_enable_extensions = ["attrs_inline", "attrs_block", "colon_fence", "deflist"]
myst_heading_anchors = 3
copybutton_prompt_text = r"\$ |>>> |\.\.\. "
copybutton_prompt_is_regexp = True
copybutton_only_copy_prompt_lines = True

autodoc_member_order = "bysource"
autodoc_typehints = "none"  # the docstrings say what is needed; the signature has the defaults
napoleon_google_docstring = False
napoleon_use_rtype = False
napoleon_use_param = False  # parameters that share a description stay together
napoleon_preprocess_types = False

html_theme = "furo"
html_title = "bayestopics"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_copy_source = False
html_scaled_image_link = True  # a figure that is shown smaller links to the whole one
html_show_sphinx = False
html_show_copyright = False
pygments_style = "friendly"
