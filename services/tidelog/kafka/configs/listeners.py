"""Listeners in settings: how they are written, and what makes a set of them sound."""

import re
from collections import Counter
from collections.abc import Iterable

from tidelog.kafka.configs.checks import Check
from tidelog.kafka.configs.kinds import Kind, split_list
from tidelog.kafka.types import GRPC_LISTENER, Endpoint

_ADDRESS = re.compile(r"(?:\[(?P<ipv6>[0-9a-fA-F:.%]+)\]|(?P<host>[^\[\]:/\s]*)):(?P<port>\d{1,5})")
# Nobody can connect to these; they only say "all interfaces" to whoever binds.
_WILDCARD_HOSTS = ("0.0.0.0", "::")  # noqa: S104 - refused, not bound
Protocols = tuple[tuple[str, str], ...]


def _parse_endpoints(text: str) -> tuple[Endpoint, ...]:
    try:
        return tuple(Endpoint.parse(element) for element in split_list(text))
    except ValueError:
        raise ValueError("a list of LISTENER://host:port, separated by commas") from None


def _endpoints_text(endpoints: tuple[Endpoint, ...]) -> str:
    return ",".join(map(str, endpoints))


ENDPOINTS: Kind[tuple[Endpoint, ...]] = Kind("string", 2, _parse_endpoints, _endpoints_text)


def split_address(address: str) -> tuple[str, int]:
    """The host, without brackets and empty for all interfaces, and the port of a "host:port"; ValueError otherwise."""
    match = _ADDRESS.fullmatch(address)
    if match is None or int(match["port"]) > 65535:
        raise ValueError(f"{address!r} is not of the form host:port")
    return match["ipv6"] or match["host"] or "", int(match["port"])


def reachable_address(address: str, host_name: str) -> str:
    """The address with this machine's name where it has no host that others could connect to."""
    host, port = split_address(address)
    return Endpoint("", reachable_host(host, host_name), port).address


def reachable_host(host: str, host_name: str) -> str:
    return host_name if not host or host in _WILDCARD_HOSTS else host


def _is_address(address: str) -> bool:
    try:
        split_address(address)
    except ValueError:
        return False
    return True


def _is_advertisable(address: str) -> bool:
    return _is_address(address) and split_address(address)[0] not in ("", *_WILDCARD_HOSTS)


ADDRESS = Check(_is_address, "host:port, or :port for every interface")
ADDRESS_OR_EMPTY = Check(lambda address: address == "" or _is_address(address), "host:port, or empty")
ADVERTISABLE_ADDRESS = Check(_is_advertisable, "host:port with a host that others can connect to")
ADDRESSES = Check(lambda addresses: all(map(_is_address, addresses)), "a list of host:port, separated by commas")


def duplicates(listeners: tuple[Endpoint, ...]) -> str:
    """Listener names must differ, and so must ports, unless the system is to choose them (port 0)."""
    names = _repeated(each.listener for each in listeners)
    ports = _repeated(str(each.port) for each in listeners if each.port)
    if names:
        return f"names a listener twice: {', '.join(names)}"
    return f"uses a port twice: {', '.join(ports)}" if ports else ""


def reserved_names(listeners: tuple[Endpoint, ...]) -> str:
    """A registration tells the gRPC address under a listener's name, which no Kafka listener may have then."""
    taken = [each for each in listeners if each.listener == GRPC_LISTENER]
    return f"uses the name {GRPC_LISTENER}, which stands for the control plane's address" if taken else ""


def _repeated(items: Iterable[str]) -> list[str]:
    return [item for item, count in Counter(items).items() if count > 1]


def unknown_protocols(listeners: tuple[Endpoint, ...], protocols: Protocols) -> str:
    """Each listener's name must be mapped to a protocol, and PLAINTEXT is the one that is served."""
    known = {name.upper(): protocol.upper() for name, protocol in protocols}
    missing = [each.listener for each in listeners if each.listener not in known]
    if missing:
        return f"has names that listener.security.protocol.map does not have: {', '.join(missing)}"
    secured = [f"{each.listener} ({known[each.listener]})" for each in listeners if known[each.listener] != "PLAINTEXT"]
    return f"has listeners whose protocol is not supported, only PLAINTEXT is: {', '.join(secured)}" if secured else ""


def unsound_advertised(advertised: tuple[Endpoint, ...] | None, listeners: tuple[Endpoint, ...]) -> str:
    """What clients are told to connect to must be reachable, named once, and one of the listeners."""
    advertised = advertised or ()
    wild = [str(each) for each in advertised if each.host in _WILDCARD_HOSTS]
    if wild:
        return f"has an address that nobody can connect to: {', '.join(wild)}"
    names = _repeated(each.listener for each in advertised)
    if names:
        return f"names a listener twice: {', '.join(names)}"
    foreign = sorted({each.listener for each in advertised} - {each.listener for each in listeners})
    return f"has names that listeners does not have: {', '.join(foreign)}" if foreign else ""


def unknown_listener(name: str | None, listeners: tuple[Endpoint, ...]) -> str:
    """A listener that is chosen by its name must exist."""
    if name is None or name.upper() in {each.listener for each in listeners}:
        return ""
    return f"is none of the listeners: {', '.join(each.listener for each in listeners)}"
