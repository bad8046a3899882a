"""The page in an archive that a stranger reads first."""

from pipeline.workflow import archive_contents
from pipeline.workflow.archive_contents import Manifest

WITH_HASHES = "--require-hashes -r"


def description(manifest: Manifest) -> str:
    """What an archive holds, in a sentence."""
    names = ", ".join(study.folder for study in manifest.studies)
    return f"Monte Carlo studies with every replication, their report, and the program: {names}."


def text(manifest: Manifest, has_hashes: bool) -> str:
    """The page, as Markdown. has_hashes: whether all packages are pinned by their hashes."""
    how = WITH_HASHES if has_hashes else "-r"
    lines = [
        f"# {manifest.title or 'Monte Carlo studies'}",
        "",
        description(manifest),
        "",
        "## Check it",
        "",
        "On a machine with Python 3.11 or later, in the folder of this file's archive, "
        "`study.zip`:",
        "",
        "```",
        "python3 -m zipfile -e study.zip study && cd study && python3 -m venv venv",
        f"venv/bin/pip install {how} {archive_contents.REQUIREMENTS}",
        "venv/bin/pipeline reproduce archive=../study.zip",
        "```",
        "",
        "The last command draws units of work by a number that your machine makes, simulates "
        "them, and",
        "compares. It recomputes summaries, verdicts, figures and page from the stored numbers. "
        "It says",
        "how much could still be false. `share=10%` draws more units.",
        "",
        "## What is here",
        "",
        f"- `{archive_contents.REPORT}/report.html`: findings, figures, verdicts; tables beside it",
        f"- `{archive_contents.OUTPUTS}/`: of each study its config, `results.zarr` with every",
        "  replication (`xarray.open_zarr`), `summary.zarr`, sessions, what computed the numbers",
        f"- `{archive_contents.PROGRAM}/`: the program as a wheel; "
        f"`{archive_contents.REQUIREMENTS}`: what it needs",
        "- `ro-crate-metadata.json`: the same for machines, with the SHA-256 of every file",
        f"- `{archive_contents.CITATION}`: how to cite the program",
        "",
    ]
    lines += _about_program(manifest)
    lines += _about_data(manifest)
    lines += _about_parts(manifest)
    return "\n".join(lines)


def _about_program(manifest: Manifest) -> list[str]:
    program = manifest.program
    commit = f", commit {program.commit}" if program.commit else ""
    return [f"The program is version {program.version}{commit}.", ""]


def _about_data(manifest: Manifest) -> list[str]:
    """Which data of people were used; the files are not here."""
    lines = []
    for study in manifest.studies:
        for name, digest in study.data.items():
            lines.append(f"- {study.folder}, `data.{name}`: SHA-256 {digest}")
    if not lines:
        return []
    opening = [
        "## Data of people",
        "",
        "No data of people are in this archive. To simulate units again, you need these files; "
        "give",
        "them as `data.path=FILE`.",
        "",
    ]
    return [*opening, *lines, ""]


def _about_parts(manifest: Manifest) -> list[str]:
    """Files of parts that a person wrote, which are executed only if a person says so."""
    lines = []
    for study in manifest.studies:
        for name, digest in study.parts.items():
            lines.append(f"- `{archive_contents.OUTPUTS}/{study.folder}/{name}`: SHA-256 {digest}")
    if not lines:
        return []
    opening = [
        "## Code of the authors",
        "",
        "These files are no part of the program. Read them before you run them; the check asks for",
        "them: `pipeline --with FILE.py reproduce archive=study.zip`.",
        "",
    ]
    return [*opening, *lines, ""]
