"""Claims of Xu, Sun and Cheng, private pairwise rankings, and slips of the paper that they do not copy."""

from pipeline.claims import xu_bounds, xu_lemmas, xu_rates

CLAIMS = (*xu_lemmas.CLAIMS, *xu_rates.CLAIMS, *xu_bounds.CLAIMS)

# (where in the paper, what is wrong there and what holds instead)
NOTES = (
    ("Section 5, discussion of Figures 3, 5 and 7",
     "Schemes 1 and 3 are described the other way round. By their formulas scheme 1 is log(mL)/√(mL), "
     "whose error falls, and scheme 3 is 1/(√(mL) log(mL)), whose error rises, as Table 1 says. Here "
     "schemes are named log, critical and inverse_log, never numbered."),
    ("Section 5.1, Scenario I, regularization",
     "λ ≍ L⁻¹(e^ε+1)²/(e^ε−1) misses a square in the denominator. Theorem 1 wants λ of order G(ε)/L with "
     "G = ((e^ε+1)/(e^ε−1))², which is used here."),
    ("Theorem 1, the text after it",
     "The order of δ is printed with (1+κ)²; the theorem and its proof have κ."),
    ("Theorem 3, eq. (8)",
     "The bound 1/√(κ m Σ_l t_l²) falls with κ although the problem gets harder. For m = 10, L = 100, ε = 1 and "
     "κ = 1, 10, 100 it is .068, .022, .0068, while the root of the Cramér–Rao bound for two groups of five "
     "items, log κ apart, is .130, .203, .999. It is a valid bound, loose at large κ."),
    ("Theorem 3, proof, eq. (S13)",
     "The difference p̃ − q̃ is printed with ¼ for ½, and with a factor that belongs to the χ² divergence."),
    ("Theorem 3, proof, Fano's inequality",
     "The mean divergence over a packing of all of Θ is not of order δ². A local packing, of radius of "
     "order δ, is needed, and gives the same rate."),
)
