"""The table of injected faults, from the reports of the tests that counted them."""

COLUMNS = ("planned", "injected", "survived", "identical")
COUNTED: dict[str, list[int]] = {}


def pytest_runtest_logreport(report):
    for name, value in report.user_properties if report.when == "teardown" else ():
        if name == "fault":
            kind, *counts = value
            COUNTED[kind] = [a + b for a, b in zip(COUNTED.get(kind, [0] * len(COLUMNS)), counts, strict=True)]


def pytest_terminal_summary(terminalreporter):
    if COUNTED:
        terminalreporter.section("faults")
        terminalreporter.write_line(f"{'kind':54}" + "".join(f"{name:>10}" for name in COLUMNS))
    for kind, counts in COUNTED.items():
        terminalreporter.write_line(f"{kind:54}" + "".join(f"{count:>10,}" for count in counts))
