"""The tasks of the program, each declared once.

Help, completion, the check of `task=` and of what is combined with it, and who performs a task
follow from here. `pipeline NAME …` and `pipeline task=NAME …` are one thing.
"""

from dataclasses import dataclass

EXPERIMENTS = "experiment=NAME or PATH.yaml, suite=NAME, size=quick, outputs=FOLDER, key=value"


@dataclass(frozen=True)
class Task:
    """What one task does, and which words it takes.

    meaning: a line of help, in which {systems} stands for batch systems. alone: settings that no
    task takes which does not name them here. words: what else it takes, as text; empty: what all
    take that work on experiments. bare: the key of words without "=", such as the unit in `pipeline
    replay UNIT`; empty: no such words. composes: whether it reads a config. answers: whether it
    gives an answer as JSON, with --json.
    """

    name: str
    meaning: str
    alone: tuple[str, ...] = ()
    words: str = EXPERIMENTS
    bare: str = ""
    composes: bool = True
    answers: bool = False


_ALL = (
    Task(
        "run",
        "simulate what is missing, seal, judge the claims, write the report (the default); --json",
        alone=("shard",),
        answers=True,
    ),
    Task(
        "submit",
        "submit run as jobs without a driver: cluster={systems}; shards=N; --json",
        alone=("shards",),
        answers=True,
    ),
    Task(
        "plan",
        "what run would do: cells, units, what is done, predicted time, memory and bytes; --json",
        answers=True,
    ),
    Task("status", "what is done and what failed, as the files say; --json", answers=True),
    Task(
        "protocol",
        "write down what is decided before a study runs; its report then lists every deviation: "
        "save=protocol.md, protocol.url, protocol.date; --json",
        alone=("save", "protocol"),
        answers=True,
    ),
    Task(
        "report",
        "write the report again; before the end, a report of the units that are done; --json",
        answers=True,
    ),
    Task(
        "list",
        "all studies in outputs, with verdicts, sizes and dates; writes a page with their "
        "pictures; --json",
        words="outputs=FOLDER",
        answers=True,
    ),
    Task(
        "compare",
        "how two finished studies differ, cell by cell: studies=NAME,NAME, as pipeline list prints "
        "them; or if your part does better: against=NAME mechanism=mine; --json",
        alone=("studies",),
        words="outputs=FOLDER, store.url=…; or against=NAME, mechanism=NAME, estimator=NAME, "
        "metric=NAME, better=lower or higher, parameters.NAME=VALUE",
        bare="studies",
        answers=True,
    ),
    Task(
        "export",
        "a finished study as a table or as netCDF: studies=NAME, save=FILE.csv, .parquet or .nc, "
        "table=summary; --json",
        words="studies=NAME, save=FILE, table=replications or summary, outputs=FOLDER, store.url=…",
        bare="studies",
        composes=False,
        answers=True,
    ),
    Task(
        "archive",
        "finished studies as one zip file that a stranger can check: studies=NAME,NAME, as "
        "pipeline list prints them; save=study.zip; --json",
        words="studies=NAME,NAME, save=FILE.zip, licence=TEXT or ADDRESS, outputs=FOLDER, "
        "store.url=…, data.path=FILE, cluster=…",
        bare="studies",
        composes=False,
        answers=True,
    ),
    Task(
        "reproduce",
        "check an archive here: units drawn and simulated again, verdicts, figures and page made "
        "again: archive=study.zip, share=1%; --json",
        words=(
            "archive=FILE.zip, share=PERCENT of all units (60 at least), data.path=FILE, cluster=…"
        ),
        bare="archive",
        composes=False,
        answers=True,
    ),
    Task(
        "shelf",
        "a static site of archives, with a search field: archives=A.zip,B.zip or a folder, "
        "save=site; --json",
        words="archives=FILE.zip,FILE.zip or FOLDER, save=FOLDER",
        bare="archives",
        composes=False,
        answers=True,
    ),
    Task(
        "skill",
        "a page of Markdown that tells an assistant how to use this program: save=SKILL.md",
        words="save=FILE.md",
        composes=False,
    ),
    Task(
        "remove",
        "delete finished studies, with all that was simulated: studies=NAME sure=true; --json",
        alone=("studies", "sure"),
        words="outputs=FOLDER",
        bare="studies",
        answers=True,
    ),
    Task(
        "verify",
        "check every stored file; repair=true marks damaged units as not run; results=PATH: only "
        "this copy; --json",
        alone=("repair", "results"),
        answers=True,
    ),
    Task(
        "merge",
        "add units that another person simulated, after some of them were simulated again here: "
        "from=FOLDER or s3://…; --json",
        alone=("origin", "recompute", "contributor"),
        bare="origin",
        answers=True,
    ),
    Task(
        "controls",
        "simulate for every claim a world in which it is false and must be contradicted; keeps "
        "nothing; --json",
        answers=True,
    ),
    Task(
        "show",
        "print the experiment as it would run, as YAML that experiment=PATH.yaml takes; --json",
        answers=True,
    ),
    Task(
        "new",
        "write a first study of your own, in ten lines: what people answer, how many, what must "
        "hold; like=NAME: a long one, with comments",
        words="PATH.yaml, problem=NAME, people=NUMBER, items=NUMBER, target='METRIC<=NUMBER'; or "
        "PATH.yaml, like=NAME; at a terminal it asks for what is needed",
        bare="experiment",
        composes=False,
    ),
    Task(
        "replay",
        "simulate one unit here, with its traceback: unit=NAME, as a failure printed it; --json",
        alone=("unit",),
        bare="unit",
        answers=True,
    ),
    Task(
        "advise",
        "how small a privacy budget may be, or how many people are needed: problem, "
        "target='METRIC<=NUMBER', sizes; quick=true; save=FILE.html; --json",
        words="problem=NAME, target='METRIC<=NUMBER', sizes and parameters as NAME=NUMBER, "
        "quick=true, save=FILE.html",
        composes=False,
        answers=True,
    ),
    Task(
        "audit",
        "is a mechanism as private as it says: problem, mechanism, its parameters; "
        "guarantee.epsilon=NUMBER, samples, confidence, repeats; save=FILE.svg; --json",
        words="problem=NAME, mechanism=NAME, its parameters as NAME=NUMBER, samples=NUMBER, "
        "confidence=NUMBER, repeats=NUMBER, seed=NUMBER, guarantee.epsilon=NUMBER, save=FILE.svg",
        composes=False,
        answers=True,
    ),
    Task(
        "release",
        "release real people's data once, privately: problem, data.path, outputs, "
        "parameters.epsilon_user, …",
        words="problem=NAME, data.path=FILE, outputs=FOLDER, parameters.epsilon_user=NUMBER; the "
        "command asks for what else is needed",
        composes=False,
    ),
)
TASKS = {task.name: task for task in _ALL}


def tasks_with(setting: str) -> list[str]:
    """Names of the tasks that take a setting which others do not; none if all take it.

    >>> tasks_with("studies"), tasks_with("outputs")
    (['compare', 'remove'], [])
    """
    return [task.name for task in _ALL if setting in task.alone]
