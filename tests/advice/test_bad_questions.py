"""Every mistake in a question is answered in one line that says what is allowed, or what to type."""

import shlex

import pytest

from pipeline.__main__ import main
from pipeline.advice.answer import answer
from pipeline.study.parameters import InvalidInput

RANKING = "problem=ranking m=5 L=9"
CLUSTERING = "problem=clustering N=8 U=900 w=3"
K = "target=kendall<=0.1"
BAD = [  # words of the command -> what the line has
    ("", "problem=null: is needed: what is learned, one of clustering, crowd"),
    ("problem=no", "problem=no: no such problem; allowed: clustering"),
    ("problem=Ranking", "did you mean 'ranking'?"),
    ("problem=[a]", "problem=['a']: no such problem"),
    ("problem ranking", "write key=value, such as problem=NAME"),
    ("+problem=ranking", "nothing is added or removed here; write key=value"),
    (
        RANKING,
        "target=null: is needed, such as target='kendall<=0.1'; metrics that decide: kendall, "
        "exact_top_k",
    ),
    (f"{RANKING} target=kendall", "must be METRIC<=NUMBER or METRIC>=NUMBER"),
    (f"{RANKING} target=kendall<0.1", "must be METRIC<=NUMBER or METRIC>=NUMBER"),
    (f"{RANKING} target=kendall<=nan", "must be METRIC<=NUMBER or METRIC>=NUMBER"),
    (f"{RANKING} target=kendall<=1..2", "must end in a number"),
    (
        f"{RANKING} target=kendal<=0.1",
        "did you mean 'kendall'? metrics that decide: kendall, exact_top_k",
    ),
    (f"{RANKING} target=label_error<=0.1", "no such metric in problem=ranking; "),
    (f"{RANKING} target=kendall<=1.5", "lies between 0 and 1"),
    (f"{RANKING} target=kendall<=0", "can be shown for no mean"),
    (f"{RANKING} target=error_l2<=-1", "error_l2 lies between 0 and inf"),
    (f"{RANKING} target=kendall<=.1,kendall<=.2", "is a second target of kendall"),
    (f"{RANKING} target=kendall<=.2,kendall>=.1", "is a second target of kendall"),
    (f"{RANKING} target=exact_top_k>=0.6", "needs K, the size of the top set; add K=3"),
    (
        "problem=response m=5 n=9 target=hamming_top_k<=0.3",
        "needs K, the size of the top set; add K=3",
    ),
    (f"{RANKING} K=5 target=exact_top_k>=0.6", "K=5: must be below the number of items, m=5"),
    (f"{RANKING} K=0 target=exact_top_k>=0.6", "K=0: must be a whole number ≥ 1"),
    (f"{RANKING} K=2 {K}", "K=2: no part of this question has such a parameter"),
    (
        f"problem=ranking m=5 {K}",
        "unknown=?: one thing can be asked for at a time: give all but one of person",
    ),
    (f"problem=ranking {K}", "give all but one of person, people (L), items (m)"),
    (
        f"problem=ranking {K} unknown=people",
        "one thing can be asked for at a time: give person, items (m), too",
    ),
    (f"{RANKING} epsilon=1 {K}", "m=5: nothing is left to ask: leave out epsilon, people or items"),
    (f"{RANKING} mechanism=none {K}", "m=5: nothing is left to ask: leave out people or items"),
    (
        "problem=crowd m=5 n=9 epsilon=1 target=label_error<=0.1",
        "items, or ask for unknown=questions or unknown=missing",
    ),
    (f"{RANKING} unknown=people {K}", "unknown=people: is known already, L=9; leave it out"),
    (f"{RANKING} unknown=missing {K}", "unknown=missing: allowed: epsilon, items, people"),
    (f"problem=ranking m=5 unknown=[people] {K}", "allowed: epsilon, items, people"),
    (f"{RANKING} people=9 {K}", "people=9: is L, which is given too; give one of both"),
    (
        f"problem=ranking m=5 people=8 L=9 {K}",
        "people=8: is L, which is given too; give one of both",
    ),
    (
        "problem=crowd m=8 n=9 missing=0.2 answered=0.5 target=label_error<=0.1",
        "missing=0.2: is answered, which is",
    ),
    (
        "problem=crowd m=8 n=9 epsilon=1 missing=1 target=label_error<=0.1",
        "missing=1: must be a number ≥ 0 and < 1",
    ),
    (f"{RANKING} m=6 {K}", "m=6: is given twice"),
    (
        f"problem=ranking m=5 people=9 epsilo=1 {K}",
        "epsilo=1: no part of this question has such a parameter; did you mean 'epsilon'?",
    ),
    (f"{RANKING} workers=4 {K}", "workers=4: no part of this question has such a parameter"),
    (f"problem=ranking m=5 L=-9 {K}", "L=-9: must be a whole number ≥ 1"),
    (f"problem=ranking m=5.5 L=9 {K}", "m=5.5: must be a whole number ≥ 2 (items)"),
    (f"problem=ranking m=five L=9 {K}", "m='five': must be a whole number ≥ 2 (items)"),
    (f"problem=ranking m=5 L=[9,10] {K}", "L=[9, 10]: must be a whole number"),
    (f"problem=ranking m=5 epsilon=0 {K}", "epsilon=0: must be a number > 0"),
    (f"problem=ranking m=5 epsilon=inf {K}", "mechanism=none is for no privacy"),
    (f"{RANKING} mechanism=no {K}", "no such mechanism in problem=ranking; did you mean 'none'?"),
    (f"{RANKING} estimator=no {K}", "no such estimator in problem=ranking; allowed: debiased"),
    (f"{RANKING} model=no {K}", "no such model in problem=ranking; allowed: btl"),
    (
        f"problem=response m=5 n=9 mechanism=discrete_laplace estimator=joint_likelihood {K}",
        "estimator=joint_likelihood: does not go with mechanism=discrete_laplace",
    ),
    (f"problem=ranking m=5 epsilon=1 profile=0.5:1 {K}", 'must be "share:multiple, …"'),
    (
        f"problem=ranking m=5 L=1 'profile=0.5:1, 0.5:2' {K}",
        "a group has no user at L=1; raise its share",
    ),
    (f"{RANKING} seed=-1 {K}", "seed=-1: must be a whole number ≥ 0"),
    (f"{RANKING} quick=maybe {K}", "quick=maybe: must be true or false"),
    (
        f"{RANKING} unknown=epsilon quick=true {K}",
        "L=9 lies outside of its cells, 10 to 10000; without quick it is simulated",
    ),
    (f"{RANKING} save=a.txt {K}", "must be a file that ends with .html, .csv, .svg, .pdf, .png"),
    (f"{RANKING} save=/no/such/a.html {K}", "there is no such folder"),
    (
        f"{RANKING} quick=true {K}",
        "no first answer from the atlas: L=9 lies outside of its cells, 20 to 10000",
    ),
    (
        f"{RANKING} unknown=epsilon save=a.csv {K}",
        "save=a.csv: the atlas has nothing to write about this question: L=9 lies outside",
    ),
    (f"problem=ranking data.path=no.csv {K}", "data.path=no.csv: cannot be read (No such file"),
    ("problem=clustering data.path=a.csv target=recovered>=0.5", "takes no data of one's own"),
    ("problem=clustering N=8 U=900 target=recovered>=0.5", "w=null: is needed"),
    (f"{CLUSTERING} target=recovered>=0.5", "b=null: is needed"),
    (
        "problem=clustering N=8 U=9 w=9 'b=0.9, 0.1' target=recovered>=0.5",
        "can rate no more items than there are, N=8",
    ),
    (
        f"{CLUSTERING} 'b=0.9, 0.1; 0.1, 0.9' target=recovered>=0.5",
        "must have 1 row(s), one for each share in alpha",
    ),
    (f"{CLUSTERING} 'b=1.9, 0.1' target=recovered>=0.5", "must be probabilities"),
    (
        f"{CLUSTERING} 'alpha=0.5, 0.6' 'b=0.9, 0.1' target=recovered>=0.5",
        'must be shares "0.5, 0.5"',
    ),
    (
        "problem=clustering N=8 U=900 w=1 mechanism=adaptive_one_bit epsilon=1 'b=0.9, 0.1' "
        "unknown=questions target=recovered>=0.5",
        "mechanism=adaptive_one_bit has no Q",
    ),
    (
        "problem=clustering N=900 U=100000 w=10 'b=0.9, 0.1' mechanism=pairwise_preference "
        "unknown=epsilon target=misclassified<=0.1",
        "mechanism=pairwise_preference: takes too long: some 0.25 s for one replication",
    ),
    ("problem=response m=8 n=900000000 unknown=epsilon target=kendall<=0.01", "n=900000000: takes"),
    (
        "problem=ranking m=1000000 L=9 unknown=epsilon target=kendall<=0.01",
        "m=1000000: takes 22,351.7 GiB for one replication",
    ),
    (
        "problem=ranking m=9 L=50 unknown=epsilon mechanism=laplace target=kendall<=0.6",
        "is met already, a guess does as well",
    ),
    (
        "problem=ranking m=8 L=9 unknown=epsilon target=kendall<=0.01",
        "is out of reach at any epsilon: kendall = 0.07",
    ),
    (
        "problem=ranking m=8 L=9 unknown=epsilon target=kendall>=0.3",
        "has the wrong direction: kendall = 0.5",
    ),
]


@pytest.mark.parametrize("words, said", BAD, ids=range(len(BAD)))
def test_one_line_says_what_is_wrong(words, said, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["task=advise", *shlex.split(words)]) == 2
    line = capsys.readouterr().err
    assert line.startswith("error: ") and line.count("\n") == 1 and said in line, line
    assert "unknown=null" not in line and not [*tmp_path.iterdir()]


def test_a_request_of_python_is_refused_alike():
    """Lists of targets, and values that no command line can give."""
    common = {"problem": "ranking", "m": 5}
    for request, said in (
        ({**common, "L": 9, "target": ["kendall<=.1", 3]}, "target=3: must be METRIC"),
        ({**common, "L": object(), "target": "kendall<=.1"}, "L=<object object"),
    ):
        with pytest.raises(InvalidInput) as caught:
            answer(request)
        assert said in str(caught.value) and "\n" not in str(caught.value), caught.value


def test_an_estimator_chooses_a_mechanism_that_suits_it():
    """Where the usual mechanism's release is not what it takes.

    Only such mechanisms are then compared.
    """
    from pipeline.advice.choice import mechanisms
    from pipeline.advice.question import read

    known = {"problem": "response", "m": 5, "n": 300, "target": "kendall<=0.2"}
    assert mechanisms(read({**known, "estimator": "joint_likelihood"})) == ["randomized_response"]
    assert sorted(mechanisms(read(known))) == [
        "discrete_gaussian",
        "discrete_laplace",
        "noisy_differences",
        "randomized_response",
    ]
