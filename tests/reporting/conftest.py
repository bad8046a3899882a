"""Sealed datasets of a made-up study, as odd as they come."""

import numpy as np
import pytest
import xarray as xr

AXES = {"m": [10, 20], "L": [100, 400], "x": [1.0, 2.0, 4.0, 8.0], "rule": ["plain", "other_one"]}


@pytest.fixture(scope="session")
def make():
    """Function that makes a dataset in which error = 1/(1 + budget·√(mL)/3) with some noise."""

    def make(replications=40, noise=0.05, seed=0, **axes):
        axes = AXES | axes
        rng = np.random.default_rng(seed)
        shape = (*(len(levels) for levels in axes.values()), replications)
        data = xr.Dataset(
            coords={
                name: (name, levels, {"long_name": f"meaning of {name}", "units": "1"})
                for name, levels in axes.items()
            }
        )
        size = np.sqrt((data["m"] * data["L"]).astype(float))
        data = data.assign_coords(
            budget=(data["x"] / size).assign_attrs(long_name="budget", units="bits")
        )
        flat = 1 / (1 + data["budget"] * size / 3) * xr.ones_like(data["rule"], float)
        mean = flat.transpose(*axes).values[..., None]
        dims = (*axes, "replication")
        data["error"] = (
            dims,
            mean * (1 + noise * rng.standard_normal(shape)),
            {"long_name": "error of it", "units": "logits", "least": 0.0},
        )
        data["bound"] = (
            dims,
            np.broadcast_to(mean**2, shape).copy(),
            {"long_name": "bound", "units": "logits²"},
        )
        data["status"] = dims, np.ones(shape, "int8")
        return data

    return make
