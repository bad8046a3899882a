"""Sphinx: the documentation as a site.

`make docs` builds it, runs the gallery, and stops at any warning.
"""

import re
import sys
from importlib import metadata
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))  # gallery_style

project = "Private learning pipeline"
author = "The private-learning-pipeline authors"
copyright = f"2026, {author}"
release = metadata.version("private-learning-pipeline")

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx.ext.viewcode",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_build", "gallery", "paper", "theme"]
myst_heading_anchors = 3
autodoc_default_options = {"members": True, "member-order": "bysource"}
autodoc_typehints = "none"
add_module_names = False
suppress_warnings = ["ref.python"]  # names of axes, as in (reps, pairs), are no references

html_theme = "pydata_sphinx_theme"
templates_path = ["theme"]
html_static_path = ["theme/static"]
html_js_files = [("versions.js", {"defer": "defer"})]
html_title = project
html_show_sourcelink = False
html_sidebars = dict.fromkeys(
    (
        "survey",
        "tutorial",
        "advise",
        "audit",
        "audits",
        "publish",
        "sure",
        "extending",
        "r",
        "installing",
        "calibration",
        "statements",
        "design",
        "glossary",
        "statements",
        "papers",
        "contributing",
        "changelog",
        "examples/**",
    ),
    [],
)  # pages without pages below them
html_theme_options = {
    "header_links_before_dropdown": 6,
    "navbar_end": ["versions", "theme-switcher"],  # see theme/static/versions.js
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}

sphinx_gallery_conf = {
    "examples_dirs": "gallery",
    "gallery_dirs": "questions",
    "subsection_order": [
        f"gallery/{name}"
        for name in ("ranking", "response", "clustering", "crowd", "privacy", "studies")
    ],
    "within_subsection_order": "FileNameSortKey",
    "filename_pattern": r"\.py$",
    "abort_on_example_error": True,
    "capture_repr": (),
    "download_all_examples": False,
    "image_srcset": ["2x"],
    "remove_config_comments": True,
    "reset_modules": ("matplotlib", "gallery_style.set_colours"),
    "show_memory": False,
    "write_computation_times": False,  # whose pages ask others for scripts
    "show_signature": False,
}


def plain_text(app, what, name, thing, options, lines):
    """Docstrings are plain text with `code`: what reStructuredText would take for markup is
    escaped.
    """
    paragraphs = re.split(r"(\n\s*\n)", "\n".join(lines))
    lines[:] = "".join(
        one if one.lstrip().startswith(">>>") else _escaped(one) for one in paragraphs
    ).split("\n")


def _escaped(text):
    code_and_rest = re.split(r"(`+[^`]+`+)", text)
    escaped = []
    for index, part in enumerate(code_and_rest):
        if index % 2:
            escaped.append(f"``{part.strip('`')}``")
            continue
        follows_code = index > 0 and part[:1].isalnum()  # as in `Target`s
        separator = "\\ " if follows_code else ""
        escaped.append(separator + re.sub(r"([*|\\])", r"\\\1", part))
    return "".join(escaped)


def setup(app):
    app.connect(
        "autodoc-process-docstring", plain_text, priority=400
    )  # before napoleon reads sections
