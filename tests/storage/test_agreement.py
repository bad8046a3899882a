"""Records of what computed the stored numbers."""

import dataclasses
import json

import pytest

from pipeline.storage import agreement
from pipeline.storage.agreement import Writer
from pipeline.storage.replications import Store
from tests.helpers.engine import study

FIRST = Writer(
    {"the engine": "a", "estimator debiased": "b"},
    {"numpy": "2.4", "CPU features": "AVX FMA3"},
    {"mine.parts": "1", "mine.rates": "2"},
)


@pytest.fixture
def store(tmp_path):
    return Store(study(), tmp_path)


def record_file(store, writer):
    return store.folder / "replications/agreed" / f"{writer.id}.json"


def test_what_is_recorded_agrees(store):
    assert not agreement.agrees(store, FIRST) and agreement.recorded(store) == []
    agreement.record(store, FIRST)
    assert agreement.agrees(store, FIRST)
    (one,) = agreement.recorded(store)
    assert one.writer == FIRST and one.accepted == ""
    other = dataclasses.replace(FIRST, environment={"numpy": "2.5", "CPU features": "AVX FMA3"})
    assert not agreement.agrees(store, other)


def test_a_name_depends_on_all_that_computes_and_on_no_order():
    assert (
        FIRST.id
        == Writer(dict(reversed(FIRST.code.items())), dict(reversed(FIRST.environment.items()))).id
    )
    assert FIRST.id != dataclasses.replace(FIRST, code={**FIRST.code, "estimator debiased": "c"}).id
    assert FIRST.id != dataclasses.replace(FIRST, environment={}).id


def test_any_changed_byte_of_a_record_makes_it_no_record(store):
    agreement.record(store, FIRST, "accept_code=yes")
    path = record_file(store, FIRST)
    whole = path.read_bytes()
    for at in range(len(whole)):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
        assert not agreement.agrees(store, FIRST) and agreement.recorded(store) == [], whole[
            at : at + 20
        ]
    for content in (b"", whole[:-1], whole + b"\n", b"[]", b"null", b"\xff", b"[" * 100_000):
        path.write_bytes(content)
        assert not agreement.agrees(store, FIRST) and agreement.recorded(store) == []
    path.write_bytes(whole)
    assert agreement.agrees(store, FIRST)


def test_a_record_under_another_name_is_none(store):
    agreement.record(store, FIRST)
    other = dataclasses.replace(FIRST, environment={"numpy": "2.5"})
    record_file(store, FIRST).rename(record_file(store, other))
    assert not agreement.agrees(store, other) and not agreement.agrees(store, FIRST)


def test_changes_are_named_against_the_most_similar_record(store):
    assert "no record is left" in agreement.changes(store, FIRST)
    agreement.record(store, FIRST)
    agreement.record(
        store, Writer({"the engine": "x", "estimator debiased": "y"}, {"numpy": "1.0"})
    )
    assert "nothing that is recorded changed" in agreement.changes(store, FIRST)
    edited = Writer(
        {"the engine": "a", "estimator debiased": "c"},
        {"numpy": "2.3", "CPU features": "AVX AVX2", "choix": "0.4"},
        {"mine.parts": "1", "mine.rates": "3"},
    )
    assert agreement.changes(store, edited) == (
        "changed since: code of estimator debiased in mine.rates, CPU features −FMA3 +AVX2, numpy 2.4 → 2.3, "
        "choix none → 0.4"
    )


def test_many_changes_are_not_all_named():
    names = {f"metric {i}": str(i) for i in range(9)}
    (text,) = Writer(names, {}).differences(Writer(dict.fromkeys(names, "x"), {}))
    assert text == "code of metric 0, metric 1, metric 2, metric 3 and 5 more"


def test_provenance_marks_writers_without_a_record(store):
    agreement.record(store, FIRST)
    known, unknown = (
        agreement.provenance(store, {FIRST.id, "f" * 16})
        if FIRST.id < "f" * 16
        else reversed(agreement.provenance(store, {FIRST.id, "f" * 16}))
    )
    assert known["code"] == FIRST.code and known["accepted"] == ""
    assert unknown["writer"] == "f" * 16 and "no record is left" in unknown["accepted"]
    assert json.dumps([known, unknown])
