"""Every check here runs on every backend, in every way its walls can be built."""

from collections.abc import Iterator

import pytest

from fakes.backends import Desk, Place, local_jail, modes_here


@pytest.fixture(scope="session", params=modes_here())
def place(request: pytest.FixtureRequest) -> Iterator[Place]:
    with local_jail(request.param) as place:
        yield place


@pytest.fixture
def desk(place: Place) -> Iterator[Desk]:
    with place.session() as desk:
        yield desk
