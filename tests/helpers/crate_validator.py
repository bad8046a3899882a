"""The published validator of RO-Crates, without the network.

Contexts are those of the terms that a crate of this program has, for that is all they are asked for.
"""

import json
from types import SimpleNamespace

import pytest

PROFILE = "process-run-crate-0.5"  # which includes RO-Crate 1.1
SCHEMA = "http://schema.org/"
# Terms of RO-Crate 1.1 that are names of schema.org, as far as a crate of this program has them.
NAMES = (
    *("about", "actionStatus", "contentSize", "datePublished", "description", "encodingFormat"),
    *("endTime", "hasPart", "instrument", "license", "mentions", "name", "object", "result"),
    *("softwareVersion", "startTime", "version"),
    *("CreateAction", "CreativeWork", "Dataset", "SoftwareApplication"),
)
TERMS = {
    "@context": {
        **{name: SCHEMA + name for name in NAMES},
        "File": SCHEMA + "MediaObject",
        "conformsTo": "http://purl.org/dc/terms/conformsTo",
        "sha256": "https://w3id.org/ro/terms/workflow-run#sha256",
    }
}


def required_faults(folder, cache, monkeypatch):
    """What is required of a crate in a folder and not there, a line each; and checks that were made."""
    reason = "the published validator is not installed"
    services = pytest.importorskip("rocrate_validator.services", reason=reason)
    _answer_from_here(monkeypatch)
    settings = services.ValidationSettings(
        rocrate_uri=str(folder),
        profile_identifier=PROFILE,
        requirement_severity="REQUIRED",
        offline=True,
        cache_path=cache,
    )
    result = services.validate(settings)
    lines = [f"{issue.check.identifier}: {issue.message}" for issue in result.get_issues()]
    return lines, len(result.executed_checks)


def _answer_from_here(monkeypatch):
    from rdflib.plugins.shared.jsonld import context, util
    from rocrate_validator.utils.http import HttpRequester

    read = util.source_to_json

    def from_here(source, *arguments, **keywords):
        if isinstance(source, str) and source.startswith("http"):
            return TERMS, None
        return read(source, *arguments, **keywords)

    answer = SimpleNamespace(
        status_code=200,
        headers={"Content-Type": "application/ld+json"},
        json=lambda: TERMS,
        text=json.dumps(TERMS),
    )
    monkeypatch.setattr(util, "source_to_json", from_here)
    monkeypatch.setattr(context, "source_to_json", from_here)
    monkeypatch.setattr(HttpRequester, "get", lambda *_, **__: answer, raising=False)
