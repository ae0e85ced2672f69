//! The control side of a device: frames go out through the device itself; those that arrive come from the
//! trial that runs, and between trials from the device.

use super::device::Device;
use super::shim::{BURST, Frame};
use super::trial_time::TrialTime;
use crate::clock;
use crate::control::{ControlSocket, is_control};
use std::collections::VecDeque;
use std::io;
use std::sync::mpsc::{Receiver, TryRecvError};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use units::Duration;

/// How often the device is looked at between trials: its queue holds more than arrives meanwhile, and nobody
/// waits for an answer so long that this matters.
const LOOK: Duration = Duration::from_us(500);
/// How long a control frame waits for room.
const PATIENCE: Duration = Duration::from_ms(20);
const NAP: Duration = Duration::from_us(20);

pub(super) struct DeviceControl {
    /// Handles outlive the port, and the device must not outlive it with them.
    device: Weak<Device>,
    time: Arc<TrialTime>,
    state: Mutex<State>,
}

struct State {
    from_trials: Receiver<Vec<u8>>,
    /// Taken from the device between trials.
    waiting: VecDeque<Vec<u8>>,
    frames: [Frame; BURST],
}

impl DeviceControl {
    pub fn new(device: &Arc<Device>, time: Arc<TrialTime>, from_trials: Receiver<Vec<u8>>) -> Self {
        let state = State { from_trials, waiting: VecDeque::new(), frames: [Frame::NONE; BURST] };
        DeviceControl { device: Arc::downgrade(device), time, state: Mutex::new(state) }
    }

    /// The next control frame, if one is there.
    fn next(&self, state: &mut State) -> io::Result<Option<Vec<u8>>> {
        let State { from_trials, waiting, frames } = state;
        if let Some(frame) = waiting.pop_front() {
            return Ok(Some(frame));
        }
        match from_trials.try_recv() {
            Ok(frame) => return Ok(Some(frame)),
            Err(TryRecvError::Disconnected) => return Err(gone()),
            Err(TryRecvError::Empty) => {}
        }
        if self.time.is_a_trials(clock::now()) {
            return Ok(None);
        }
        let device = self.device.upgrade().ok_or_else(gone)?;
        for queue in 0..device.queues() {
            let mut queue = device.receive_queue(queue);
            // Asked again while the queue is held: a trial that begins now waits for it.
            if !self.time.is_a_trials(clock::now()) {
                queue.take(frames, |frame| {
                    if is_control(frame) {
                        waiting.push_back(frame.to_vec());
                    }
                });
            }
        }
        Ok(waiting.pop_front())
    }
}

fn gone() -> io::Error {
    io::Error::from_raw_os_error(libc::ENODEV)
}

impl ControlSocket for DeviceControl {
    fn send(&self, frame: &[u8]) -> io::Result<()> {
        let device = self.device.upgrade().ok_or_else(gone)?;
        let give_up = clock::now() + PATIENCE;
        loop {
            match device.send_one(frame) {
                Err(error) if error.raw_os_error() == Some(libc::ENOBUFS) => {
                    if clock::now() >= give_up {
                        return Err(error);
                    }
                    clock::sleep(NAP);
                }
                outcome => return outcome,
            }
        }
    }

    fn receive<'a>(&self, buffer: &'a mut [u8], timeout_ms: i32) -> io::Result<Option<&'a [u8]>> {
        let give_up = clock::now() + Duration::from_ms(timeout_ms.max(0) as u64);
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if let Some(frame) = self.next(&mut state)? {
                let len = frame.len().min(buffer.len());
                buffer[..len].copy_from_slice(&frame[..len]);
                return Ok(Some(&buffer[..len]));
            }
            if clock::now() >= give_up {
                return Ok(None);
            }
            clock::sleep(LOOK);
        }
    }
}
