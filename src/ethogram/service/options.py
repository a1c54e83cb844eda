"""What a service is started with."""

from __future__ import annotations

from ipaddress import ip_address

from ..config import Settings
from ..errors import BadUsage
from ..models.slotted import dataclass, field

LOCAL_NAMES = ("localhost", "127.0.0.1", "::1")
PORT = 8765


@dataclass(frozen=True, slots=True)
class ServeOptions:
    """Where a service listens and keeps things, and how much it takes."""

    store: str = "ethogram.db"
    host: str = "127.0.0.1"
    port: int = PORT
    keep_text: bool = False
    patterns: tuple[str, ...] = ()
    """Selectors of patterns; none: those that are on."""
    settings: Settings = field(default_factory=Settings)
    hosts: tuple[str, ...] = ()
    """Further names under which the service is reached."""
    body_bytes: int = 32 * 2**20
    """The most bytes of a request, before and after unpacking."""
    waiting: int = 50_000
    """Events that may wait to be written; beyond that a request is answered with 429."""
    webhooks: tuple[str, ...] = ()
    """Addresses that get every change of a detection. Only the command line names them."""
    webhook_secret: str = ""
    """Signs what webhooks get."""
    exports: tuple[str, ...] = ()
    """Exporters that get the same as scores, as NAME=URL."""
    public_url: str = ""
    """The address under which people reach the service, for links; empty: host and port."""
    retention: float | None = None
    """Seconds after which events, and detections that were over by then, are removed; None: never."""
    evaluator: str = ""
    """Scores the texts of messages before patterns are looked for; empty: none does."""
    budget: float | None = None
    """Dollars that the evaluator may cost until the service ends; None: any number."""
    pause: float = 1.0
    """Seconds between two looks for something new."""

    @property
    def url(self) -> str:
        """The address for links."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return (self.public_url or f"http://{host}:{self.port}").rstrip("/")

    @property
    def is_local(self) -> bool:
        """Whether only this machine can reach the service."""
        if self.host in LOCAL_NAMES:
            return True
        try:
            return ip_address(self.host).is_loopback
        except ValueError:
            return False

    @property
    def known_hosts(self) -> frozenset[str]:
        """Names a request may ask for; any other is an attack by way of a browser."""
        return frozenset({*LOCAL_NAMES, self.host, *self.hosts})

    def check(self, *, has_keys: bool) -> None:
        """BadUsage where others could reach a service that lets everybody in."""
        if not self.is_local and not has_keys:
            raise BadUsage(
                f"refusing to listen on {self.host}: without API keys only this machine may connect; "
                f"make one with `ethogram keys new NAME --role admin --store {self.store}`"
            )
