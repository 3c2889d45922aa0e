"""A clock that says what the test wants."""

from datetime import UTC, datetime, timedelta


class FakeClock:
    """Ticks a second at each look, and can be set forward or back."""

    def __init__(self) -> None:
        self.now = datetime(2026, 11, 18, 9, 0, tzinfo=UTC)

    def __call__(self) -> datetime:
        self.now += timedelta(seconds=1)
        return self.now

    def move(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)
