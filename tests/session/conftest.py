import pytest

from tests.support.approving import Tools
from tests.support.provider import Provider
from tests.support.talks import GOOD, LONG


@pytest.fixture
def long_answers(provider: Provider) -> None:
    """A provider whose answers fill a small window soon, and whose summaries of them can be used."""
    provider.default, provider.summary, provider.window = LONG, GOOD, 100_000


@pytest.fixture
def tools() -> Tools:
    return Tools()
