"""The file of saved contexts: clusters by name, one of which is the current one."""

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tidelog.local.faults import LocalError, WrongUsageError


@dataclass(frozen=True, slots=True)
class SavedContext:
    """One cluster: where it begins, and settings for every client that speaks with it."""

    bootstrap_server: str
    settings: Mapping[str, str] = field(default_factory=dict)


@dataclass(slots=True)
class Contexts:
    """All that is saved."""

    saved: dict[str, SavedContext] = field(default_factory=dict)
    current: str | None = None

    def named(self, name: str) -> SavedContext:
        """The context of that name; WrongUsageError tells the names that there are."""
        if name in self.saved:
            return self.saved[name]
        names = ", ".join(sorted(self.saved)) or "none is saved"
        raise WrongUsageError(f"There is no context {name!r} ({names}): save it with `tidelog context add`.")


def contexts_file() -> Path:
    """TIDELOG_CONTEXTS, or a file in the user's configuration folder."""
    if given := os.environ.get("TIDELOG_CONTEXTS"):
        return Path(given)
    home = os.environ.get("XDG_CONFIG_HOME")
    return (Path(home) if home else Path.home() / ".config") / "tidelog" / "contexts.json"


def load_contexts(path: Path) -> Contexts:
    """What is in the file; nothing if there is no file."""
    try:
        document = json.loads(path.read_text("utf-8"))
        saved = {
            name: SavedContext(each["bootstrap_server"], dict(each.get("settings", {})))
            for name, each in document["contexts"].items()
        }
        return Contexts(saved, document.get("current"))
    except FileNotFoundError:
        return Contexts()
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise LocalError(f"{path} does not hold contexts ({error}): correct it, or remove it.") from None
    except OSError as error:
        raise LocalError(f"{path} cannot be read ({error.strerror}): check its owner and permissions.") from None


def save_contexts(path: Path, contexts: Contexts) -> None:
    """Write the file in one step, so that a reader never sees half of it."""
    document = {
        "current": contexts.current,
        "contexts": {
            name: {"bootstrap_server": each.bootstrap_server, "settings": dict(each.settings)}
            for name, each in sorted(contexts.saved.items())
        },
    }
    fresh = path.with_name(path.name + ".new")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        fresh.write_text(json.dumps(document, indent=2) + "\n", "utf-8")
        fresh.replace(path)
    except OSError as error:
        raise LocalError(f"{path} cannot be written ({error.strerror}): check its owner and permissions.") from None
