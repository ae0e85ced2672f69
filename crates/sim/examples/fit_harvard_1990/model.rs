//! A product as stages of processors, and the rates that follow by arithmetic.

use crate::figures::{Cell, Of, Sources};

/// A number of a model: microseconds a frame or a byte, or bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum What {
    PerFrame,
    PerByte,
    FirstBytes,
    PerBuffer,
    BufferBytes,
    PerRule,
    Receive,
    ReceiveByte,
    Bus,
    BusByte,
    BusReceiveByte,
    Output,
    OutputByte,
    OutputBuffer,
    OutputBufferBytes,
    /// Not of the device: how far figures scatter about the model, see `likelihood`.
    Error,
}

impl What {
    pub const ALL: [What; 16] = [
        What::PerFrame,
        What::PerByte,
        What::FirstBytes,
        What::PerBuffer,
        What::BufferBytes,
        What::PerRule,
        What::Receive,
        What::ReceiveByte,
        What::Bus,
        What::BusByte,
        What::BusReceiveByte,
        What::Output,
        What::OutputByte,
        What::OutputBuffer,
        What::OutputBufferBytes,
        What::Error,
    ];

    pub fn name(self) -> &'static str {
        [
            "per-frame",
            "per-byte",
            "first-bytes",
            "per-buffer",
            "buffer-bytes",
            "per-rule",
            "receive",
            "receive-per-byte",
            "bus-per-frame",
            "bus-per-byte",
            "bus-receive-per-byte",
            "output-per-frame",
            "output-per-byte",
            "output-per-buffer",
            "output-buffer-bytes",
            "error-scale",
        ][self as usize]
    }

    pub fn is_bytes(self) -> bool {
        matches!(self, What::FirstBytes | What::BufferBytes | What::OutputBufferBytes)
    }

    pub fn unit(self) -> &'static str {
        match self {
            What::Error => "share",
            what if what.is_bytes() => "bytes",
            _ => "us",
        }
    }
}

/// Which number of which protocol, the filters, or all frames.
pub type Key = (Of, What);

fn place((of, what): Key) -> usize {
    of as usize * What::ALL.len() + what as usize
}

/// The numbers of a model; those that it lacks are zero.
#[derive(Clone, Debug, PartialEq)]
pub struct Model {
    values: [f64; Of::ALL.len() * What::ALL.len()],
    /// Those that the model has.
    pub keys: Vec<Key>,
}

impl Model {
    pub fn new() -> Self {
        Model { values: [0.0; Of::ALL.len() * What::ALL.len()], keys: vec![] }
    }

    pub fn get(&self, of: Of, what: What) -> f64 {
        self.values[place((of, what))]
    }

    /// Adds a number, or changes it.
    pub fn set(&mut self, key: Key, value: f64) {
        self.values[place(key)] = value;
        if !self.keys.contains(&key) {
            self.keys.push(key);
        }
    }

    /// Changes one that is there.
    pub fn put(&mut self, key: Key, value: f64) {
        self.values[place(key)] = value;
    }

    pub fn has(&self, key: Key) -> bool {
        self.keys.contains(&key)
    }

    pub fn remove(&mut self, key: Key) {
        self.values[place(key)] = 0.0;
        self.keys.retain(|known| *known != key);
    }
}

/// Which mechanisms a product has beside a central processor and its output: the manufacturers' own
/// words where there are any, else what its figures ask for.
#[derive(Clone, Copy, Default)]
pub struct Structure {
    /// Cards forward, without a central processor.
    pub card_processors: bool,
    /// Frames of these protocols pass a bus before the processors.
    pub bus: &'static [Of],
    /// There each byte costs time even if the frame is then dropped.
    pub bus_receive: bool,
    /// A processor for each port.
    pub per_port: bool,
    /// Of IP frames only the first bytes count for the processor.
    pub first_bytes: bool,
    /// Frames are kept in buffers at their output.
    pub output_buffers: bool,
    /// DECnet frames are kept in buffers.
    pub decnet_buffers: bool,
    /// Frames cost time even if they are then dropped, in this protocol.
    pub receive: &'static [Of],
    /// And for each byte of them.
    pub receive_byte: bool,
    /// Filters cost time as a frame comes.
    pub filter_receive: bool,
    /// Filters cost the card where a frame leaves, too.
    pub filter_output: bool,
}

impl Structure {
    pub fn of(product: &str) -> Self {
        let none = Structure::default();
        match product.split(' ').next().unwrap_or_default() {
            "Wellfleet" => Structure { card_processors: true, ..none },
            "Network" => Structure {
                bus: &[Of::Ipv4],
                per_port: true,
                first_bytes: true,
                decnet_buffers: true,
                receive: &[Of::Decnet, Of::AppleTalk],
                ..none
            },
            "Timeplex" => Structure { receive_byte: true, ..none },
            "Proteon" if product.ends_with("rig") => Structure { filter_output: true, ..none },
            "Proteon" => Structure {
                bus: &[Of::Decnet, Of::Ipx],
                bus_receive: true,
                receive: &[Of::Ipv4, Of::Decnet, Of::Ipx],
                receive_byte: true,
                filter_receive: true,
                filter_output: true,
                output_buffers: true,
                ..none
            },
            _ => none,
        }
    }
}

/// A product and how it is built.
#[derive(Clone)]
pub struct Product {
    pub name: String,
    pub structure: Structure,
    pub sources: Sources,
}

/// What one stage does with a frame, in microseconds.
struct Stage {
    /// For each frame that comes.
    receive: f64,
    /// For each that it passes on.
    service: f64,
    /// How many streams it serves.
    streams: f64,
}

impl Stage {
    /// The most frames of one stream that it passes whole.
    fn whole_fps(&self) -> f64 {
        1e6 / ((self.receive + self.service) * self.streams)
    }

    /// What it passes on of more than that; negative if reception takes more time than there is.
    fn overloaded_fps(&self, offered: f64) -> f64 {
        (1e6 / self.streams - offered * self.receive) / self.service.max(1e-3)
    }
}

/// Buffers after the first.
fn more_buffers(bytes: f64, buffer_bytes: f64) -> f64 {
    if buffer_bytes > 0.0 { (bytes / buffer_bytes).ceil() - 1.0 } else { 0.0 }
}

impl Product {
    pub fn new(name: &str, sources: Sources) -> Self {
        Product { name: name.to_owned(), structure: Structure::of(name), sources }
    }

    pub fn offered_fps(&self, cell: &Cell) -> f64 {
        self.sources.rate(cell.dual.unwrap_or(0), cell.size)
    }

    /// Frames a second that the model says for a figure.
    pub fn predict(&self, model: &Model, cell: &Cell) -> f64 {
        self.capability_fps(model, cell).clamp(0.0, self.offered_fps(cell))
    }

    /// What the device could forward of a stream; more than its source sends if the device keeps up,
    /// below zero if reception alone takes more time than there is.
    pub fn capability_fps(&self, model: &Model, cell: &Cell) -> f64 {
        let stages = self.stages(model, cell);
        let whole = stages.iter().map(Stage::whole_fps).fold(f64::INFINITY, f64::min);
        let offered = self.offered_fps(cell);
        if !cell.is_flood || whole >= offered {
            return whole;
        }
        let mut rate = offered;
        for stage in &stages {
            if rate > stage.whole_fps() {
                rate = stage.overloaded_fps(rate);
            }
        }
        rate
    }

    /// The bus, the processors, the card where the frame leaves.
    fn stages(&self, model: &Model, cell: &Cell) -> [Stage; 3] {
        let streams = if cell.dual.is_some() { 2.0 } else { 1.0 };
        let bytes = f64::from(cell.size);
        let of_protocol = |what| model.get(cell.protocol, what);
        let of_all = |what| model.get(Of::All, what);
        let is_filtered = cell.rules > 0.0;
        let when_filtered = |what| if is_filtered { model.get(Of::Filter, what) } else { 0.0 };
        let counted = match of_protocol(What::FirstBytes) {
            0.0 => bytes,
            first => bytes.min(first.round()),
        };
        let buffers = more_buffers(bytes, of_protocol(What::BufferBytes).round());
        let service = of_protocol(What::PerFrame)
            + of_protocol(What::PerByte) * counted
            + of_protocol(What::PerBuffer) * buffers
            // Only the last of the rules permits the test traffic.
            + when_filtered(What::PerFrame)
            + cell.rules * when_filtered(What::PerRule);
        let none = || Stage { receive: 0.0, service: 0.0, streams: 1.0 };
        if self.structure.card_processors {
            let output = of_all(What::Output);
            // Between cards both streams come in at one and leave at the other.
            let (service, streams) = match cell.is_within {
                true => (service + output, 1.0),
                false => (service.max(output), streams),
            };
            return [none(), Stage { receive: 0.0, service, streams }, none()];
        }
        let receive = of_protocol(What::Receive)
            + of_all(What::ReceiveByte) * bytes
            + when_filtered(What::Receive);
        let buffers = more_buffers(bytes, of_all(What::OutputBufferBytes).round());
        let output = of_all(What::Output)
            + of_all(What::OutputByte) * bytes
            + of_all(What::OutputBuffer) * buffers
            + when_filtered(What::Output);
        let bus = of_protocol(What::Bus) + of_protocol(What::BusByte) * bytes;
        let bus_receive = of_protocol(What::BusReceiveByte) * bytes;
        let at_processor = if self.structure.per_port { 1.0 } else { streams };
        [
            Stage { receive: bus_receive, service: bus, streams },
            Stage { receive, service, streams: at_processor },
            Stage { receive: 0.0, service: output, streams: 1.0 },
        ]
    }

    /// Relative difference; where nothing came out, all or nothing
    /// (`report::reproduction::FigurePair::difference`).
    pub fn difference(&self, model: &Model, cell: &Cell) -> f64 {
        let predicted = self.predict(model, cell);
        match cell.fps {
            0.0 => f64::from(u8::from(predicted >= 1.0)),
            fps => predicted / fps - 1.0,
        }
    }
}
