"""Faults at start-up: one sentence that names the address, the setting, the reason and the remedy."""

import errno
import socket

import pytest

from tidelog.runtime.faults import PortTakenError, StartupError, cannot_listen, parse_listener


def test_a_taken_port() -> None:
    error = cannot_listen("127.0.0.1:9092", "listeners", OSError(errno.EADDRINUSE, "whatever"))
    assert isinstance(error, PortTakenError)
    assert str(error) == (
        "cannot listen on 127.0.0.1:9092 (listeners): address already in use; "
        "stop the other process or choose another port"
    )


@pytest.mark.parametrize(
    ("cause", "words"),
    [
        (OSError(errno.EACCES, ""), "permission denied; ports below 1024"),
        (OSError(errno.EADDRNOTAVAIL, ""), "this machine does not have that address"),
        (socket.gaierror(socket.EAI_NONAME, "Name or service not known"), "the host name does not resolve"),
        (OSError("could not bind"), "could not bind; choose another address"),
    ],
)
def test_other_reasons(cause: OSError, words: str) -> None:
    error = cannot_listen("h:1", "ops.listener", cause)
    assert not isinstance(error, PortTakenError)
    assert words in str(error)
    assert "(ops.listener)" in str(error)


@pytest.mark.parametrize(
    ("text", "expected"),
    [("127.0.0.1:9092", ("127.0.0.1", 9092)), (":0", ("", 0)), ("[::1]:80", ("::1", 80))],
)
def test_listeners_are_host_and_port(text: str, expected: tuple[str, int]) -> None:
    assert parse_listener(text, "ops.listener") == expected


@pytest.mark.parametrize("text", ["", "host", "host:", "host:port", "host:-1", "host:65536", "::1:80"])
def test_bad_listeners_are_refused_with_the_setting(text: str) -> None:
    with pytest.raises(StartupError, match=r"ops\.listener must be host:port"):
        parse_listener(text, "ops.listener")
