"""The small files that say whose a directory is: meta.properties of a log directory, partition.metadata of a partition."""

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tidelog.broker.log.names import CLEAN_SHUTDOWN, META_PROPERTIES, PARTITION_METADATA
from tidelog.kafka.types import BrokerId, TopicId, parse_topic_id, topic_id_text

if TYPE_CHECKING:
    from tidelog.broker.log.files import Files

_UNKNOWN_BROKER_EPOCH = -1


class ForeignDirectoryError(Exception):
    """A directory that belongs to another broker or cluster, or whose owner cannot be read."""


@dataclass(frozen=True, slots=True)
class MetaProperties:
    """To which broker of which cluster a log directory belongs."""

    broker_id: BrokerId
    cluster_id: str

    def encode(self) -> bytes:
        return f"broker.id={self.broker_id}\ncluster.id={self.cluster_id}\nversion=0\n".encode()

    @classmethod
    def decode(cls, data: bytes) -> "MetaProperties":
        """Raises ForeignDirectoryError unless it is version 0 with both fields."""
        lines = [line.strip() for line in data.decode("latin-1").splitlines()]
        pairs = dict(line.replace("\\", "").split("=", 1) for line in lines if "=" in line and line[0] not in "#!")
        try:
            if pairs["version"] != "0":
                raise ForeignDirectoryError(f"{META_PROPERTIES} has version {pairs['version']}")
            return cls(BrokerId(int(pairs["broker.id"])), pairs["cluster.id"])
        except (KeyError, ValueError) as error:
            raise ForeignDirectoryError(f"{META_PROPERTIES} is incomplete: {error}") from None


def claim_directory(files: "Files", directory: str, owner: MetaProperties) -> None:
    """Write the owner into a fresh directory, which is made if need be, or check that it is the one who is there."""
    files.mkdir(directory)
    path = f"{directory}/{META_PROPERTIES}"
    data = files.read_file(path)
    if data is None:
        files.replace_file(path, owner.encode())
        return
    found = MetaProperties.decode(data)
    if found != owner:
        raise ForeignDirectoryError(
            f"{directory} belongs to broker {found.broker_id} of cluster {found.cluster_id}, "
            f"not to broker {owner.broker_id} of cluster {owner.cluster_id}"
        )


def write_topic_id(files: "Files", directory: str, topic_id: TopicId) -> None:
    """Kafka writes no newline at the end of this file."""
    data = f"version: 0\ntopic_id: {topic_id_text(topic_id)}".encode()
    files.create_file(f"{directory}/{PARTITION_METADATA}", data)


def read_topic_id(files: "Files", directory: str) -> TopicId | None:
    """The topic id of a partition's directory; None if it has none that can be read."""
    data = files.read_file(f"{directory}/{PARTITION_METADATA}") or b""
    pairs = dict(line.split(": ", 1) for line in data.decode("ascii", "replace").splitlines() if ": " in line)
    try:
        return parse_topic_id(pairs["topic_id"]) if pairs["version"] == "0" else None
    except (KeyError, ValueError):
        return None


def mark_clean(files: "Files", directory: str, broker_epoch: int = _UNKNOWN_BROKER_EPOCH) -> None:
    """The last act of an orderly stop."""
    content = json.dumps({"version": 0, "brokerEpoch": broker_epoch}, separators=(",", ":"))
    files.replace_file(f"{directory}/{CLEAN_SHUTDOWN}", content.encode())


def take_clean_mark(files: "Files", directory: str) -> bool:
    """Whether the last stop was orderly. The mark is gone after this: a crash from now on is not to be taken for one."""
    if not files.unlink_if_there(f"{directory}/{CLEAN_SHUTDOWN}"):
        return False
    files.sync_dir(directory)
    return True
