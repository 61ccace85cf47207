"""A cluster in the hands of tests of the SDK."""

from dataclasses import dataclass

from tests.support.services import Service, Services


@dataclass
class Cluster:
    """The processes by role and id, and where clients begin."""

    services: Services
    bootstrap: str

    def of(self, role: str) -> list[Service]:
        return [each for each in self.services.all if each.role == role]

    def broker(self, id: int) -> Service:
        return next(each for each in self.of("broker") if each.id == id)
