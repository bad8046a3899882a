"""What each paper says, in its order: every statement that has a name or a number."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Place:
    """A statement of a paper.

    name: as sources of claims have it. says, and test or why: what is said where no claim says it,
    and the test that compares it with an exact law or an enumeration, a file below tests and a
    name; or why there is nothing to judge. row: of papers.md, one or more. figure: of the paper, which the
    claims of this place are about.
    """

    name: str
    says: str = ""
    test: str = ""
    why: str = ""
    row: str = ""
    figure: str = ""


@dataclass(frozen=True)
class Paper:
    """A paper. key: first word of its claims. places: its statements, in its order."""

    key: str
    authors: str
    places: Sequence[Place]


XU = (
    Place("Figure 1", "How comparisons are flipped, debiased and fitted.", why="a drawing"),
    Place("Definition 1", "ε-local differential privacy.", why="a definition"),
    Place(
        "section 3.1",
        "A flip with probability 1/(1 + e^ε) is ε-locally private, and tells the answer with "
        "probability e^ε/(1 + e^ε).",
        test="problems/ranking/test_ranking_rates.py::test_lemmas_1_and_2_by_enumeration",
    ),
    Place("Lemma 1"),
    Place("Example 1", row="X16"),
    Place("eq. (1)", "The debiased answer.", why="a definition; Lemma 2 judges it"),
    Place("Lemma 2"),
    Place("eq. (2)", "The likelihood without privacy.", why="a definition"),
    Place(
        "eq. (3)",
        "The loss is convex, and its minimum unique.",
        test="problems/ranking/test_ranking_newton.py"
        "::test_agrees_with_scipy_on_the_objective_of_equation_3",
    ),
    Place("Lemma 3"),
    Place(
        "eq. (4)",
        "The excess risk, the loss of the population.",
        test="problems/ranking/test_ranking_ordering.py"
        "::test_excess_risk_is_the_population_objective",
    ),
    Place("Theorem 1", row="X1, X5"),
    Place("Theorem 2", row="X4, X8, X10"),
    Place(
        "after Theorem 2",
        "G(ε) > H(ε) where all budgets are equal.",
        test="problems/ranking/test_rows_xu.py"
        "::test_mean_square_and_largest_amplification_of_mixed_budgets",
    ),
    Place("remark after Theorem 2"),
    Place("Corollary 1", row="X18"),
    Place("Corollaries 1 and 2"),
    Place("Theorem 3", row="X6, X7, X15"),
    Place(
        "after Theorem 3",
        "With equal budgets the least rate is (e^ε + 1)/((e^ε − 1)√(κmL)).",
        test="problems/ranking/test_rows_xu.py::test_a_row_says_what_is_computed",
        row="X14",
    ),
    Place("Corollary 2"),
    Place("Table 1"),
    Place("Theorem 4"),
    Place("Lemma 4"),
    Place("Theorem 5", row="X9, X17"),
    Place(
        "eq. (9)",
        "The mean Kendall distance is the mean chance that two items change places.",
        why="the mean of a sum",
    ),
    Place("Theorem 6", row="X9"),
    Place("Scenario I,", row="X13", figure="2"),
    Place(
        "Figure 3",
        "Scenario II: Table 1 in simulation.",
        why="see Table 1",
        row="X12",
        figure="3",
    ),
    Place("Scenario III", figure="4"),
    Place("Scenario IV", figure="5"),
    Place("Scenario V,", row="X3", figure="6"),
    Place("MovieLens", row="X11", figure="7"),
    Place("section 5.4"),
    Place("Lemma S5"),
    Place("Lemma S6", row="X2"),
    Place("Lemma S7"),
    Place("Lemma S8"),
)

NGUYEN = (
    Place("eq. (1)", "The Rasch model.", why="a definition"),
    Place(
        "eqs. (2) and (3), Algorithm 1",
        "Counts of pairs, their Markov chain, its stationary law.",
        test="problems/response/test_response_spectral_fit.py::test_it_is_the_law_of_the_chain",
    ),
    Place("Theorem 3.1"),
    Place("§3.1"),
    Place("Theorem 3.2"),
    Place("§3.2"),
    Place("Theorem 3.3"),
    Place("Theorem 3.4"),
    Place("after Theorem 3.4", row="N21"),
    Place("Definitions 1 to 3", "Neighbours, (ε, δ), and concentrated privacy.", why="definitions"),
    Place(
        "eq. (4), Algorithm 2",
        "Discrete Gaussian noise on every count.",
        test="problems/response/test_response_integer_noise.py"
        "::test_law_of_the_noise_in_every_entry",
    ),
    Place("Lemma 4.1", row="N1, N5"),
    Place("§4.3"),
    Place("§5.1", figure="1"),
    Place(
        "Figure 1(a)",
        "More items make every method less accurate at the same n and ε.",
        why="no claim; seen at n = 200, ε = 7.5, from 25 to 100 items: errors of 0.24 and 0.51 "
        "(Gaussian noise), 0.68 and 1.00 (Laplace), 0.83 and 0.97 (randomized response)",
        figure="1",
    ),
    Place(
        "Figure 1(b)",
        "From 200 to 1,000 persons Gaussian noise gains much, the others little.",
        why="no claim; seen at ε = 7.5, 100 items: errors of 0.51 and 0.15 (Gaussian noise), 1.00 and "
        "0.89 (Laplace), 0.97 and 0.97 (randomized response); with 25 items Laplace noise gains "
        "as well, 0.68 and 0.28",
        figure="1",
    ),
    Place("§5.2", row="N4, N8, N9"),
    Place("§7"),
    Place(
        "supplement, Lemma 1.1",
        "With high probability all pairs are answered by np²/2 to 3np²/2 persons.",
        test="problems/response/test_rows_nguyen.py",
        row="N12",
    ),
    Place(
        "supplement, Lemma 1.2",
        "The same of the number of items that a person answers.",
        test="problems/response/test_supplement_nguyen.py::test_lemma_1_2_for_one_person",
        row="N12",
    ),
    Place(
        "supplement, Lemma 1.3",
        "Bounds of I₂, I₃ and I₄ on the event that all counts are near their means.",
        test="problems/response/test_lemmas_nguyen.py::test_lemma_1_3",
    ),
    Place(
        "supplement, Lemma 1.4",
        "A bound of I₁.",
        test="problems/response/test_supplement_nguyen.py::test_steps_of_lemma_1_4",
    ),
    Place(
        "supplement, Theorem 1.5",
        "A bound of ‖π − π*‖∞/‖π‖∞.",
        test="problems/response/test_supplement_nguyen.py::test_theorems_1_5_1_7_1_10_and_3_1",
        row="N16",
    ),
    Place(
        "supplement, Lemma 1.6",
        "‖β̂ − β*‖∞ from ‖π − π*‖∞.",
        test="problems/response/test_rows_nguyen.py",
        row="N13",
    ),
    Place("supplement, Theorem 1.7", row="N16"),
    Place(
        "supplement, Lemma 1.8",
        "Sharper bounds of I₂, I₃ and I₄ where mp ≳ log n.",
        test="problems/response/test_supplement_nguyen.py::test_lemma_1_8",
    ),
    Place(
        "supplement, Lemma 1.9",
        "A sharper bound of I₁.",
        test="problems/response/test_rows_nguyen.py",
        row="N19",
    ),
    Place(
        "supplement, Theorem 1.10",
        "A sharper bound of ‖π − π*‖∞/‖π‖∞.",
        test="problems/response/test_supplement_nguyen.py::test_theorems_1_5_1_7_1_10_and_3_1",
        row="N16",
    ),
    Place(
        "supplement, Theorem 3.1",
        "Theorem 3.1 with its constants.",
        test="problems/response/test_supplement_nguyen.py::test_theorems_1_5_1_7_1_10_and_3_1",
        row="N16",
    ),
    Place(
        "supplement, Theorem 3.2",
        "Theorem 3.2 again, with its proof.",
        why="see Theorem 3.2",
        row="N20",
    ),
    Place(
        "supplement, Lemma 2.1",
        "Fano's inequality of pairs of models.",
        test="problems/response/test_rows_nguyen.py",
        row="N14",
    ),
    Place(
        "supplement, Lemma 2.2",
        "Many binary vectors that are far apart.",
        test="problems/response/test_supplement_nguyen.py::test_lemma_2_2",
        row="N18",
    ),
    Place(
        "supplement, Lemma 2.3",
        "The reverse of Pinsker's inequality.",
        test="problems/response/test_rows_nguyen.py",
        row="N15",
    ),
    Place(
        "supplement, Lemma 2.4",
        "Divergence of two of the models that Theorem 3.3 is shown with.",
        test="problems/response/test_lemmas_nguyen.py::test_lemmas_2_4_and_2_6",
    ),
    Place(
        "supplement, Lemma 2.5",
        "Fano's inequality of a test.",
        test="problems/response/test_supplement_nguyen.py::test_lemma_2_5",
    ),
    Place(
        "supplement, Lemma 2.6",
        "Divergence of two of the models that Theorem 3.4 is shown with.",
        test="problems/response/test_lemmas_nguyen.py::test_lemmas_2_4_and_2_6",
        row="N17",
    ),
    Place(
        "supplement, Lemma 3.1",
        "Concentrated privacy adds up, and no processing undoes it.",
        test="problems/response/test_supplement_nguyen.py::test_supplement_lemma_3_1",
    ),
    Place("supplement, Lemma 3.2"),
    Place("supplement, Theorem 3.3", row="N6"),
    Place("supplement, section 4"),
    Place("supplement, Figure 1", row="N10", figure="1 of the supplement"),
    Place("last section"),
    Place("supplement, Lemma 4.1", row="N11"),
    Place("supplement, find_effective_epsilon0_rr", row="N7"),
    Place("supplement, Lemma 4.2"),
    Place(
        "supplement, code",
        "A published private spectral algorithm.",
        test="problems/response/test_rows_nguyen.py",
        row="N2",
    ),
    Place("supplement, below Lemma 4.3", row="N3"),
)

BANERJEE = (
    Place("Informal Theorem 1", "Theorem 7 for any finite class.", why="see Theorem 7"),
    Place("Informal Theorem 2"),
    Place("Informal Theorem 3", "Theorems 13 and 14.", why="see Theorems 13 and 14"),
    Place("Informal Theorems 2 and 4", row="B3"),
    Place("§1.1"),
    Place("§1,"),
    Place("Definition 1", "ε-differential privacy.", why="a definition"),
    Place(
        "Propositions 2 to 4",
        "Budgets add up, processing costs nothing, and a flipped bit spends ε.",
        why="known; audited for every mechanism in [audits](audits.md)",
    ),
    Place("first sentences of Theorems 8, 15 and 16"),
    Place("Lemma 5", "Fano's inequality.", why="Lemma 20 with d = 0"),
    Place("Lemma 6"),
    Place("Theorem 7", row="B2, B7, B8"),
    Place("Theorem 8", row="B15, B19, B21"),
    Place("Figure 1", "Pairwise-Preference.", why="an algorithm; Theorem 8 judges it", figure="1"),
    Place("§3,"),
    Place("Lemma 9", row="B1"),
    Place("Theorem 10"),
    Place("§4.2"),
    Place("Lemma 11", row="B20"),
    Place("Lemma 12", row="B5"),
    Place("Theorem 13"),
    Place("Theorem 14"),
    Place("Figure 2", "MaxSense.", why="an algorithm; Theorem 15 judges it", figure="2"),
    Place("Theorem 15", row="B6, B9, B10, B18, B22"),
    Place(
        "after Theorem 15",
        "Where some tastes differ, δ_min > 0 for almost every θ.",
        test="problems/clustering/test_clustering_sample_sizes.py"
        "::test_opposite_tastes_are_inseparable",
    ),
    Place("§5", row="B4"),
    Place("Figure 3", "Multi-MaxSense.", why="an algorithm; Theorem 16 judges it", figure="3"),
    Place("Theorem 16", row="B11, B12"),
    Place("Theorem 17", row="B13, B16"),
    Place(
        "Lemma 18",
        "Lemma 9 for any law of the clusters and of the items that a user rates.",
        test="problems/clustering/test_lemmas_banerjee.py::test_lemmas_18_and_25",
    ),
    Place(
        "Lemma 19",
        "Var[F | answers] is at most max{20, 10δ} times Var[F], δ what they tell.",
        test="problems/clustering/test_lemmas_banerjee.py::test_lemma_32_and_19",
        row="B13",
    ),
    Place(
        "Lemma 20",
        "Fano's inequality where d items may be wrong.",
        test="problems/clustering/test_lemmas_banerjee.py"
        "::test_lemmas_5_and_20_and_corollary_22_by_enumeration",
    ),
    Place("Corollary 21"),
    Place(
        "Corollary 22",
        "Corollary 21 with Lemma 6.",
        test="problems/clustering/test_lemmas_banerjee.py"
        "::test_lemmas_5_and_20_and_corollary_22_by_enumeration",
        row="B14",
    ),
    Place("Theorem 23", row="B14"),
    Place("Theorem 24", "Theorem 8 again, with its proof.", why="see Theorem 8", row="B17"),
    Place(
        "Lemma 25",
        "Lemma 18 again, with its proof.",
        test="problems/clustering/test_lemmas_banerjee.py::test_lemmas_18_and_25",
    ),
    Place("Lemma 26", "Lemma 12 again, with its proof.", why="see Lemma 12", row="B5"),
    Place("Theorem 27", "Theorem 14 again, with its proof.", why="see Theorem 14"),
    Place(
        "Lemma 28",
        "Extremal points of the laws that are near the uniform one.",
        test="problems/clustering/test_lemmas_banerjee.py::test_lemma_28",
    ),
    Place("Lemma 29", "Lemma 19 again, with its proof.", why="see Lemma 19"),
    Place(
        "Lemma 30",
        "What answers tell is at least the divergence of F's law from its prior one.",
        test="problems/clustering/test_lemmas_banerjee.py::test_lemmas_30_and_31",
    ),
    Place(
        "Lemma 31",
        "A bound of the largest variance of F by its partition function.",
        test="problems/clustering/test_lemmas_banerjee.py::test_lemmas_30_and_31",
    ),
    Place(
        "Lemma 32",
        "Z(ν) is at most 1 + 4νσ²/(1 − 2νσ²).",
        test="problems/clustering/test_lemmas_banerjee.py::test_lemma_32_and_19",
    ),
)

WANG = (
    Place(
        "Definitions 1 to 3",
        "Differential privacy, local, and local of one attribute.",
        why="definitions",
        row="W17",
    ),
    Place(
        "§2.2",
        "A worker's confusion matrix, of which one ability is a special case.",
        why="a definition; judged by `wang/two_coins`",
        row="W19",
    ),
    Place(
        "eqs. (1) to (8)",
        "Dawid and Skene's likelihood, and the steps that increase it.",
        test="problems/crowd/test_crowd_estimators.py"
        "::test_what_has_converged_cannot_be_improved_by_a_nudge",
    ),
    Place("Theorem 1"),
    Place("eqs. (9) and (22)"),
    Place("after eq. (10)"),
    Place("§3.3"),
    Place("Theorem 2", row="W2, W3, W6, W18"),
    Place("eq. (14)"),
    Place("Theorem 3", row="W5, W7, W9, W10"),
    Place("eq. (18)"),
    Place("Theorem 4", row="W4, W8, W11"),
    Place("conclusion", row="W16"),
    Place("Lemma 1", row="W15"),
    Place(
        "Lemma 2",
        "Hoeffding's inequality.",
        test="problems/crowd/test_crowd_lemmas.py::test_lemma_2_by_enumeration",
    ),
    Place("Lemma 3", row="W12, W13, W14"),
    Place(
        "Lemma 4",
        "The Berry–Esseen theorem.",
        test="problems/crowd/test_rows_wang.py",
        row="W1",
    ),
)

PAPERS = (
    Paper("xu", "Xu, Sun and Cheng", XU),
    Paper("nguyen", "Nguyen and Zhang", NGUYEN),
    Paper("banerjee", "Banerjee, Hegde and Massoulié", BANERJEE),
    Paper("wang", "Wang and Xu", WANG),
)

# Claims whose sources name a place of a paper that does not say this.
OURS = {
    "nguyen.figure_1.debiasing",
    "nguyen.figure_1.tight",
    "nguyen.questions",
    "wang.two_coins.labels",
    "wang.two_coins.law",
    "xu.figure_7.independent.inf",
    "xu.figure_7.independent.kendall",
    "xu.figure_7.independent.l2",
    "xu.figure_7.independent.top_k",
    "xu.parties.added",
}
# Claim -> the place that it is about, where its source names another one first.
ABOUT = {"banerjee.informal_2.corrected": "Informal Theorem 2"}
