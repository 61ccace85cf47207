"""DeleteTopics (20): delete topics, by name or by id."""

from uuid import UUID

from tidelog.kafka.wire.fields import array, int16, int32, string, uuid
from tidelog.kafka.wire.schema import Api, Request, Response, Struct

DELETE_TOPICS = Api(20, "DeleteTopics", versions="0-6", flexible="4+")


class DeleteTopicState(Struct):
    name: str | None = string(nullable="0+", default=None)
    topic_id: UUID = uuid()


class DeleteTopicsRequest(Request["DeleteTopicsResponse"], api=DELETE_TOPICS):
    topics: list[DeleteTopicState] = array(DeleteTopicState, "6+")
    topic_names: list[str] = array(string, "0-5")
    timeout_ms: int = int32()


class DeletableTopicResult(Struct):
    name: str | None = string(nullable="6+")
    topic_id: UUID = uuid("6+")
    error_code: int = int16()
    error_message: str | None = string("5+", nullable="5+", default=None)


class DeleteTopicsResponse(Response, api=DELETE_TOPICS):
    throttle_time_ms: int = int32("1+")
    responses: list[DeletableTopicResult] = array(DeletableTopicResult)
