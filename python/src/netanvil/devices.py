"""The devices that the program can build or simulate."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Literal

from .program import call

__all__ = ["Device", "devices"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Device:
    """A device: `run(device=name)` if it is built, `run(sim=name)` if it is simulated."""

    name: str
    kind: Literal["built", "simulated"]
    about: str


def devices() -> list[Device]:
    """All devices that need no hardware."""
    told = json.loads(call(["devices", "--json"]))
    built = [Device(name=each["name"], kind="built", about=each["about"]) for each in told["built"]]
    simulated = [Device(name=each["name"], kind="simulated", about=each["about"]) for each in told["simulated"]]
    return built + simulated
