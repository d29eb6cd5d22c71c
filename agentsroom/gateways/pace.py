"""How often somebody may: wrong keys of one address, calls of one agent or login. Counted in this process, by the minute."""

import math
import time
from ipaddress import IPv6Address, ip_address

from limits import RateLimitItemPerMinute
from limits.strategies import RateLimiter

from agentsroom.core.errors import TooManyRequests

WRONG_KEYS = 20
"""Of one address in a minute; from then on each is told to wait. A right key always gets in."""
FAILED_LOGINS = 5
"""Of one address in a minute, at the form of /login; a login that works does not count."""

_NETWORK_BITS = 64
_wrong_keys = RateLimitItemPerMinute(WRONG_KEYS, namespace="wrong keys")


class Pace:
    """Counts; what is within its limit costs microseconds."""

    def __init__(self, limiter: RateLimiter, most_calls: int) -> None:
        self._limiter = limiter
        self._calls = RateLimitItemPerMinute(most_calls, namespace="calls") if most_calls else None

    def count_call(self, holder: str) -> None:
        """`holder`: whose calls count together. Raises TooManyRequests."""
        if self._calls is not None and not self._limiter.hit(self._calls, holder):
            raise TooManyRequests(
                f"This agent or login made {self._calls.amount:,} calls within a minute.",
                hint="Wait, then go on more slowly; AGENTS_ROOM_MAX_CALLS sets how many there may be.",
                retry_after=self._seconds_left(self._calls, holder),
            )

    def count_wrong_key(self, address: str) -> None:
        """Raises TooManyRequests."""
        network = _network_of(address)
        if not self._limiter.hit(_wrong_keys, network):
            raise TooManyRequests(
                "Too many wrong keys came from this address.",
                hint="A right key gets in at once; agents-room agent key ID makes a new one.",
                retry_after=self._seconds_left(_wrong_keys, network),
            )

    def _seconds_left(self, item: RateLimitItemPerMinute, holder: str) -> int:
        ends_at = self._limiter.get_window_stats(item, holder).reset_time
        return max(1, math.ceil(ends_at - time.time()))


def _network_of(address: str) -> str:
    """What one client has: an IPv4 address, but a whole network of IPv6."""
    try:
        found = ip_address(address)
    except ValueError:  # of a socket that is no network's, or that a proxy made up
        return address
    if isinstance(found, IPv6Address) and found.ipv4_mapped is None:
        return str(int(found) >> (found.max_prefixlen - _NETWORK_BITS))
    return str(found)
