"""docs/kernels.md out of the results of each kernel."""

import re

HEAD = """# What runs on which kernel

`make kernels` wrote this page on {date}. Do not edit it.

The rig (`extras/kernels`) boots kernels of the distribution in QEMU and tries each feature inside, with the host's
programs. There is no KVM: QEMU translates each instruction (TCG), so rates and latencies mean nothing there, and the rig
prints none. Counts are exact: a feature has passed only if every frame of the schedule was sent, came back once, and no
other did.

{kernels}

* **yes**: it ran, and every check passed.
* **FAILED**: it ran, and a check failed.
* **undecided**: it ran, and what was checked was right, but the tester was held up, so that not all could be checked.
* **not run**: something is missing, in the kernel, in QEMU or in the distribution. It is never a pass.

Below each table is the reason of all that is not "yes".
"""
MARKS = {"passed": "yes", "failed": "**FAILED**", "undecided": "undecided", "not run": "not run"}
NOT_TOLD = {"verdict": "not run", "why": "the rig did not come to it"}


def reason(text):
    """One line for a document: no paths of this host, no characters of tables."""
    text = re.sub(r"(?<!\S)/\S*/(?=target/|crates/|tests/)", "", " ".join(text.split()))
    text = text.replace("|", "/").replace("<", "(").replace(">", ")").replace("[", "(").replace("]", ")")
    return text if len(text) <= 300 else text[:297] + "..."


def found_of(kernel, feature):
    return kernel["features"].get(feature.name) or {**NOT_TOLD, "why": kernel.get("why") or NOT_TOLD["why"]}


def group_table(group, features, kernels):
    lines = [f"## {group}", "", "| feature | " + " | ".join(kernel["release"] for kernel in kernels) + " |"]
    lines.append("|---" * (len(kernels) + 1) + "|")
    reasons = {}
    for feature in features:
        founds = [found_of(kernel, feature) for kernel in kernels]
        lines.append(f"| {feature.title} | " + " | ".join(MARKS[found["verdict"]] for found in founds) + " |")
        for why in dict.fromkeys((found["verdict"], reason(found["why"])) for found in founds):
            releases = [k["release"] for k, found in zip(kernels, founds) if (found["verdict"], reason(found["why"])) == why]
            if why[0] != "passed":
                reasons.setdefault((*why, ", ".join(releases)), []).append(feature.title)
    lines.append("")
    for (verdict, why, releases), titles in reasons.items():
        lines.append(f"* {'; '.join(titles)} ({releases}): {verdict}: {why}")
    return "\n".join(lines).rstrip() + "\n"


def dates(kernel):
    found = sorted({result["date"] for result in kernel["features"].values()})
    return " to ".join(dict.fromkeys([found[0], found[-1]])) if found else "-"


def page(date, kernels, features):
    """The whole page. A kernel that did not boot goes by its package."""
    kernels = [{"release": kernel["version"], **kernel} for kernel in kernels]
    head = ["| kernel | from | package | its version | tried |", "|---|---|---|---|---|"]
    rows = [
        f"| {k['release']} | {k['from']} | {k['image']} | {k['package_version']} | {dates(k)} |"
        for k in kernels
    ]
    groups = list(dict.fromkeys(feature.group for feature in features))
    parts = [HEAD.format(date=date, kernels="\n".join([*head, *rows]))]
    parts += [group_table(group, [f for f in features if f.group == group], kernels) for group in groups]
    return "\n".join(parts)
