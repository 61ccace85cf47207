"""Access control lists with the notifications of their changes, and those of delegation tokens."""

from collections.abc import Iterable
from dataclasses import dataclass

from tidelog.zk.znodes.encoding import Fields, MalformedZnode, encode_json

LITERAL = "LITERAL"
ACL_CHANGE_PREFIX = "acl_changes_"
TOKEN_CHANGE_PREFIX = "token_change_"  # noqa: S105 - the beginning of a znode's name
TOKEN_CHANGES = "/delegation_token/token_changes"  # noqa: S105 - a path


@dataclass(frozen=True, slots=True)
class ResourcePattern:
    """What access is controlled of: type as in "Topic", name, and LITERAL or PREFIXED."""

    resource_type: str
    name: str
    pattern_type: str = LITERAL


@dataclass(frozen=True, slots=True)
class AclEntry:
    """Whom a rule allows or denies what, from where."""

    principal: str
    permission_type: str
    operation: str
    host: str = "*"


class AclZnode:
    """/kafka-acl/Type/Name for literal names, /kafka-acl-extended/prefixed/Type/Name for prefixes.

    v1 {"version":1,"acls":[{"principal":"User:a","permissionType":"Allow","operation":"Read","host":"*"}]}
    """

    @staticmethod
    def path(resource: ResourcePattern) -> str:
        return f"{AclZnode.root(resource.pattern_type)}/{resource.resource_type}/{resource.name}"

    @staticmethod
    def root(pattern_type: str) -> str:
        return "/kafka-acl" if pattern_type == LITERAL else f"/kafka-acl-extended/{pattern_type.lower()}"

    @staticmethod
    def encode(entries: Iterable[AclEntry]) -> bytes:
        return encode_json({"version": 1, "acls": [_acl_fields(entry) for entry in entries]})

    @staticmethod
    def decode(data: bytes) -> tuple[AclEntry, ...]:
        if not data:
            return ()
        return tuple(
            AclEntry(acl.text("principal"), acl.text("permissionType"), acl.text("operation"), acl.text("host", "*"))
            for acl in Fields.parse(data, "acl").objects("acls")
        )


def _acl_fields(entry: AclEntry) -> dict[str, str]:
    return {
        "principal": entry.principal,
        "permissionType": entry.permission_type,
        "operation": entry.operation,
        "host": entry.host,
    }


class AclChangeZnode:
    """/kafka-acl-changes/acl_changes_S for literal names, /kafka-acl-extended-changes/acl_changes_S for others.

    Literal: the text Topic:name, not JSON.
    Other, v1 {"version":1,"resourceType":"TOPIC","name":"n","patternType":"PREFIXED"}
    """

    @staticmethod
    def parent(pattern_type: str) -> str:
        return "/kafka-acl-changes" if pattern_type == LITERAL else "/kafka-acl-extended-changes"

    @staticmethod
    def create_path(pattern_type: str) -> str:
        return f"{AclChangeZnode.parent(pattern_type)}/{ACL_CHANGE_PREFIX}"

    @staticmethod
    def encode(resource: ResourcePattern) -> bytes:
        if resource.pattern_type == LITERAL:
            return f"{resource.resource_type}:{resource.name}".encode()
        names = {"resourceType": resource.resource_type, "name": resource.name, "patternType": resource.pattern_type}
        return encode_json({"version": 1, **names})

    @staticmethod
    def decode(data: bytes) -> ResourcePattern:
        if data.startswith(b"{"):
            fields = Fields.parse(data, "acl change")
            return ResourcePattern(fields.text("resourceType"), fields.text("name"), fields.text("patternType"))
        resource_type, colon, name = data.decode().partition(":")
        if not colon:
            raise MalformedZnode(f"acl change: {data!r} is not of the form Type:Name")
        return ResourcePattern(resource_type, name)


class TokenChangeZnode:
    """/delegation_token/token_changes/token_change_S: the token's id as text, not JSON."""

    CREATE_PATH = f"{TOKEN_CHANGES}/{TOKEN_CHANGE_PREFIX}"

    @staticmethod
    def encode(token_id: str) -> bytes:
        return token_id.encode()

    @staticmethod
    def decode(data: bytes) -> str:
        return data.decode()
