"""Kafka's error codes, what each means to whoever receives it, and the exception that carries one."""

from dataclasses import dataclass
from enum import IntEnum
from types import MappingProxyType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


class KafkaCode(IntEnum):
    """Every error code of Kafka 3.9, under Kafka's own name."""

    UNKNOWN_SERVER_ERROR = -1
    NONE = 0
    OFFSET_OUT_OF_RANGE = 1
    CORRUPT_MESSAGE = 2
    UNKNOWN_TOPIC_OR_PARTITION = 3
    INVALID_FETCH_SIZE = 4
    LEADER_NOT_AVAILABLE = 5
    NOT_LEADER_OR_FOLLOWER = 6
    REQUEST_TIMED_OUT = 7
    BROKER_NOT_AVAILABLE = 8
    REPLICA_NOT_AVAILABLE = 9
    MESSAGE_TOO_LARGE = 10
    STALE_CONTROLLER_EPOCH = 11
    OFFSET_METADATA_TOO_LARGE = 12
    NETWORK_EXCEPTION = 13
    COORDINATOR_LOAD_IN_PROGRESS = 14
    COORDINATOR_NOT_AVAILABLE = 15
    NOT_COORDINATOR = 16
    INVALID_TOPIC_EXCEPTION = 17
    RECORD_LIST_TOO_LARGE = 18
    NOT_ENOUGH_REPLICAS = 19
    NOT_ENOUGH_REPLICAS_AFTER_APPEND = 20
    INVALID_REQUIRED_ACKS = 21
    ILLEGAL_GENERATION = 22
    INCONSISTENT_GROUP_PROTOCOL = 23
    INVALID_GROUP_ID = 24
    UNKNOWN_MEMBER_ID = 25
    INVALID_SESSION_TIMEOUT = 26
    REBALANCE_IN_PROGRESS = 27
    INVALID_COMMIT_OFFSET_SIZE = 28
    TOPIC_AUTHORIZATION_FAILED = 29
    GROUP_AUTHORIZATION_FAILED = 30
    CLUSTER_AUTHORIZATION_FAILED = 31
    INVALID_TIMESTAMP = 32
    UNSUPPORTED_SASL_MECHANISM = 33
    ILLEGAL_SASL_STATE = 34
    UNSUPPORTED_VERSION = 35
    TOPIC_ALREADY_EXISTS = 36
    INVALID_PARTITIONS = 37
    INVALID_REPLICATION_FACTOR = 38
    INVALID_REPLICA_ASSIGNMENT = 39
    INVALID_CONFIG = 40
    NOT_CONTROLLER = 41
    INVALID_REQUEST = 42
    UNSUPPORTED_FOR_MESSAGE_FORMAT = 43
    POLICY_VIOLATION = 44
    OUT_OF_ORDER_SEQUENCE_NUMBER = 45
    DUPLICATE_SEQUENCE_NUMBER = 46
    INVALID_PRODUCER_EPOCH = 47
    INVALID_TXN_STATE = 48
    INVALID_PRODUCER_ID_MAPPING = 49
    INVALID_TRANSACTION_TIMEOUT = 50
    CONCURRENT_TRANSACTIONS = 51
    TRANSACTION_COORDINATOR_FENCED = 52
    TRANSACTIONAL_ID_AUTHORIZATION_FAILED = 53
    SECURITY_DISABLED = 54
    OPERATION_NOT_ATTEMPTED = 55
    KAFKA_STORAGE_ERROR = 56
    LOG_DIR_NOT_FOUND = 57
    SASL_AUTHENTICATION_FAILED = 58
    UNKNOWN_PRODUCER_ID = 59
    REASSIGNMENT_IN_PROGRESS = 60
    DELEGATION_TOKEN_AUTH_DISABLED = 61
    DELEGATION_TOKEN_NOT_FOUND = 62
    DELEGATION_TOKEN_OWNER_MISMATCH = 63
    DELEGATION_TOKEN_REQUEST_NOT_ALLOWED = 64
    DELEGATION_TOKEN_AUTHORIZATION_FAILED = 65
    DELEGATION_TOKEN_EXPIRED = 66
    INVALID_PRINCIPAL_TYPE = 67
    NON_EMPTY_GROUP = 68
    GROUP_ID_NOT_FOUND = 69
    FETCH_SESSION_ID_NOT_FOUND = 70
    INVALID_FETCH_SESSION_EPOCH = 71
    LISTENER_NOT_FOUND = 72
    TOPIC_DELETION_DISABLED = 73
    FENCED_LEADER_EPOCH = 74
    UNKNOWN_LEADER_EPOCH = 75
    UNSUPPORTED_COMPRESSION_TYPE = 76
    STALE_BROKER_EPOCH = 77
    OFFSET_NOT_AVAILABLE = 78
    MEMBER_ID_REQUIRED = 79
    PREFERRED_LEADER_NOT_AVAILABLE = 80
    GROUP_MAX_SIZE_REACHED = 81
    FENCED_INSTANCE_ID = 82
    ELIGIBLE_LEADERS_NOT_AVAILABLE = 83
    ELECTION_NOT_NEEDED = 84
    NO_REASSIGNMENT_IN_PROGRESS = 85
    GROUP_SUBSCRIBED_TO_TOPIC = 86
    INVALID_RECORD = 87
    UNSTABLE_OFFSET_COMMIT = 88
    THROTTLING_QUOTA_EXCEEDED = 89
    PRODUCER_FENCED = 90
    RESOURCE_NOT_FOUND = 91
    DUPLICATE_RESOURCE = 92
    UNACCEPTABLE_CREDENTIAL = 93
    INCONSISTENT_VOTER_SET = 94
    INVALID_UPDATE_VERSION = 95
    FEATURE_UPDATE_FAILED = 96
    PRINCIPAL_DESERIALIZATION_FAILURE = 97
    SNAPSHOT_NOT_FOUND = 98
    POSITION_OUT_OF_RANGE = 99
    UNKNOWN_TOPIC_ID = 100
    DUPLICATE_BROKER_REGISTRATION = 101
    BROKER_ID_NOT_REGISTERED = 102
    INCONSISTENT_TOPIC_ID = 103
    INCONSISTENT_CLUSTER_ID = 104
    TRANSACTIONAL_ID_NOT_FOUND = 105
    FETCH_SESSION_TOPIC_ID_ERROR = 106
    INELIGIBLE_REPLICA = 107
    NEW_LEADER_ELECTED = 108
    OFFSET_MOVED_TO_TIERED_STORAGE = 109
    FENCED_MEMBER_EPOCH = 110
    UNRELEASED_INSTANCE_ID = 111
    UNSUPPORTED_ASSIGNOR = 112
    STALE_MEMBER_EPOCH = 113
    MISMATCHED_ENDPOINT_TYPE = 114
    UNSUPPORTED_ENDPOINT_TYPE = 115
    UNKNOWN_CONTROLLER_ID = 116
    UNKNOWN_SUBSCRIPTION_ID = 117
    TELEMETRY_TOO_LARGE = 118
    INVALID_REGISTRATION = 119
    TRANSACTION_ABORTABLE = 120
    INVALID_RECORD_STATE = 121
    SHARE_SESSION_NOT_FOUND = 122
    INVALID_SHARE_SESSION_EPOCH = 123
    FENCED_STATE_EPOCH = 124
    INVALID_VOTER_KEY = 125
    DUPLICATE_VOTER = 126
    VOTER_NOT_FOUND = 127


@dataclass(frozen=True, slots=True)
class ErrorProperties:
    """What a receiver of an error code can do about it."""

    text: str
    # The same request may succeed later, unchanged.
    retriable: bool
    # The sender acted on an old view of the cluster and should fetch metadata before it tries again.
    refreshes_metadata: bool
    # The name of the gRPC status that carries this code between our own processes.
    grpc_status: str


class KafkaError(Exception):
    """A refusal: raised before anything was changed, and answered with its code."""

    def __init__(self, code: KafkaCode, message: str = "") -> None:
        self.code = code
        self.message = message or PROPERTIES[code].text
        # The arguments are what pickle and copy rebuild the exception from.
        super().__init__(code, message)

    def __str__(self) -> str:
        return f"{self.code.name} ({self.code.value}): {self.message}"


def _final(grpc_status: str, text: str) -> ErrorProperties:
    return ErrorProperties(text, retriable=False, refreshes_metadata=False, grpc_status=grpc_status)


def _retriable(grpc_status: str, text: str) -> ErrorProperties:
    return ErrorProperties(text, retriable=True, refreshes_metadata=False, grpc_status=grpc_status)


def _stale_view(grpc_status: str, text: str) -> ErrorProperties:
    return ErrorProperties(text, retriable=True, refreshes_metadata=True, grpc_status=grpc_status)


PROPERTIES: "Mapping[KafkaCode, ErrorProperties]" = MappingProxyType(
    {
        KafkaCode.UNKNOWN_SERVER_ERROR: _final("INTERNAL", "The server failed in a way it did not expect."),
        KafkaCode.NONE: _final("OK", "The request succeeded."),
        KafkaCode.OFFSET_OUT_OF_RANGE: _final("OUT_OF_RANGE", "The offset lies outside what this replica's log holds."),
        KafkaCode.CORRUPT_MESSAGE: _retriable(
            "DATA_LOSS", "The record batch is damaged, oversized, or lacks a key that the topic requires."
        ),
        KafkaCode.UNKNOWN_TOPIC_OR_PARTITION: _stale_view(
            "NOT_FOUND", "This server does not know that topic or partition."
        ),
        KafkaCode.INVALID_FETCH_SIZE: _final("INVALID_ARGUMENT", "The fetch asks for an impossible number of bytes."),
        KafkaCode.LEADER_NOT_AVAILABLE: _stale_view("UNAVAILABLE", "The partition has no leader at the moment."),
        KafkaCode.NOT_LEADER_OR_FOLLOWER: _stale_view(
            "UNAVAILABLE", "This broker does not have the role for the partition that the request needs."
        ),
        KafkaCode.REQUEST_TIMED_OUT: _retriable("DEADLINE_EXCEEDED", "The request was not completed in its time."),
        KafkaCode.BROKER_NOT_AVAILABLE: _final("UNAVAILABLE", "The broker cannot be reached."),
        KafkaCode.REPLICA_NOT_AVAILABLE: _stale_view(
            "UNAVAILABLE", "The replica asked for cannot be reached at the moment."
        ),
        KafkaCode.MESSAGE_TOO_LARGE: _final(
            "INVALID_ARGUMENT", "A record batch is larger than the server or the topic accepts."
        ),
        KafkaCode.STALE_CONTROLLER_EPOCH: _final(
            "FAILED_PRECONDITION", "The request comes from a controller that has been replaced."
        ),
        KafkaCode.OFFSET_METADATA_TOO_LARGE: _final(
            "INVALID_ARGUMENT", "The text committed beside the offset is too long."
        ),
        KafkaCode.NETWORK_EXCEPTION: _stale_view("UNAVAILABLE", "The connection broke before an answer came."),
        KafkaCode.COORDINATOR_LOAD_IN_PROGRESS: _retriable(
            "UNAVAILABLE", "The coordinator is still reading its state."
        ),
        KafkaCode.COORDINATOR_NOT_AVAILABLE: _retriable("UNAVAILABLE", "No coordinator is available at the moment."),
        KafkaCode.NOT_COORDINATOR: _retriable(
            "UNAVAILABLE", "Another process coordinates this group or transactional id."
        ),
        KafkaCode.INVALID_TOPIC_EXCEPTION: _final(
            "INVALID_ARGUMENT", "The topic's name is not allowed, or the request may not touch it."
        ),
        KafkaCode.RECORD_LIST_TOO_LARGE: _final("INVALID_ARGUMENT", "The record batch is larger than a log segment."),
        KafkaCode.NOT_ENOUGH_REPLICAS: _retriable(
            "UNAVAILABLE", "Fewer replicas are in sync than the topic requires; nothing was written."
        ),
        KafkaCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND: _retriable(
            "UNAVAILABLE", "The records were written, but too few replicas stayed in sync to confirm them."
        ),
        KafkaCode.INVALID_REQUIRED_ACKS: _final("INVALID_ARGUMENT", "Acks must be -1, 0 or 1."),
        KafkaCode.ILLEGAL_GENERATION: _final(
            "FAILED_PRECONDITION", "The member speaks of a generation that is not the group's current one."
        ),
        KafkaCode.INCONSISTENT_GROUP_PROTOCOL: _final(
            "FAILED_PRECONDITION", "The member shares no protocol with the rest of the group."
        ),
        KafkaCode.INVALID_GROUP_ID: _final("INVALID_ARGUMENT", "The group id is not allowed."),
        KafkaCode.UNKNOWN_MEMBER_ID: _final("FAILED_PRECONDITION", "The group has no such member."),
        KafkaCode.INVALID_SESSION_TIMEOUT: _final(
            "INVALID_ARGUMENT", "The session timeout is outside the bounds that the server allows."
        ),
        KafkaCode.REBALANCE_IN_PROGRESS: _final("ABORTED", "The group is rebalancing, so the member must join again."),
        KafkaCode.INVALID_COMMIT_OFFSET_SIZE: _final(
            "INVALID_ARGUMENT", "The offset commit is too large to be stored."
        ),
        KafkaCode.TOPIC_AUTHORIZATION_FAILED: _final("PERMISSION_DENIED", "The client may not do this with the topic."),
        KafkaCode.GROUP_AUTHORIZATION_FAILED: _final("PERMISSION_DENIED", "The client may not do this with the group."),
        KafkaCode.CLUSTER_AUTHORIZATION_FAILED: _final(
            "PERMISSION_DENIED", "The client may not do this with the cluster."
        ),
        KafkaCode.INVALID_TIMESTAMP: _final(
            "INVALID_ARGUMENT", "A record's timestamp is outside the range that the topic accepts."
        ),
        KafkaCode.UNSUPPORTED_SASL_MECHANISM: _final(
            "UNAUTHENTICATED", "The server does not offer this SASL mechanism."
        ),
        KafkaCode.ILLEGAL_SASL_STATE: _final(
            "FAILED_PRECONDITION", "The request does not fit the present step of the SASL exchange."
        ),
        KafkaCode.UNSUPPORTED_VERSION: _final(
            "UNIMPLEMENTED", "The server does not serve this version of the request."
        ),
        KafkaCode.TOPIC_ALREADY_EXISTS: _final("ALREADY_EXISTS", "A topic of this name exists already."),
        KafkaCode.INVALID_PARTITIONS: _final("INVALID_ARGUMENT", "The number of partitions is not allowed."),
        KafkaCode.INVALID_REPLICATION_FACTOR: _final(
            "INVALID_ARGUMENT", "The replication factor is below 1 or above the number of brokers."
        ),
        KafkaCode.INVALID_REPLICA_ASSIGNMENT: _final(
            "INVALID_ARGUMENT", "The assignment of replicas to brokers is not allowed."
        ),
        KafkaCode.INVALID_CONFIG: _final("INVALID_ARGUMENT", "A setting's name or value is not allowed."),
        KafkaCode.NOT_CONTROLLER: _stale_view("UNAVAILABLE", "This process is not the active controller."),
        KafkaCode.INVALID_REQUEST: _final("INVALID_ARGUMENT", "The request contradicts itself or misses something."),
        KafkaCode.UNSUPPORTED_FOR_MESSAGE_FORMAT: _final(
            "FAILED_PRECONDITION", "The log's message format cannot do what the request needs."
        ),
        KafkaCode.POLICY_VIOLATION: _final("FAILED_PRECONDITION", "A policy of this cluster forbids the request."),
        KafkaCode.OUT_OF_ORDER_SEQUENCE_NUMBER: _final(
            "FAILED_PRECONDITION", "The producer's sequence number does not follow its last one."
        ),
        KafkaCode.DUPLICATE_SEQUENCE_NUMBER: _final(
            "ALREADY_EXISTS", "The producer has sent this sequence number before."
        ),
        KafkaCode.INVALID_PRODUCER_EPOCH: _final(
            "FAILED_PRECONDITION", "A newer instance of the producer has taken over its id."
        ),
        KafkaCode.INVALID_TXN_STATE: _final(
            "FAILED_PRECONDITION", "The transaction is in a state that does not allow this step."
        ),
        KafkaCode.INVALID_PRODUCER_ID_MAPPING: _final(
            "FAILED_PRECONDITION", "The producer id does not belong to this transactional id."
        ),
        KafkaCode.INVALID_TRANSACTION_TIMEOUT: _final(
            "INVALID_ARGUMENT", "The transaction timeout is longer than the server allows, or not positive."
        ),
        KafkaCode.CONCURRENT_TRANSACTIONS: _retriable(
            "ABORTED", "The transaction's previous step is still being completed."
        ),
        KafkaCode.TRANSACTION_COORDINATOR_FENCED: _final(
            "FAILED_PRECONDITION", "The marker comes from a transaction coordinator that has been replaced."
        ),
        KafkaCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED: _final(
            "PERMISSION_DENIED", "The client may not use this transactional id."
        ),
        KafkaCode.SECURITY_DISABLED: _final("UNIMPLEMENTED", "Security features are not enabled here."),
        KafkaCode.OPERATION_NOT_ATTEMPTED: _final(
            "ABORTED", "This part was not tried because another part of the request failed."
        ),
        KafkaCode.KAFKA_STORAGE_ERROR: _stale_view("UNAVAILABLE", "The disk under the partition failed."),
        KafkaCode.LOG_DIR_NOT_FOUND: _final("NOT_FOUND", "The broker has no such log directory."),
        KafkaCode.SASL_AUTHENTICATION_FAILED: _final("UNAUTHENTICATED", "The credentials were not accepted."),
        KafkaCode.UNKNOWN_PRODUCER_ID: _final(
            "FAILED_PRECONDITION", "The partition remembers nothing about this producer id."
        ),
        KafkaCode.REASSIGNMENT_IN_PROGRESS: _final(
            "FAILED_PRECONDITION", "The partition's replicas are being moved already."
        ),
        KafkaCode.DELEGATION_TOKEN_AUTH_DISABLED: _final("UNIMPLEMENTED", "Delegation tokens are not enabled here."),
        KafkaCode.DELEGATION_TOKEN_NOT_FOUND: _final("NOT_FOUND", "There is no such delegation token."),
        KafkaCode.DELEGATION_TOKEN_OWNER_MISMATCH: _final(
            "PERMISSION_DENIED", "The delegation token belongs to somebody else."
        ),
        KafkaCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED: _final(
            "PERMISSION_DENIED", "Delegation tokens cannot be requested over this kind of connection."
        ),
        KafkaCode.DELEGATION_TOKEN_AUTHORIZATION_FAILED: _final(
            "PERMISSION_DENIED", "The client may not do this with delegation tokens."
        ),
        KafkaCode.DELEGATION_TOKEN_EXPIRED: _final("UNAUTHENTICATED", "The delegation token has expired."),
        KafkaCode.INVALID_PRINCIPAL_TYPE: _final("INVALID_ARGUMENT", "This type of principal is not known."),
        KafkaCode.NON_EMPTY_GROUP: _final("FAILED_PRECONDITION", "The group still has members."),
        KafkaCode.GROUP_ID_NOT_FOUND: _final("NOT_FOUND", "There is no such group."),
        KafkaCode.FETCH_SESSION_ID_NOT_FOUND: _retriable(
            "FAILED_PRECONDITION", "The broker has forgotten the fetch session."
        ),
        KafkaCode.INVALID_FETCH_SESSION_EPOCH: _retriable(
            "FAILED_PRECONDITION", "The fetch session is at another epoch."
        ),
        KafkaCode.LISTENER_NOT_FOUND: _stale_view(
            "UNAVAILABLE", "The partition's leader has no listener of the name that the client came by."
        ),
        KafkaCode.TOPIC_DELETION_DISABLED: _final(
            "FAILED_PRECONDITION", "This cluster does not allow topics to be deleted."
        ),
        KafkaCode.FENCED_LEADER_EPOCH: _stale_view(
            "FAILED_PRECONDITION", "The request's leader epoch is older than the broker's."
        ),
        KafkaCode.UNKNOWN_LEADER_EPOCH: _retriable(
            "UNAVAILABLE", "The request's leader epoch is newer than the broker's."
        ),
        KafkaCode.UNSUPPORTED_COMPRESSION_TYPE: _final(
            "INVALID_ARGUMENT", "The client's protocol version cannot carry this compression."
        ),
        KafkaCode.STALE_BROKER_EPOCH: _final(
            "FAILED_PRECONDITION", "The broker has registered anew since the request was made."
        ),
        KafkaCode.OFFSET_NOT_AVAILABLE: _retriable(
            "UNAVAILABLE", "The new leader does not know its high watermark well enough yet."
        ),
        KafkaCode.MEMBER_ID_REQUIRED: _final(
            "FAILED_PRECONDITION", "The member must join again with the id it has just been given."
        ),
        KafkaCode.PREFERRED_LEADER_NOT_AVAILABLE: _stale_view(
            "UNAVAILABLE", "The partition's preferred leader is not available."
        ),
        KafkaCode.GROUP_MAX_SIZE_REACHED: _final("RESOURCE_EXHAUSTED", "The group has as many members as it may have."),
        KafkaCode.FENCED_INSTANCE_ID: _final(
            "FAILED_PRECONDITION", "Another member has taken over this group instance id."
        ),
        KafkaCode.ELIGIBLE_LEADERS_NOT_AVAILABLE: _stale_view(
            "UNAVAILABLE", "No replica that may lead the partition is available."
        ),
        KafkaCode.ELECTION_NOT_NEEDED: _stale_view(
            "FAILED_PRECONDITION", "The partition has the leader that was asked for."
        ),
        KafkaCode.NO_REASSIGNMENT_IN_PROGRESS: _final(
            "FAILED_PRECONDITION", "The partition's replicas are not being moved."
        ),
        KafkaCode.GROUP_SUBSCRIBED_TO_TOPIC: _final(
            "FAILED_PRECONDITION", "Offsets cannot be deleted while the group subscribes to the topic."
        ),
        KafkaCode.INVALID_RECORD: _final("INVALID_ARGUMENT", "The broker does not accept this record."),
        KafkaCode.UNSTABLE_OFFSET_COMMIT: _retriable(
            "UNAVAILABLE", "A transaction that commits these offsets is still open."
        ),
        KafkaCode.THROTTLING_QUOTA_EXCEEDED: _retriable(
            "RESOURCE_EXHAUSTED", "The client has used up its quota for now."
        ),
        KafkaCode.PRODUCER_FENCED: _final(
            "FAILED_PRECONDITION", "A newer producer with the same transactional id has taken over."
        ),
        KafkaCode.RESOURCE_NOT_FOUND: _final("NOT_FOUND", "What the request names does not exist."),
        KafkaCode.DUPLICATE_RESOURCE: _final("ALREADY_EXISTS", "The request names the same thing twice."),
        KafkaCode.UNACCEPTABLE_CREDENTIAL: _final("INVALID_ARGUMENT", "The credential does not meet the requirements."),
        KafkaCode.INCONSISTENT_VOTER_SET: _final("FAILED_PRECONDITION", "The two sides disagree about who votes."),
        KafkaCode.INVALID_UPDATE_VERSION: _final(
            "FAILED_PRECONDITION", "The update was based on a version that is not the current one."
        ),
        KafkaCode.FEATURE_UPDATE_FAILED: _final("INTERNAL", "The finalized features could not be changed."),
        KafkaCode.PRINCIPAL_DESERIALIZATION_FAILURE: _final(
            "INVALID_ARGUMENT", "The principal of a forwarded request cannot be read."
        ),
        KafkaCode.SNAPSHOT_NOT_FOUND: _final("NOT_FOUND", "There is no such snapshot."),
        KafkaCode.POSITION_OUT_OF_RANGE: _final("OUT_OF_RANGE", "The position lies outside the snapshot."),
        KafkaCode.UNKNOWN_TOPIC_ID: _stale_view("NOT_FOUND", "This server does not know that topic id."),
        KafkaCode.DUPLICATE_BROKER_REGISTRATION: _final(
            "ALREADY_EXISTS", "Another live process has registered this broker id."
        ),
        KafkaCode.BROKER_ID_NOT_REGISTERED: _final("NOT_FOUND", "No broker of this id is registered."),
        KafkaCode.INCONSISTENT_TOPIC_ID: _stale_view(
            "FAILED_PRECONDITION", "The log belongs to an earlier or later topic of the same name."
        ),
        KafkaCode.INCONSISTENT_CLUSTER_ID: _final("FAILED_PRECONDITION", "The request was meant for another cluster."),
        KafkaCode.TRANSACTIONAL_ID_NOT_FOUND: _final("NOT_FOUND", "There is no such transactional id."),
        KafkaCode.FETCH_SESSION_TOPIC_ID_ERROR: _retriable(
            "FAILED_PRECONDITION", "The fetch session mixes topic names and topic ids."
        ),
        KafkaCode.INELIGIBLE_REPLICA: _final(
            "FAILED_PRECONDITION", "A replica that is to join the in-sync set may not do so now."
        ),
        KafkaCode.NEW_LEADER_ELECTED: _final("ABORTED", "The change was stored and a new leader was elected by it."),
        KafkaCode.OFFSET_MOVED_TO_TIERED_STORAGE: _final(
            "OUT_OF_RANGE", "The offset is no longer on the broker's disk but in tiered storage."
        ),
        KafkaCode.FENCED_MEMBER_EPOCH: _final(
            "FAILED_PRECONDITION", "The coordinator has fenced this member epoch, so the member must join again."
        ),
        KafkaCode.UNRELEASED_INSTANCE_ID: _final(
            "FAILED_PRECONDITION", "Another member still uses this group instance id."
        ),
        KafkaCode.UNSUPPORTED_ASSIGNOR: _final(
            "INVALID_ARGUMENT", "The group's coordinator does not offer this assignor."
        ),
        KafkaCode.STALE_MEMBER_EPOCH: _final(
            "FAILED_PRECONDITION", "The member epoch is old; the member learns the new one with its next heartbeat."
        ),
        KafkaCode.MISMATCHED_ENDPOINT_TYPE: _final(
            "FAILED_PRECONDITION", "The request came to a process of another kind than it was meant for."
        ),
        KafkaCode.UNSUPPORTED_ENDPOINT_TYPE: _final("UNIMPLEMENTED", "This kind of process is not known."),
        KafkaCode.UNKNOWN_CONTROLLER_ID: _final("NOT_FOUND", "There is no controller of this id."),
        KafkaCode.UNKNOWN_SUBSCRIPTION_ID: _final(
            "NOT_FOUND", "The telemetry subscription is not the client's current one."
        ),
        KafkaCode.TELEMETRY_TOO_LARGE: _final("INVALID_ARGUMENT", "The telemetry is larger than the broker accepts."),
        KafkaCode.INVALID_REGISTRATION: _final(
            "FAILED_PRECONDITION", "The controller does not accept this broker's registration."
        ),
        KafkaCode.TRANSACTION_ABORTABLE: _final(
            "ABORTED", "The transaction failed here, and the producer must abort it."
        ),
        KafkaCode.INVALID_RECORD_STATE: _final(
            "FAILED_PRECONDITION", "The record is in a state that does not allow this acknowledgement."
        ),
        KafkaCode.SHARE_SESSION_NOT_FOUND: _retriable(
            "FAILED_PRECONDITION", "The broker has forgotten the share session."
        ),
        KafkaCode.INVALID_SHARE_SESSION_EPOCH: _retriable(
            "FAILED_PRECONDITION", "The share session is at another epoch."
        ),
        KafkaCode.FENCED_STATE_EPOCH: _final(
            "FAILED_PRECONDITION", "The share coordinator knows a newer state epoch than the request's."
        ),
        KafkaCode.INVALID_VOTER_KEY: _final("INVALID_ARGUMENT", "The voter's id and directory are not this process's."),
        KafkaCode.DUPLICATE_VOTER: _final("ALREADY_EXISTS", "The voter belongs to the set already."),
        KafkaCode.VOTER_NOT_FOUND: _final("NOT_FOUND", "The voter does not belong to the set."),
    }
)
