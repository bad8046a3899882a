"""The file of defaults says what the declarations say, and clusters are declared once."""

import dataclasses

import pytest
import yaml

from pipeline.cli.compose import compose
from pipeline.execution.clusters import CLUSTERS
from pipeline.execution.systems.registry import systems
from pipeline.study.parameters import fields
from pipeline.workflow.config import FILES
from pipeline.workflow.settings import Registration, Settings, Storage
from tests.helpers.engine import ROOT


def declared(component):
    """Name -> default of each field, null where a value is needed."""
    defaults = {}
    for name, field in fields(component).items():
        needed = field.default is dataclasses.MISSING
        defaults[name] = None if needed else field.default
    return defaults


def differences(config):
    """Keys of the file of defaults that are not as they are declared."""
    nested = {"store": declared(Storage), "protocol": declared(Registration)}
    settings = {**declared(Settings), **nested}
    expected = {**settings, "data": dict.fromkeys(FILES)}
    return sorted(key for key, value in expected.items() if config.get(key, "gone") != value)


def test_the_file_of_defaults_says_what_is_declared():
    text = (ROOT / "conf/config.yaml").read_text()
    config = yaml.safe_load(text)
    assert differences(config) == []
    assert differences(config | {"most_failures": 21}) == ["most_failures"]  # the negative control
    assert differences({key: config[key] for key in config if key != "store"}) == ["store"]


@pytest.mark.parametrize("kind", sorted({**CLUSTERS, **systems()}))
def test_a_cluster_is_what_its_fields_declare(kind):
    component = {**systems(), **CLUSTERS}[kind]
    config = compose([f"cluster={kind}"])[0]["cluster"]
    assert config == {"kind": kind, **declared(component)}
    assert not (ROOT / "conf/cluster").exists()
