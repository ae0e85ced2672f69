//! The paths of the matrix that are a rate, a round trip and loss by chance.

use netblt_studies::paths::Loss;
use netblt_studies::paths::study::Road;

pub const MBPS: u64 = 1_000_000;
const GBPS: u64 = 1000 * MBPS;

/// Millions of packets are in the air at a time.
pub fn is_heavy(road: &Road) -> bool {
    road.packets_per_s(road.rate_bps) * road.round_trip.as_secs_f64() > 50_000.0
}

/// For one flow alone.
pub fn roads() -> Vec<Road> {
    let random = Loss::Random;
    vec![
        Road::new(MBPS, 20, Loss::None),
        Road::new(MBPS, 100, random(0.01)),
        Road::new(MBPS, 600, random(0.05)),
        Road::new(10 * MBPS, 1, Loss::None),
        Road::new(10 * MBPS, 20, random(0.01)),
        Road::new(10 * MBPS, 100, random(0.05)),
        Road::new(10 * MBPS, 2000, Loss::None),
        Road::new(100 * MBPS, 1, Loss::None),
        Road::new(100 * MBPS, 20, Loss::None),
        Road::new(100 * MBPS, 50, Road::bursty()),
        Road::new(100 * MBPS, 100, random(0.01)),
        Road::new(100 * MBPS, 600, random(0.05)),
        Road::new(100 * MBPS, 2000, random(0.01)),
        Road::new(GBPS, 1, Loss::None),
        Road::new(GBPS, 20, random(0.01)),
        Road::new(GBPS, 100, random(0.05)),
        Road::new(GBPS, 600, random(0.01)),
        Road::new(GBPS, 2000, random(0.05)),
        Road::new(10 * GBPS, 10, Loss::None),
        Road::new(10 * GBPS, 100, random(0.01)),
        Road::new(100 * GBPS, 1, Loss::None),
        Road::new(100 * GBPS, 10, Loss::None),
    ]
}

/// For a rate that falls and rises.
pub fn changing_roads() -> Vec<Road> {
    let paths =
        [(10 * MBPS, 100), (100 * MBPS, 20), (100 * MBPS, 100), (GBPS, 20), (100 * MBPS, 600)];
    paths.map(|(rate, round_trip)| Road::new(rate, round_trip, Loss::None)).to_vec()
}

/// With how many flows. The last one is for the simulation's sake: no target says anything of hundreds.
pub fn shared_roads() -> Vec<(Road, usize)> {
    let road = |rate| Road::new(rate, 20, Loss::None);
    let mut all: Vec<(Road, usize)> =
        [2, 4, 8, 16, 32, 64].map(|count| (road(100 * MBPS), count)).to_vec();
    all.push((road(GBPS), 200));
    all
}
