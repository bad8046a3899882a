"""Claims of Banerjee, Hegde and Massoulié on private item clustering, in one table."""

from pipeline.claims import banerjee_information, banerjee_maxsense, banerjee_regimes, banerjee_schemes

CLAIMS = (*banerjee_information.CLAIMS, *banerjee_maxsense.CLAIMS, *banerjee_regimes.CLAIMS, *banerjee_schemes.CLAIMS)
