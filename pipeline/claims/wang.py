"""Claims of Wang and Xu: every theorem, the limits, and what the paper leaves open."""

from pipeline.claims import wang_bounds, wang_experts, wang_limits, wang_real, wang_start

CLAIMS = (*wang_limits.CLAIMS, *wang_bounds.CLAIMS, *wang_experts.CLAIMS, *wang_start.CLAIMS,
          *wang_real.CLAIMS)
