"""Claims of Xu, Sun and Cheng on films: Figure 7, what privacy adds to the error, and how much of it is coins."""


from pipeline.claims.claim import CONFIDENCE, Claim, at_least, at_most, equivalence, every
from pipeline.claims.evidence import average, enough, share
from pipeline.claims.xu_rates import NORMS, exponent, renamed
from pipeline.reduce.rates import fit_rate
from pipeline.reduce.summary import moments, paired_difference

_ERRORS = {**NORMS, "kendall": ("kendall", "Kendall distance"), "top_k": ("hamming_top_k", "top-10 error H₁₀")}


def _figure_7(metric, scheme, decide):
    def check(results):
        data = enough(results, metric, rule="paper", mechanism="randomized_response", scheme=scheme, L=3)
        return decide(exponent(data, metric, (), L=data["L"]), "exponent in L")

    return check


def _added(scheme, decide):
    """Check of the squared error that privacy adds, on the same users and coins with and without it."""

    def check(results):
        data = enough(results, "error_l2", rule="paper", scheme=scheme, mechanism=2, L=3)
        data["square"] = (data["error_l2"] ** 2).assign_attrs(units="logits²")
        added = paired_difference(data, "square", "mechanism", "randomized_response", "none")
        rate = fit_rate(added["mean"], added["mcse"], confidence=CONFIDENCE, L=added["L"])
        return decide(rate.exponents["L"], "exponent in L of the squared error added")

    return check


def _coins(results):
    data = enough(results, "share_two_ratings", "share_coin_flips", rule="paper", mechanism="randomized_response",
                  scheme="critical", L=1)
    ratings, coins = (average(*moments(data[name])[:2], share(0.5)) for name in ("share_two_ratings",
                                                                                "share_coin_flips"))
    return every(at_most(ratings, 0.15, "share of comparisons from two unequal ratings"),
                 at_least(coins, 0.5, "share from coins"))


_FINITE = ("Rule paper. The L users are drawn from 610 without replacement and a user's comparisons hang together, so "
           "the part of the error that has nothing to do with privacy is the larger one at L = 100 and is gone at "
           "L = 610.")


def _figure_7_claims(error):
    metric, name = _ERRORS[error]
    about = dict(
        source="Xu, Sun and Cheng, MovieLens, Figure 7 (schemes by formula: the text swaps 1 and 3)",
        experiment="xu/movielens",
        estimand=f"exponent of the mean {name} in L",
        why="A tenth of the exponent −½ of consistent estimation, and half of what the factor log(mL) tilts.",
    )
    yield Claim(
        id=f"xu.figure_7.log.{error}",
        statement=f"With ε ∝ log(mL)/√(mL) the {name} of the films' ranking falls as users are added.",
        tolerance="at most −0.05",
        conditions=_FINITE,
        check=_figure_7(metric, "log", lambda found, what: at_most(found, -0.05, what)),
        twin="errors multiplied by √(L/100)",
        twin_data=lambda r: r.assign({metric: r[metric] * (r["L"] / 100) ** 0.5}),
        **about,
    )
    yield Claim(
        id=f"xu.figure_7.inverse_log.{error}",
        statement=f"With ε ∝ 1/(√(mL) log(mL)) the {name} of the films' ranking rises as users are added.",
        tolerance="at least 0.03",
        conditions=_FINITE + " That part makes the error fall under every scheme; what privacy adds does rise, see "
                             "xu.figure_7.added.inverse_log.",
        check=_figure_7(metric, "inverse_log", lambda found, what: at_least(found, 0.03, what)),
        twin="scheme log in place of inverse_log",
        twin_data=renamed("scheme", "log", "inverse_log"),
        **about,
    )


_ADDED = {
    "log": ("log(mL)/√(mL)", "falls", "at most −0.05", lambda found, what: at_most(found, -0.05, what)),
    "critical": ("1/√(mL)", "stays stable", "0 ± 0.15", lambda found, what: equivalence(found, 0, 0.15, what)),
    "inverse_log": ("1/(√(mL) log(mL))", "rises", "at least 0.05",
                    lambda found, what: at_least(found, 0.05, what)),
}


def _added_claim(scheme):
    formula, verb, tolerance, decide = _ADDED[scheme]
    power, said = (-0.5, "−1/2") if scheme == "inverse_log" else (0.5, "1/2")
    return Claim(
        id=f"xu.figure_7.added.{scheme}",
        statement=f"With ε ∝ {formula} the squared error that privacy adds to the films' preferences {verb} as users "
                  "are added.",
        source="Xu, Sun and Cheng, Table 1 and Figure 7; the separation is not in the paper",
        experiment="xu/movielens",
        estimand="exponent in L of mean ‖θ̂ − θ*‖₂²/m with randomized response less the same without, on the same "
                 "users and coins",
        tolerance=tolerance,
        why="From L = 100 to 600 the factor log²(mL) tilts it by L^±0.2 or more.",
        conditions="Rule paper; L users of 610, ε = 1 at L = 100.",
        check=_added(scheme, decide),
        twin=f"errors multiplied by (L/100)^({said})",
        twin_data=lambda r: r.assign(error_l2=r["error_l2"] * (r["L"] / 100) ** power),
    )


CLAIMS = (
    *(claim for error in _ERRORS for claim in _figure_7_claims(error)),
    *map(_added_claim, _ADDED),
    Claim(
        id="xu.movielens.coins",
        statement="Of the comparisons that the paper's rules make of ratings, more than half are coin flips and few "
                  "come from two unequal ratings.",
        source="Xu, Sun and Cheng, section 5.4: equal ratings and two missing ones are decided by a coin, a missing "
               "one loses",
        experiment="xu/movielens",
        estimand="share of all comparisons of all users by what decides them",
        tolerance="at most 15 % from two unequal ratings, at least half from coins",
        why="A count, no estimate: MovieLens has 12.4 % and 54.4 %.",
        conditions="All users and the 40 films that most have rated, whatever L. The study is also run without the "
                   "coins (rule decided) and on two ratings alone (rule rated).",
        check=_coins,
        twin="the shares under each other's name",
        twin_data=lambda r: r.assign(share_two_ratings=r["share_coin_flips"], share_coin_flips=r["share_two_ratings"]),
    ),
)
