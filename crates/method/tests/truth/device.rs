//! A device at random, by seed: what stands in its file, and the numbers that the arithmetic needs.

use traffic::modifier::sub_seed;
use units::FrameSize;

/// Draws numbers, each from a seed and a counter.
struct Draw(u64, u64);

impl Draw {
    /// `from` or more, below `to`.
    fn between(&mut self, from: u64, to: u64) -> u64 {
        self.1 += 1;
        from + sub_seed(self.0, self.1) % (to - from)
    }
    /// True so many times of a hundred.
    fn percent(&mut self, share: u64) -> bool {
        self.between(0, 100) < share
    }
    /// Each power of ten as likely as another.
    fn log(&mut self, from: f64, to: f64) -> f64 {
        let share = self.between(0, 1 << 32) as f64 / (1u64 << 32) as f64;
        from * (to / from).powf(share)
    }
}

/// One device before one tester, and how it is asked.
#[derive(Clone, Debug)]
pub struct Device {
    pub seed: u64,
    /// The waits and trial lengths of RFC 2544, or the quick ones.
    pub is_rfc: bool,
    pub has_self_test: bool,
    pub frame_bytes: u32,
    pub line_bps: u64,
    pub propagation_ns: u64,
    /// Of one frame in the processor; none where it has pauses.
    pub service_ns: u64,
    /// The line at which frames leave it; its file cannot tell.
    pub out_line_bps: u64,
    /// That wait for it, the one in service not counted.
    pub room_frames: u64,
    pub delay_ns: u64,
    /// On top of `delay_ns`, at random, up to so much.
    pub delay_varies_by_ns: u64,
    pub has_pause: bool,
    /// The tester sends no faster.
    pub tester_fps: Option<u64>,
}

/// Frames in the longest trial of most devices, so that thousands of them take minutes.
const FRAMES_MOST: f64 = 400_000.0;
/// Of nine devices in ten.
const FRAMES_MANY: f64 = 40_000.0;
/// Of one in a hundred: 10 Gb/s in the quick profile, 100 Mb/s in that of RFC 2544.
const FRAMES_RARELY: f64 = 600_000.0;

impl Device {
    /// The device of a seed.
    pub fn new(seed: u64) -> Device {
        let mut draw = Draw(seed, 0);
        let is_rfc = draw.percent(25);
        let trial_s = if is_rfc { 60.0 } else { 0.4 };
        let most = match draw.between(0, 100) {
            0..90 => FRAMES_MANY,
            90..99 => FRAMES_MOST,
            _ => FRAMES_RARELY,
        };
        let (line_bps, frame_bytes) = loop {
            let sizes = [64, 128, 256, 512, 1024, 1280, 1518];
            let frame_bytes = match draw.percent(50) {
                true => sizes[draw.between(0, 7) as usize],
                false => draw.between(64, 1519) as u32,
            };
            let rates = [1, 2, 10, 100, 1_000, 2_500, 10_000];
            let line_bps = rates[draw.between(0, 7) as usize] * 1_000_000;
            if medium_fps(line_bps, frame_bytes) * trial_s <= most {
                break (line_bps, frame_bytes);
            }
        };
        let medium = medium_fps(line_bps, frame_bytes);
        // Searches begin at a thousandth and at a hundredth of the medium's maximum.
        let lowest = medium * if is_rfc { 0.001 } else { 0.01 };
        let capacity = match draw.between(0, 100) {
            0..10 => medium * draw.log(1.02, 10.0),
            10..13 => draw.log(lowest * 0.1, lowest),
            _ => draw.log(10f64.max(lowest * 1.1).min(medium * 0.9), medium * 0.999),
        };
        let service_ns = (1e9 / capacity).round().max(1.0) as u64;
        // A PAUSE lasts 65,535 x 512 bit times at most. A device that sends a frame less often cannot ask
        // again in time, and then has to have room for everything.
        let longest_pause_ns = 65_535 * 512 * 1_000_000_000 / line_bps;
        let has_pause = draw.percent(10) && service_ns * 4 < longest_pause_ns;
        // It is the line behind it that makes it slow.
        let out_line_bps = (capacity * 8.0 * f64::from(frame_bytes + 20)) as u64;
        let service_ns = if has_pause { 0 } else { service_ns };
        let room = draw.log(1.0, if has_pause { 200.0 } else { 2_000.0 }) as u64;
        Device {
            seed,
            is_rfc,
            has_self_test: draw.percent(20),
            frame_bytes,
            line_bps,
            propagation_ns: if draw.percent(50) { 0 } else { draw.between(0, 5_000_000) },
            service_ns,
            room_frames: match draw.percent(20) {
                true => draw.between(1, 4),
                false => room,
            },
            // What the delay keeps counts as waiting where the device asks for pauses.
            delay_ns: match draw.between(0, 3) {
                _ if has_pause => 0,
                0 => 0,
                1 => draw.between(0, 1_000_000),
                _ => draw.between(1_000_000, 500_000_000),
            },
            delay_varies_by_ns: if has_pause || draw.percent(90) {
                0
            } else {
                draw.between(1, 3_000_000)
            },
            has_pause,
            out_line_bps: if has_pause { out_line_bps.min(line_bps) } else { line_bps },
            tester_fps: draw.percent(8).then(|| draw.log(10.0, medium) as u64 + 1),
        }
    }

    /// Its file, as `netanvil run --sim FILE` takes it.
    pub fn toml(&self) -> String {
        let Device { propagation_ns, service_ns, room_frames, delay_ns, .. } = self;
        let (line_bps, varies) = (self.line_bps, self.delay_varies_by_ns);
        let mut toml = format!(
            "line-rate = \"{line_bps}bit/s\"\npropagation = \"{propagation_ns}ns\"\ndelay = \"{delay_ns}ns\"\n\
             delay-varies-by = \"{varies}ns\"\nseed = {}\n",
            self.seed % 1_000_000
        );
        match self.has_pause {
            // A sender that was asked may have some frames on its way: there is room for these.
            true => {
                toml += &format!(
                    "[flow-control]\npause-at-frames = {room_frames}\nresume-at-frames = {}\n\
                 # and its second line has {} bit/s\n",
                    room_frames / 2,
                    self.out_line_bps
                )
            }
            false => {
                toml += &format!(
                    "[input]\nframes = {room_frames}\n[cpu]\ncost = {{ per-frame = \"{service_ns}ns\" }}\n"
                )
            }
        }
        if let Some(fps) = self.tester_fps {
            toml += &format!("[tester]\nframes-per-second = {fps}\n");
        }
        toml
    }

    /// How to see the same by hand.
    pub fn command(&self) -> String {
        let profile = if self.is_rfc { "rfc" } else { "quick" };
        format!("netanvil run --sim FILE --profile {profile} --sizes {}", self.frame_bytes)
    }

    /// The most that the medium takes: each frame with 20 bytes of preamble and gap.
    pub fn medium_fps(&self) -> f64 {
        medium_fps(self.line_bps, self.frame_bytes)
    }

    /// The frame with which tests are made.
    pub fn size(&self) -> FrameSize {
        FrameSize::from_bytes(self.frame_bytes)
    }
}

/// The most that a medium takes.
pub fn medium_fps(line_bps: u64, frame_bytes: u32) -> f64 {
    line_bps as f64 / (8.0 * f64::from(frame_bytes + 20))
}
