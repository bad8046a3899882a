"""A backend that the program does not have: the class in docs/extending.md, and its package."""

import re

from tests.helpers.engine import ROOT

TEXT = (ROOT / "docs/extending.md").read_text()
(ONE_FILE,) = re.findall(r"```python\n# one_file.py\n(.*?)```", TEXT, re.S)
(QUOTED,) = re.findall(
    r'```toml\n\[project.entry-points."pipeline.backends"\]\n(.*?)\n```', TEXT, re.S
)
ENTRY = QUOTED.replace('"', "")  # as pip writes it
