"""Settings of the whole suite."""

import hypothesis
import pytest

pytest.register_assert_rewrite("contract")

# The same examples in every run, on a machine of any speed.
hypothesis.settings.register_profile(
    "backpass", derandomize=True, deadline=None, max_examples=25, database=None
)
hypothesis.settings.load_profile("backpass")
