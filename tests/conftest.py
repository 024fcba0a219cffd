import os

from hypothesis import HealthCheck, settings

# Figures are drawn to files only, also on a machine with a screen.
os.environ.setdefault("MPLBACKEND", "Agg")

settings.register_profile(
    "ssba",
    # A deadline, and the check for slow draws, would fail a test for the machine's load.
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    # In CI the same cases every time; at a desk new ones, each with the line that replays a failure.
    derandomize=bool(os.environ.get("CI")),
    print_blob=True,
)
settings.load_profile("ssba")
