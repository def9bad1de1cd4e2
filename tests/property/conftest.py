"""How much Hypothesis tries: `HYPOTHESIS_PROFILE=thorough pytest tests/property`."""

import os

from hypothesis import HealthCheck, settings

settings.register_profile(
    "deterministic", derandomize=True, max_examples=100, deadline=None, database=None
)
for name in ("ci", "thorough"):
    settings.register_profile(
        name,
        max_examples=1000 if name == "ci" else 10_000,
        deadline=None,
        print_blob=True,
        suppress_health_check=[HealthCheck.too_slow],
    )
settings.load_profile(
    os.environ.get("HYPOTHESIS_PROFILE", "deterministic")  # noqa: TID251 - Hypothesis has no option for it
)
