"""Where responses have their error codes."""

from tidelog.kafka.wire.messages.api_versions import ApiVersionsResponse
from tidelog.kafka.wire.messages.describe_client_quotas import DescribeClientQuotasResponse
from tidelog.kafka.wire.messages.metadata import MetadataResponse, MetadataResponsePartition, MetadataResponseTopic
from tidelog.net.error_codes import error_codes


def test_one_at_the_top() -> None:
    assert list(error_codes(ApiVersionsResponse(error_code=35))) == [35]


def test_one_for_each_part_at_every_level() -> None:
    partitions = [MetadataResponsePartition(error_code=5), MetadataResponsePartition(error_code=0)]
    topics = [MetadataResponseTopic(error_code=0, partitions=partitions), MetadataResponseTopic(error_code=3)]
    assert list(error_codes(MetadataResponse(topics=topics))) == [0, 5, 0, 3]


def test_a_list_that_is_null_has_none() -> None:
    assert list(error_codes(DescribeClientQuotasResponse(error_code=42, entries=None))) == [42]
