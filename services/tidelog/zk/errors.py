"""The errors of ZooKeeper calls, and the one place where kazoo's exceptions become ours."""

# ruff: noqa: N818 - these are ZooKeeper's own names for what went wrong.

from kazoo import exceptions as kazoo


class ZkError(Exception):
    """A ZooKeeper call failed. `index` is the place of the failed operation in its multi, 0 for a single call."""

    def __init__(self, message: str = "", *, path: str = "", index: int = 0) -> None:
        super().__init__(f"{path}: {message}" if path else message)
        self.message = message
        self.path = path
        self.index = index


class NoNode(ZkError):
    """The node, or the parent of a node to create, does not exist."""


class NodeExists(ZkError):
    """The node to create is already there."""


class BadVersion(ZkError):
    """The node's version is not the expected one."""


class NotEmpty(ZkError):
    """The node to delete has children."""


class ConnectionLost(ZkError):
    """The connection broke or the call took too long: whether it was executed is unknown, so read before acting."""


class SessionExpired(ZkError):
    """The session is over and its ephemeral nodes are gone, or about to go. Never retried."""


# The order matters where kazoo's classes inherit from each other: the first match wins.
_MAPPING: tuple[tuple[type[Exception], type[ZkError]], ...] = (
    (kazoo.NoNodeError, NoNode),
    (kazoo.NodeExistsError, NodeExists),
    (kazoo.BadVersionError, BadVersion),
    (kazoo.NotEmptyError, NotEmpty),
    (kazoo.SessionExpiredError, SessionExpired),
    (kazoo.ConnectionLoss, ConnectionLost),
    (kazoo.OperationTimeoutError, ConnectionLost),
    (kazoo.RequestTimeoutError, ConnectionLost),
    (kazoo.SessionMovedError, ConnectionLost),
    # A reply out of step: kazoo drops the connection, and nobody knows what became of the request.
    (RuntimeError, ConnectionLost),
)


def from_kazoo(error: Exception, *, path: str = "", index: int = 0) -> ZkError:
    """Our error for an exception that kazoo raised or returned."""
    name = type(error).__name__
    message = f"{name}: {error}" if str(error) else name
    for theirs, ours in _MAPPING:
        if isinstance(error, theirs):
            return ours(message, path=path, index=index)
    return ZkError(message, path=path, index=index)


def is_cause(error: Exception) -> bool:
    """Whether this result of a failed multi is the cause: the others say only that they were undone or skipped."""
    return not isinstance(error, (kazoo.RolledBackError, kazoo.RuntimeInconsistency))
