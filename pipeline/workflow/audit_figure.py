"""What the picture of an audit shows."""

import numpy as np

from pipeline.auditing.verdict import Audited
from pipeline.reporting.audit_figure import TradeOff

POINTS = 401  # of the promised curve


def trade_off(audited: Audited) -> TradeOff:
    """What the picture shows of an answer."""
    alarms = np.linspace(0, 1, POINTS)
    powers = audited.promise.trade_off(alarms)
    certified = [(point.false_alarm, point.power) for point in audited.points]
    broken = []
    for alarm, power in certified:
        allowed = float(audited.promise.trade_off(np.array([alarm]))[0])
        if power > allowed + 1e-9:
            broken.append((alarm, power))
    return TradeOff(
        alarms.tolist(),
        powers.tolist(),
        certified,
        broken,
        str(audited.promise),
        audited.verdict,
    )
