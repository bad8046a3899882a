"""A real notebook, run by a real kernel, whose thread has an event loop that runs."""

import nbclient
import nbformat

from tests.helpers.engine import environment

CELLS = [
    '''
import asyncio
from dataclasses import dataclass
from typing import ClassVar
import numpy as np
import pipeline as pl
assert asyncio.get_running_loop().is_running()

@dataclass(frozen=True)
class Median(pl.Checked):
    """An estimator of one's own: how often an item wins, centred."""
    accepts: ClassVar[type] = pl.ranking.ReleasedWins

    def fit(self, release, rng):
        theta = np.zeros((len(release.wins), release.items))
        for (i, j), share in zip(zip(*np.triu_indices(release.items, 1)), release.debiased_mean().T - 0.5):
            theta[:, i] += share
            theta[:, j] -= share
        return pl.ranking.data.PreferenceEstimate(theta, np.full(len(theta), True), 0.0)

    def cost(self):
        return 1e4

pl.register("ranking", estimators={"wins": Median})
wanted = dict(size="quick", grid={"m": [3], "L": [20], "epsilon": [1.0], "estimator": ["wins", "debiased"]},
              parameters={"estimator": None}, metrics=["error_l2"], replications=40, block=10)
''',
    """
results = pl.run("xu/lemmas", cluster={"kind": "local", "workers": 1}, **wanted)
print(dict(results.sizes))
""",
    """
import distributed
with distributed.LocalCluster(n_workers=1, processes=False, threads_per_worker=1,
                              dashboard_address="127.0.0.1:0") as cluster:
    with distributed.Client(cluster) as client:
        again = pl.run("xu/lemmas", cluster=client, progress=False, seed=3, **wanted)
        same = pl.simulate("xu/lemmas", seed=3, **wanted)
print(again.equals(same), again.equals(results))
""",
    """
try:
    pl.run("xu/lemmas", size="big")
except pl.InvalidInput as error:
    print(error)
""",
]


def test_a_notebook_runs_studies_with_parts_of_its_own(tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", environment()["PYTHONPATH"])
    cells = [nbformat.v4.new_code_cell(cell.strip()) for cell in CELLS]
    book = nbformat.v4.new_notebook(cells=cells)
    nbclient.NotebookClient(
        book, timeout=900, resources={"metadata": {"path": str(tmp_path)}}
    ).execute()
    texts = [
        {
            name: "".join(output.text for output in cell.outputs if output.get("name") == name)
            for name in ("stdout", "stderr")
        }
        for cell in book.cells
    ]
    assert "8 units to do" in texts[1]["stdout"] and "1 worker processes" in texts[1]["stdout"]
    assert "{'m': 1, 'L': 1, 'epsilon': 1, 'estimator': 2, 'replication': 40}" in texts[1]["stdout"]
    assert (
        "\r0 of 8 units" in texts[1]["stderr"] and "8 of 8 units in" in texts[1]["stderr"]
    )  # one line, updated
    assert texts[2]["stdout"] == "True False\n" and texts[2]["stderr"] == ""
    assert texts[3]["stdout"] == "size=big: allowed: paper, quick\n"
