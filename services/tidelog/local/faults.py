"""What can go wrong with a cluster on this machine, each with the exit code that the command line returns for it."""

from typing import ClassVar


class LocalError(Exception):
    """The cluster could not do what was asked; the message is one sentence for a person: what, why, what to do."""

    exit_code: ClassVar[int] = 1


class WrongUsageError(LocalError):
    """The request itself is wrong, whatever state the cluster is in."""

    exit_code: ClassVar[int] = 2


class UnreachableError(LocalError):
    """There is nothing to talk to: no cluster in the data directory, or no ZooKeeper behind the address."""

    exit_code: ClassVar[int] = 3
