"""The look of the gallery's figures: colours that differ in lightness, so that they can be told
apart in grey.
"""

import matplotlib
from matplotlib import cycler

COLOURS = ["#1b1b4b", "#c06000", "#7cc0ea", "#8a8a8a"]


def set_colours(configuration, script):
    """Called before every page, after the defaults of matplotlib were set again."""
    matplotlib.rcParams["axes.prop_cycle"] = cycler(color=COLOURS)
