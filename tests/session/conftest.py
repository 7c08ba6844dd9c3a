from collections.abc import Iterator

import pytest

from tests.support.approving import Tools
from tests.support.direct_replies import replying_directly
from tests.support.provider import Provider
from tests.support.talks import GOOD, LONG


@pytest.fixture(scope="package", autouse=True)
def without_connections() -> Iterator[None]:
    """What a provider of this process says needs no socket, unless it waits or breaks off."""
    with replying_directly():
        yield


@pytest.fixture
def long_answers(provider: Provider) -> None:
    """A provider whose answers fill a small window soon, and whose summaries of them can be used."""
    provider.default, provider.summary, provider.window = LONG, GOOD, 100_000


@pytest.fixture
def tools() -> Tools:
    return Tools()
