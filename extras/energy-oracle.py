#!/usr/bin/env python3
"""Writes what MongoDB's implementation of E-divisive says of some series, for the test of ours.

Usage: pip install signal-processing-algorithms==2.1.6 && extras/energy-oracle.py > crates/fleet/src/change/oracle.json
"""

import json
import random

import numpy
from signal_processing_algorithms.energy_statistics import energy_statistics

random.seed(1990)


def series(count, level, noise, steps):
    """Values with steps, each from an index on by a factor."""
    values = []
    for at in range(count):
        factor = 1.0
        for begins, by in steps:
            factor *= by if at >= begins else 1.0
        values.append(round(level * factor * (1 + noise * random.gauss(0, 1)), 3))
    return values


def told(values):
    matrix = energy_statistics._convert(values)
    distances = energy_statistics._get_distance_matrix(matrix, use_c_if_possible=False)
    statistics = energy_statistics._calculate_t_stats(distances, use_c_if_possible=False)
    at = int(numpy.argmax(statistics))
    numpy.random.seed(1990)
    changes = energy_statistics.e_divisive(values, pvalue=0.001, permutations=2000)
    return {"values": values, "at": at, "statistic": float(statistics[at]), "changes": sorted(map(int, changes))}


CASES = [
    series(40, 100_000, 0.005, [(25, 0.97)]),
    series(60, 1e6, 0.01, [(20, 0.9), (40, 1.2)]),
    series(50, 250, 0.02, [(10, 1.2)]),
    series(30, 50_000, 0.01, []),
    series(90, 1e6, 0.004, [(30, 0.97), (50, 1.03), (70, 0.95)]),
]
print(json.dumps([told(values) for values in CASES]))
