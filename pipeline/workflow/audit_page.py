"""An audit as a page, or its picture in a file."""

from pathlib import Path

from pipeline.auditing.verdict import Audited
from pipeline.reporting.audit_figure import draw
from pipeline.reporting.audit_page import AuditPage, page
from pipeline.workflow.audit_figure import trade_off


def page_of(audited: Audited) -> str:
    """The page of an answer, as HTML."""
    facts = [("pair", audited.pair), ("event", audited.event)]
    facts += [("note", note) for note in audited.notes]
    facts.append(("decided by", audited.level))
    if not audited.exact:
        facts.append(("samples of either data set", f"{audited.samples:,}"))
    content = AuditPage(
        title=f"Audit of {audited.mechanism}, which promises {audited.promise}",
        verdict=audited.verdict,
        violates=audited.violates,
        bound=f"{audited.bound}.",
        facts=facts,
        trade_off=trade_off(audited) if audited.points else None,
        power=[(fault, str(power)) for fault, power in audited.power.items()],
        command=audited.command,
    )
    return page(content)


def save(path: Path, audited: Audited) -> None:
    """Write the page, or the picture alone; the ending of the file says which."""
    kind = path.suffix.lower().removeprefix(".")
    if kind == "html":
        path.write_text(page_of(audited))
        return
    path.write_bytes(draw(trade_off(audited), (kind,))[kind])
