"""Sphinx's settings. scripts/build-site puts the pages together and runs Sphinx on them."""
import logging
import os

project = "wick"
author = "the wick authors"
copyright = "2026 the wick authors, MIT OR Apache-2.0"  # noqa: A001  Sphinx's name
version = release = os.environ["WICK_SITE_VERSION"]

extensions = ["myst_parser", "breathe", "sphinx_copybutton"]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
root_doc = "index"
exclude_patterns = []
smartquotes = False
highlight_language = "none"  # an indented block is a command, or its output
nitpicky = False

myst_heading_anchors = 4
breathe_projects = {"wick": os.environ["WICK_SITE_XML"]}
breathe_default_project = "wick"
breathe_show_include = False
cpp_id_attributes = ["WICK_API", "WICK_HD"]
default_role = "code"
add_function_parentheses = False
add_module_names = False
python_use_unqualified_type_names = True

html_theme = "furo"
html_title = f"wick {release}"
html_copy_source = False
html_show_sourcelink = False
html_static_path = ["style"]
html_css_files = ["wick.css"]
copybutton_exclude = ".linenos, .gp"


class _DeclaredTwice(logging.Filter):
    """Sphinx warns of the namespace wick, which Breathe declares on each header's page, and of functions that differ in a requires clause alone."""

    def filter(self, record):
        return not record.getMessage().startswith("Duplicate C++ declaration")


logging.getLogger("sphinx.sphinx.domains.cpp").addFilter(_DeclaredTwice())
