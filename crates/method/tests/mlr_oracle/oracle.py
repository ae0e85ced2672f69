"""The reference implementation of MLRsearch as a process: requests in, trials and results out.

Reads one JSON object a line. A search asks for its trials in turn, so that it measures the very
device that the caller simulates:

    {"search": {"min": ..., "max": ..., "goals": [...], "preceding_targets": n}}
        -> {"trial": {"duration": s, "load": fps}}   <- {"intended": n, "sent": n, "received": n}
        -> {"results": [{"lower": fps, "upper": fps, "conditional": fps}, ...]}
    {"classify": {"goal": {...}, "trials": [[duration, loss_ratio], ...]}}
        -> {"class": "lower" | "upper" | null, "loss_ratio": ratio}
"""

import json
import sys

from MLRsearch import (
    AbstractMeasurer,
    Config,
    MeasurementResult,
    MultipleLossRatioSearch,
    SearchGoal,
)
from MLRsearch.target_spec import TargetSpec
from MLRsearch.target_stat import TargetStat


def answer(message):
    print(json.dumps(message), flush=True)


class Measurer(AbstractMeasurer):
    """Asks the caller."""

    def measure(self, intended_duration, intended_load):
        answer({"trial": {"duration": intended_duration, "load": intended_load}})
        counts = json.loads(sys.stdin.readline())
        return MeasurementResult(
            intended_duration=intended_duration,
            intended_load=intended_load,
            intended_count=counts["intended"],
            offered_count=counts["sent"],
            forwarding_count=counts["received"],
        )


def goal_of(given, preceding_targets):
    return SearchGoal(
        loss_ratio=given["loss_ratio"],
        exceed_ratio=given["exceed_ratio"],
        relative_width=given["width"],
        initial_trial_duration=given["initial"],
        final_trial_duration=given["final"],
        duration_sum=given["sum"],
        preceding_targets=preceding_targets,
        fail_fast=False,
    )


def search(given):
    goals = [goal_of(goal, given["preceding_targets"]) for goal in given["goals"]]
    config = Config()
    config.goals = goals
    config.max_load = given["max"]
    config.min_load = given["min"]
    config.search_duration_max = 600.0
    config.warmup_duration = None
    found = MultipleLossRatioSearch(config=config).search(
        measurer=Measurer(), debug=lambda _: None
    )

    def fps(load):
        return None if load is None else float(load)

    answer({"results": [{
        "lower": fps(found[goal].relevant_lower_bound),
        "upper": fps(found[goal].relevant_upper_bound),
        "conditional": fps(found[goal].conditional_throughput),
    } for goal in goals]})


class Trial:
    """What TargetStat reads of a measurement."""

    def __init__(self, duration, loss_ratio):
        self.intended_duration = duration
        self.duration_with_overheads = duration
        self.loss_ratio = loss_ratio


def classify(given):
    goal = given["goal"]
    stat = TargetStat(TargetSpec(
        loss_ratio=goal["loss_ratio"],
        exceed_ratio=goal["exceed_ratio"],
        discrete_width=None,
        trial_duration=goal["final"],
        duration_sum=goal["sum"],
        expansion_coefficient=2,
        fail_fast=False,
        preceding=None,
    ))
    for duration, loss_ratio in given["trials"]:
        stat.add(Trial(duration, loss_ratio))
    classes = {(True, True): "lower", (False, False): "upper"}
    has_full = bool(stat.long_losses)
    answer({
        "class": classes.get(stat.estimates()),
        "loss_ratio": stat.pessimistic_loss_ratio if has_full else 1.0,
    })


for line in sys.stdin:
    request = json.loads(line)
    if "search" in request:
        search(request["search"])
    else:
        classify(request["classify"])
