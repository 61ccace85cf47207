"""A file system that takes no more, under a broker with two log directories: what is on the other one goes on."""

import resource
from pathlib import Path

import psutil
import pytest

from tests.support.batches import plain
from tests.support.services import Service, Services
from tests.support.waiting import eventually
from tests.support.wire_client import WireClient, create
from tidelog.kafka.errors import KafkaCode
from tidelog.kafka.wire.messages.describe_log_dirs import DescribeLogDirsRequest
from tidelog.kafka.wire.messages.metadata import MetadataRequest

FILE_BYTES_MAX = 300_000
RECORD = b"x" * 20_000


@pytest.fixture
def broker(services: Services, tmp_path: Path) -> Service:
    services.start("controller", 0)
    # Index files have their full size from the start, and are not what this is about.
    return services.start(
        "broker", 1, log_dirs=f"{tmp_path}/a,{tmp_path}/b", log_index_size_max_bytes="4096"
    ).wait_ready()


def limit_files(broker: Service, size: int) -> None:
    """No file of the broker may grow beyond this; the kernel then takes the part that fits and refuses the rest."""
    psutil.Process(broker.process.pid).rlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))


def directory_of(topic: str, broker: Service) -> Path:
    (found,) = [path for path in map(Path, broker.settings["log.dirs"].split(",")) if (path / f"{topic}-0").exists()]
    return found


def test_a_full_directory_refuses_writes_and_the_other_one_goes_on(broker: Service) -> None:
    with WireClient(broker) as client:
        for topic in ("fills", "goes-on"):
            create(client, topic)
        full, other = directory_of("fills", broker), directory_of("goes-on", broker)
        assert full != other
        limit_files(broker, FILE_BYTES_MAX)
        acknowledged = 0
        while not (code := client.produce("fills", bytes(plain(RECORD))).error_code):
            acknowledged += 1
            assert acknowledged < 100
        assert code == KafkaCode.KAFKA_STORAGE_ERROR
        assert acknowledged > 10
        # What was written of it in part is not there, and nothing more is taken.
        assert (full / "fills-0" / f"{0:020}.log").stat().st_size == acknowledged * len(plain(RECORD))
        assert client.produce("fills").error_code == KafkaCode.KAFKA_STORAGE_ERROR
        assert client.fetch("fills").error_code == KafkaCode.KAFKA_STORAGE_ERROR

        told = {one.log_dir: one.error_code for one in client.call(DescribeLogDirsRequest(topics=None), 1).results}
        assert told == {str(full): KafkaCode.KAFKA_STORAGE_ERROR, str(other): KafkaCode.NONE}
        eventually(lambda: leaders(client) == {"fills": -1, "goes-on": 1})
        for offset in range(5):
            assert client.produce("goes-on").base_offset == offset
        create(client, "new")
        assert directory_of("new", broker) == other
        assert client.produce("new").base_offset == 0

    limit_files(broker, resource.RLIM_INFINITY)
    assert broker.stop() == 0
    broker.start().wait_ready()
    with WireClient(broker) as client:
        eventually(lambda: leaders(client) == {"fills": 1, "goes-on": 1, "new": 1})
        assert client.fetch("fills").high_watermark == acknowledged
        assert client.produce("fills").base_offset == acknowledged
        assert client.produce("goes-on").base_offset == 5


def leaders(client: WireClient) -> dict[str, int]:
    topics = client.call(MetadataRequest(topics=None), 9).topics
    return {topic.name or "": topic.partitions[0].leader_id for topic in topics}
