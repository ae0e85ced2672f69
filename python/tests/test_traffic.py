"""Traffic through simulated devices, in virtual time."""

from __future__ import annotations

import pytest

import netanvil
from netanvil import ProgramFailed

from .conftest import ROUTER_FPS


def test_the_summary_counts_what_the_device_dropped() -> None:
    summary = netanvil.traffic(sim="router", rate="150kpps", duration="2s")
    assert summary.sent_frames == 300_000
    assert summary.lost_frames == summary.sent_frames - summary.received_frames
    # What the router forwards in 2 s, and the 100 frames of its queue and one in service after.
    assert 2 * ROUTER_FPS - 1 <= summary.received_frames <= 2 * ROUTER_FPS + 102
    assert summary.loss_ratio == pytest.approx(summary.lost_frames / 300_000, rel=1e-3)
    assert summary.dropped_at == {"in-discards": summary.lost_frames}
    # A full queue of 100 frames of 10 us each, and 5 us and the frame itself.
    assert summary.latency is not None and summary.latency.max_ns is not None
    assert 1_000_000 < summary.latency.max_ns < 1_030_000
    assert summary.tester_kept_up and summary.tester_fell_short == ()


def test_events_are_a_start_seconds_and_a_summary() -> None:
    with netanvil.start_traffic(sim="router", rate="50kpps", duration="3s") as sending:
        start, *seconds, summary = sending
        assert sending.wait() is summary
    assert start == netanvil.TrafficStarted(
        device="simulated device router", sending_ports=1, rate_per_port_fps=50_000.0, duration_s=3.0
    )
    assert isinstance(summary, netanvil.Summary) and len(seconds) == 3
    assert sum(second.sent_frames for second in seconds if isinstance(second, netanvil.Second)) == 150_000
    assert summary.sent_frames == 150_000 and summary.lost_frames == 0


def test_keys_change_the_load() -> None:
    with netanvil.start_traffic(sim="router", rate="1kpps", duration="forever") as sending:
        for event in sending:
            if isinstance(event, netanvil.Second):
                sending.press("*")
                break
        rates = (event.rate_per_port_fps for event in sending if isinstance(event, netanvil.LoadChanged))
        assert next(rates) == pytest.approx(2_000)
        sending.press("q")
        summary = sending.wait()
    assert summary.sent_frames > 0 and summary.lost_frames == 0


def test_criteria_and_a_tester_that_falls_short_are_exceptions(weak: str) -> None:
    with pytest.raises(netanvil.NotAccepted, match="loss > 1") as refused:
        netanvil.traffic(sim="router", rate="150kpps", duration="1s", fail_if=["loss > 1%", "loss > 99%"])
    assert isinstance(refused.value.result, netanvil.Summary)
    with pytest.raises(netanvil.TesterFellShort, match="fell short") as short:
        netanvil.traffic(sim=weak, rate="100kpps", duration="1s")
    assert not short.value.result.tester_kept_up  # type: ignore[union-attr]
    assert not netanvil.traffic(sim=weak, rate="100kpps", duration="1s", check=False).tester_kept_up


def test_what_the_program_refuses_is_said_in_its_words() -> None:
    with pytest.raises(ProgramFailed, match="--rate") as raised:
        netanvil.traffic(sim="router")
    assert raised.value.exit_code == 2
    with pytest.raises(ProgramFailed, match="--rate"), netanvil.start_traffic(sim="router") as sending:
        list(sending)
