"""Read the address of a web page; decide which network addresses are private."""

import ipaddress
import re
from typing import Final, NamedTuple
from urllib.parse import SplitResult, urljoin, urlsplit

MOST_CHARS: Final = 2_000
_NAME: Final = re.compile(r"[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?(\.[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?)*")
_NUMBER: Final = re.compile(r"[0-9]+|0x[0-9a-f]*")
LOCAL: Final = "localhost"


class AddressRefused(ValueError):
    """An address that is never fetched; the text says why."""


class PageAddress(NamedTuple):
    """The address of a web page. Only `read_address` makes one."""

    url: str
    """As it is shown and cached: without its fragment, the host in its one spelling."""
    scheme: str
    host: str
    """Lower case, without a final dot; names in ASCII, IP addresses in their shortest form."""
    port: int
    target: str
    """Path and query."""

    @property
    def ip(self) -> str:
        """The host if it is an IP address; else empty."""
        return self.host if _ip(self.host) is not None else ""

    @property
    def is_private(self) -> bool:
        """Whether the host itself says that it is on this machine or a private network. A name may still lead there."""
        if self.ip:
            return not is_public(self.ip)
        return self.host == LOCAL or self.host.endswith(f".{LOCAL}")

    @property
    def netloc(self) -> str:
        return self._netloc(self.host)

    def at(self, ip: str) -> str:
        """The same page by a network address of its host."""
        return f"{self.scheme}://{self._netloc(ip)}{self.target}"

    def _netloc(self, host: str) -> str:
        name = f"[{host}]" if ":" in host else host
        return name if self.port == _default_port(self.scheme) else f"{name}:{self.port}"

    def joined(self, location: str) -> "PageAddress":
        """The address that a redirect from here names. Raises `AddressRefused`."""
        try:
            return read_address(urljoin(self.url, location))
        except AddressRefused:
            raise
        except ValueError:
            raise AddressRefused("It redirects to an address that cannot be read.") from None


def read_address(text: str) -> PageAddress:
    """Read an http(s) address. Raises `AddressRefused` for what programs read in different ways, too."""
    text = text.strip()
    if not text or len(text) > MOST_CHARS or not text.isprintable() or re.search(r"[\s\\]", text):
        raise AddressRefused(
            f"Not a web address: it must have 1 to {MOST_CHARS:,} characters, without spaces or backslashes."
        )
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError:
        raise AddressRefused("Not a web address.") from None
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise AddressRefused("Only http:// and https:// addresses can be fetched.")
    if "@" in parts.netloc:
        raise AddressRefused("An address with a user name or password is not fetched. Leave them out.")
    if port == 0:
        raise AddressRefused("Port 0 cannot be fetched.")
    return _address(parts, _host(parts.hostname), port or _default_port(parts.scheme))


def _address(parts: SplitResult, host: str, port: int) -> PageAddress:
    target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    found = PageAddress("", parts.scheme, host, port, target)
    if found.ip and is_metadata(found.ip):
        raise AddressRefused("This is a cloud metadata service, which is never fetched.")
    return found._replace(url=f"{parts.scheme}://{found.netloc}{target}")


def _host(text: str) -> str:
    """A host in its one spelling. Raises `AddressRefused`."""
    name = text.rstrip(".")
    if "%" in name:
        raise AddressRefused("An IP address with a zone (%) is not fetched.")
    if (ip := _ip(name)) is None:
        try:
            name = name.encode("idna").decode().lower().rstrip(".")
        except ValueError:
            raise AddressRefused("The host name is not valid.") from None
        ip = _ip(name)
    if ip is not None:
        return str((ip.ipv4_mapped if isinstance(ip, ipaddress.IPv6Address) else None) or ip)
    if not _NAME.fullmatch(name):
        raise AddressRefused("The host name is not valid.")
    if _NUMBER.fullmatch(name.rpartition(".")[2]):
        raise AddressRefused("Write an IP address as four decimal numbers, such as 192.0.2.1.")
    return name


def _ip(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None


def _default_port(scheme: str) -> int:
    return 443 if scheme == "https" else 80


def is_public(ip: str) -> bool:
    """Whether an IP address is one of the public internet, also when it holds an IPv4 address inside of an IPv6 one."""
    from co_tui.agent.library_internals import is_private_ip  # heavy, and long loaded when a page is fetched

    found = _ip(ip)
    return found is not None and found.is_global and not is_private_ip(ip) and not is_metadata(ip)


def is_metadata(ip: str) -> bool:
    """Whether an IP address is a cloud's service for keys and settings of its machines."""
    from co_tui.agent.library_internals import is_cloud_metadata_ip

    return is_cloud_metadata_ip(ip)
