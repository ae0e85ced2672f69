"""Runs of simulated devices by the installed program."""

from __future__ import annotations

import html.parser
import json
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pandas
import polars
import pytest
from line_protocol_parser import parse_line

import netanvil
from netanvil import Event, FigureInvalid, FigureUndecided, ProgramFailed

from .conftest import ROUTER_FPS, SEARCH, WEAK_FPS


def test_a_run_finds_what_the_device_does(router: netanvil.Result) -> None:
    throughput = router.throughput(64)
    assert throughput.low is not None and throughput.high is not None
    assert throughput.low <= ROUTER_FPS <= throughput.high
    # The quick profile searches to 2 %.
    assert throughput >= 0.98 * ROUTER_FPS and throughput <= ROUTER_FPS
    assert (throughput.unit, throughput.test, throughput.frame_size) == ("fps", "throughput", "64")
    assert router.latency(512) > 0 and router.status == "complete" and not router.conformant
    assert any("quick profile" in deviation for deviation in router.deviations)
    assert router.throughput("64").value == throughput.value
    of_throughput = [trial for trial in router.trials if trial.test == "throughput"]
    assert {trial.verdict for trial in of_throughput} >= {"passed", "failed"}
    assert all((trial.lost_frames > 0) == (trial.verdict == "failed") for trial in of_throughput[:1])


def test_a_folder_is_read_again(router: netanvil.Result) -> None:
    again = netanvil.load(str(router.folder))
    assert [str(figure) for figure in again.figures()] == [str(figure) for figure in router.figures()]
    with pytest.raises(netanvil.NetanvilError, match=r"no results\.json"):
        netanvil.load("nowhere")


def test_figures_that_are_not_there_or_not_one_are_named(router: netanvil.Result) -> None:
    with pytest.raises(LookupError, match=r"`throughput` at 65 bytes; the run has .*frames of 64, 512"):
        router.throughput(65)
    with pytest.raises(netanvil.NoSuchFigure, match="2 figures are `throughput`"):
        router.throughput()
    with pytest.raises(netanvil.NoSuchFigure, match="no figure is `speed`"):
        router.figure("speed")


def test_a_tester_at_its_limit_decides_nothing_above_it(weak: str) -> None:
    throughput = netanvil.run(sim=weak, **SEARCH).throughput(64)
    assert throughput.relation == "at_least" and throughput >= 0.98 * WEAK_FPS
    with pytest.raises(FigureUndecided, match="tester-limited"):
        assert throughput >= 2 * WEAK_FPS


def test_a_device_that_scatters_is_between_bounds() -> None:
    # `noisy` loses one frame in 10,000 at any load: no rate is without loss for certain.
    throughput = netanvil.run(sim="noisy", **SEARCH).throughput(64)
    assert throughput.relation in ("between", "below") and throughput.reason
    assert throughput.high is not None
    with pytest.raises(FigureUndecided):
        float(throughput)
    assert not throughput >= 2 * throughput.high


def test_a_tester_that_offers_no_load_has_no_figure(unable: str) -> None:
    with pytest.raises(netanvil.TesterFellShort, match=r"invalid: throughput, 64: .* \(50 ms hold") as raised:
        netanvil.run(sim=unable, **SEARCH)
    assert raised.value.exit_code == 3
    result = netanvil.run(sim=unable, check=False, **SEARCH)
    assert result.exit_code == 3 and result.invalid_tests == ("throughput, 64",)
    # 50 ms at a frame a second hold none.
    with pytest.raises(netanvil.NoSuchFigure, match="invalid: throughput, 64; self_test at 64 bytes: 50 ms hold"):
        assert result.throughput(64) >= 1
    with pytest.raises(FigureInvalid, match="no result: 50 ms hold less than two frames"):
        assert result.figure("tester maximum", 64) >= 1


def test_criteria_that_are_not_met_are_an_exception_with_the_result() -> None:
    with pytest.raises(netanvil.NotAccepted, match="not accepted: throughput>=1000000") as raised:
        netanvil.run(sim="router", accept=["throughput>=90000", "throughput>=1000000"], **SEARCH)
    assert isinstance(raised.value.result, netanvil.Result)
    assert raised.value.result.throughput(64) < 1e6
    assert netanvil.run(sim="router", accept="throughput>=90000", **SEARCH).exit_code == 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"sim": "routr"}, "no simulated device or file `routr`"),
        ({"sim": "router", "frames": 3}, "unexpected argument '--frames'"),
        ({"sim": "router", "sizes": [63]}, "63"),
        ({}, "--device"),
    ],
)
def test_what_the_program_refuses_is_said_in_its_words(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ProgramFailed) as raised:
        netanvil.run(**options)
    assert message in str(raised.value) and raised.value.exit_code == 2
    assert raised.value.folder is None and not Path("runs").exists()
    with pytest.raises(ProgramFailed, match="error"), netanvil.start(**options) as run:
        list(run)


def test_options_that_the_module_cannot_pass_on_are_refused() -> None:
    for options in ({"json": True}, {"fresh_selftest": 3}, {"sizes": [object()]}, {"sizes": {64: 1}}):
        with pytest.raises(TypeError, match=next(iter(options))):
            netanvil.run(sim="router", **options)
    assert not Path("runs").exists()


def test_options_reach_the_program_as_they_are_meant() -> None:
    result = netanvil.run(
        sim="router",
        profile="quick",
        test=("throughput",),
        sizes=["64", 128],
        bidirectional=True,
        skip_selftest=False,
        fresh_selftest=True,
        line_rate=None,
        set={"search.resolution_percent": 1.5, "trial.keep_alives": False},
        device_info={"firmware": "4.2, beta"},
    )
    configuration = (result.folder / "config.toml").read_text()
    assert "bidirectional = true" in configuration and "keep_alives = false" in configuration
    assert "firmware=4.2, beta" in configuration
    assert {figure.frame_size for figure in result.figures()} == {"64", "128"}
    assert all(outcome.direction == "bidirectional" for outcome in result.outcomes)


def test_events_come_while_the_run_goes_on_and_are_those_of_the_record() -> None:
    with netanvil.start(sim="router", **SEARCH) as run:
        told: list[Event] = [next(run)]
        assert isinstance(told[0], netanvil.RunStarted) and told[0].device == "simulated device router"
        told += run
        result = run.wait()
    record = (result.folder / "events.jsonl").read_text().splitlines()
    assert len(told) == len(record)
    started = [event for event in told if isinstance(event, netanvil.TrialStarted)]
    ended = [event for event in told if isinstance(event, netanvil.TrialFinished)]
    assert [event.number for event in started] == [event.number for event in ended]
    assert [event.verdict for event in ended] == [trial.verdict for trial in result.trials]
    for event, trial in zip(ended, result.trials, strict=True):
        assert event.intended_fps == pytest.approx(trial.intended_fps, rel=1e-6)
        assert event.duration_s == pytest.approx(trial.duration_s)
    bounds = [event.bounds for event in started if event.bounds is not None and event.bounds.upper]
    assert bounds and all(bound.unit == "fps" for bound in bounds)
    (finished,) = (event for event in told if isinstance(event, netanvil.TestFinished) and event.test == "throughput")
    assert str(finished.figures[0]) == str(result.throughput(64))
    assert isinstance(told[-1], netanvil.RunFinished) and told[-1].stopped_by is None
    assert not any(isinstance(event, netanvil.UnknownEvent) for event in told)


def test_a_call_for_progress_sees_every_event() -> None:
    seen: list[Event] = []
    result = netanvil.run(sim="router", progress=seen.append, **SEARCH)
    assert len(seen) == len((result.folder / "events.jsonl").read_text().splitlines())


def test_tests_of_many_ports_have_the_names_that_the_program_lists() -> None:
    result = netanvil.run("rfc2889", sim="switch", profile="quick", test="congestion", sizes=[64], fresh_selftest=True)
    assert result.figure("congested-loss", 64, test="congestion") > 0
    assert {trial.test for trial in result.trials} == {"self_test", "congestion"}
    frame = result.to_pandas("trials")
    assert set(frame["test"]) == {"self_test", "congestion"}


def test_frames_have_a_row_a_figure_and_a_row_a_trial(router: netanvil.Result) -> None:
    figures = router.figures()
    of_pandas, of_polars = router.to_pandas(), router.to_polars()
    assert isinstance(of_pandas, pandas.DataFrame) and isinstance(of_polars, polars.DataFrame)
    assert len(of_pandas) == len(of_polars) == len(figures)
    by_size = of_pandas[of_pandas["known_as"] == "throughput"].set_index("frame_size")["value"]
    assert by_size["64"] == router.throughput(64).value
    chosen = of_polars.filter((polars.col("known_as") == "throughput") & (polars.col("frame_size") == "512"))
    assert chosen["value"].item() == router.throughput(512).value
    assert of_pandas["value"].dtype == "float64" and of_polars["value"].dtype == polars.Float64
    assert len(router.to_pandas("trials")) == len(router.to_polars("trials")) == len(router.trials)
    assert router.to_pandas("trials")["lost_frames"].sum() == sum(trial.lost_frames for trial in router.trials)
    with pytest.raises(ValueError, match="`figures` or `trials`"):
        router.rows("rows")  # type: ignore[arg-type]


def test_frames_of_what_is_not_known_have_no_value(weak: str) -> None:
    result = netanvil.run(sim=weak, **SEARCH)
    for row in result.rows():
        assert (row["value"] is None) == (row["relation"] != "equal")
    frame = result.to_pandas()
    throughput = frame[frame["known_as"] == "throughput"]
    assert throughput["value"].isna().all() and (throughput["low"] > 0).all() and len(throughput) == 1


def test_lines_for_influxdb_are_read_by_another_parser(router: netanvil.Result, weak: str) -> None:
    lines = [parse_line(line) for line in router.to_influx()]
    assert len(lines) == len(router.figures())
    (line,) = (line for line in lines if (line["tags"]["name"], line["tags"]["frame_size"]) == ("throughput", "64"))
    throughput = router.throughput(64)
    assert line["measurement"] == "netanvil" and line["tags"]["device"] == "simulated device router"
    assert line["fields"] == {"value": throughput.value, "low": throughput.low, "high": throughput.high}
    assert line["tags"]["conditions"] == throughput.conditions and line["tags"]["unit"] == "fps"
    assert datetime.fromtimestamp(line["time"], timezone.utc).strftime("%FT%TZ") == router.environment["date"]
    # A bound is no value, and what is not known has its reason.
    limited = [parse_line(line) for line in netanvil.run(sim=weak, **SEARCH).to_influx()]
    (line,) = (line for line in limited if line["tags"]["name"] == "throughput")
    assert set(line["fields"]) == {"low"} and line["tags"]["relation"] == "at_least"
    unknown = [line for line in limited if line["tags"]["relation"] == "unknown"]
    assert unknown and all(set(line["fields"]) == {"reason"} for line in unknown)


class _Frame(html.parser.HTMLParser):
    """The page within a frame."""

    page: str | None = None

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "iframe":
            self.page = dict(attrs)["srcdoc"]


def test_a_notebook_shows_the_report_of_the_run(router: netanvil.Result) -> None:
    frame = _Frame()
    frame.feed(router._repr_html_())
    assert frame.page == router.report.read_text()
    assert "Throughput (RFC 2544 section 26.1)" in frame.page
    assert "Throughput (RFC 2544 section 26.1)" in str(router)


def test_devices_are_those_that_can_be_run() -> None:
    devices = {device.name: device for device in netanvil.devices()}
    assert devices["linux-router"].kind == "built" and devices["router"].kind == "simulated"
    assert "100,000 frames/s" in devices["router"].about


def test_a_run_that_was_cut_off_goes_on(tmp_path: Path) -> None:
    out = tmp_path / "cut"
    with netanvil.start(sim="router", out=out, **SEARCH) as run:
        for event in run:
            if isinstance(event, netanvil.TrialFinished) and event.test == "throughput":
                break
    assert netanvil.load(out).status == "stopped"
    told_before = len((out / "events.jsonl").read_text().splitlines())
    with netanvil.start(resume=out) as run:
        told = list(run)
        result = run.wait()
    assert result.status == "complete" and result.throughput(64) >= 0.98 * ROUTER_FPS
    record = [json.loads(line) for line in (out / "events.jsonl").read_text().splitlines()]
    assert len(told) == len(record) - told_before
