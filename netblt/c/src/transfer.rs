//! Transfers that block the calling thread.

use crate::arguments::{exclusive, not_null, path, text};
use crate::options::NetbltOptions;
use crate::status::{Failure, NetbltStatus, guarded};
use netblt_client::{Client, Error, Outcome, Transfer};
use std::ffi::{c_char, c_int, c_void};
use std::ptr;

/// `netblt_progress` of netblt.h.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct NetbltProgress {
    /// Bytes that arrived.
    pub done_bytes: u64,
    /// Bytes in all; 0 before both ends have agreed.
    pub total_bytes: u64,
    /// Packets sent again, or asked for again.
    pub repeated_packets: u64,
    /// The bound on the rate in bits a second, 0 for none: the callback may change it.
    pub at_most_bps: f64,
}

/// `netblt_progress_fn` of netblt.h.
pub type NetbltProgressFn =
    Option<unsafe extern "C" fn(progress: *mut NetbltProgress, context: *mut c_void) -> c_int>;

/// `netblt_outcome` of netblt.h.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct NetbltOutcome {
    /// Bytes of the file that this transfer moved.
    pub payload_bytes: u64,
    /// From the first packet to the end.
    pub elapsed_s: f64,
    /// NETBLT packets of any type sent.
    pub packets_sent: u64,
    /// NETBLT packets of any type taken in.
    pub packets_received: u64,
    /// Data packets sent again, where this end sent.
    pub data_packets_resent: u64,
    /// Data packets asked for again, where this end received.
    pub packets_asked_again: u64,
    /// Whether the other end confirmed that it knows.
    pub confirmed: c_int,
    /// BLAKE3 of the whole file in hexadecimal digits, and a zero.
    pub digest: [c_char; 65],
}

impl NetbltOutcome {
    const NOTHING: NetbltOutcome = NetbltOutcome {
        payload_bytes: 0,
        elapsed_s: 0.0,
        packets_sent: 0,
        packets_received: 0,
        data_packets_resent: 0,
        packets_asked_again: 0,
        confirmed: 0,
        digest: [0; 65],
    };

    fn of(outcome: &Outcome) -> NetbltOutcome {
        let counters = outcome.counters();
        let mut digest = [0; 65];
        let digits = outcome.digest().unwrap_or_default().bytes();
        // One place is left for the zero.
        for (to, from) in digest[..64].iter_mut().zip(digits) {
            *to = from as c_char;
        }
        NetbltOutcome {
            payload_bytes: outcome.payload_bytes(),
            elapsed_s: outcome.elapsed().as_secs_f64(),
            packets_sent: counters.packets_sent,
            packets_received: counters.packets_received,
            data_packets_resent: counters.data_packets_resent,
            packets_asked_again: counters.packets_asked_again,
            confirmed: outcome.is_confirmed().into(),
            digest,
        }
    }
}

/// What every transfer is given beside its files.
struct Call {
    host: *const c_char,
    options: *const NetbltOptions,
    progress: NetbltProgressFn,
    context: *mut c_void,
    outcome: *mut NetbltOutcome,
}

impl Call {
    /// # Safety
    /// The pointers are as netblt.h says.
    unsafe fn client(&self) -> Result<Client, Failure> {
        // SAFETY: by the contract.
        let host = unsafe { text(self.host, "host") }?;
        // SAFETY: by the contract; NULL is for the defaults.
        let options = unsafe { self.options.as_ref() };
        Ok(Client::new(host, options.map(|options| options.transfer.clone()).unwrap_or_default()))
    }

    /// # Safety
    /// As of [`Call::client`].
    unsafe fn wait<T: Send + 'static>(&self, transfer: Transfer<T>) -> Result<T, Error> {
        let handle = transfer.handle();
        let mut at_most_bps = 0.0;
        transfer.wait_with(|progress| {
            let Some(hear) = self.progress else { return true };
            let mut told = NetbltProgress { at_most_bps, ..NetbltProgress::default() };
            if let Some(progress) = progress {
                told.done_bytes = progress.done_bytes;
                told.total_bytes = progress.total_bytes;
                told.repeated_packets = progress.repeated_packets;
            }
            // SAFETY: the function is the caller's, and what it is given lives for as long as it runs.
            let cancels = unsafe { hear(&mut told, self.context) } != 0;
            if told.at_most_bps != at_most_bps {
                at_most_bps = told.at_most_bps;
                handle.cap_rate(Some(at_most_bps).filter(|bps| *bps > 0.0));
            }
            !cancels
        })
    }

    /// # Safety
    /// As of [`Call::client`].
    unsafe fn tell(&self, outcome: &NetbltOutcome) {
        if !self.outcome.is_null() {
            // SAFETY: by the contract there is room for one.
            unsafe { ptr::write(self.outcome, *outcome) };
        }
    }

    /// # Safety
    /// As of [`Call::client`].
    unsafe fn run(&self, begin: impl FnOnce(Client) -> Result<Transfer, Failure>) -> NetbltStatus {
        guarded(|| {
            // SAFETY: by the contract.
            unsafe {
                self.tell(&NetbltOutcome::NOTHING);
                let outcome = self.wait(begin(self.client()?)?)?;
                self.tell(&NetbltOutcome::of(&outcome));
            }
            Ok(())
        })
    }
}

/// `netblt_send_file` of netblt.h.
///
/// # Safety
/// The pointers are as netblt.h says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn netblt_send_file(
    host: *const c_char,
    file: *const c_char,
    name: *const c_char,
    options: *const NetbltOptions,
    progress: NetbltProgressFn,
    context: *mut c_void,
    outcome: *mut NetbltOutcome,
) -> NetbltStatus {
    let call = Call { host, options, progress, context, outcome };
    // SAFETY: by the contract.
    unsafe { call.run(|client| Ok(client.send_file(path(file, "path")?, text(name, "name")?))) }
}

/// `netblt_fetch_file` of netblt.h.
///
/// # Safety
/// The pointers are as netblt.h says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn netblt_fetch_file(
    host: *const c_char,
    name: *const c_char,
    file: *const c_char,
    options: *const NetbltOptions,
    progress: NetbltProgressFn,
    context: *mut c_void,
    outcome: *mut NetbltOutcome,
) -> NetbltStatus {
    let call = Call { host, options, progress, context, outcome };
    // SAFETY: by the contract.
    unsafe { call.run(|client| Ok(client.fetch_file(text(name, "name")?, path(file, "path")?))) }
}

/// `netblt_send_bytes` of netblt.h.
///
/// # Safety
/// The pointers are as netblt.h says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn netblt_send_bytes(
    host: *const c_char,
    bytes: *const u8,
    len_bytes: usize,
    name: *const c_char,
    options: *const NetbltOptions,
    progress: NetbltProgressFn,
    context: *mut c_void,
    outcome: *mut NetbltOutcome,
) -> NetbltStatus {
    let call = Call { host, options, progress, context, outcome };
    let begin = |client: Client| {
        let bytes: &[u8] = match len_bytes {
            0 => &[],
            _ => {
                not_null(bytes, "bytes")?;
                // SAFETY: by the contract there are so many bytes behind it.
                unsafe { std::slice::from_raw_parts(bytes, len_bytes) }
            }
        };
        // SAFETY: by the contract.
        Ok(client.send_bytes(bytes, unsafe { text(name, "name") }?))
    };
    // SAFETY: by the contract.
    unsafe { call.run(begin) }
}

/// `netblt_fetch_bytes` of netblt.h.
///
/// # Safety
/// The pointers are as netblt.h says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn netblt_fetch_bytes(
    host: *const c_char,
    name: *const c_char,
    most_bytes: u64,
    bytes: *mut *mut u8,
    len_bytes: *mut usize,
    options: *const NetbltOptions,
    progress: NetbltProgressFn,
    context: *mut c_void,
    outcome: *mut NetbltOutcome,
) -> NetbltStatus {
    let call = Call { host, options, progress, context, outcome };
    guarded(|| {
        // SAFETY: by the contract.
        unsafe {
            call.tell(&NetbltOutcome::NOTHING);
            let (bytes, len) = (exclusive(bytes, "bytes")?, exclusive(len_bytes, "len_bytes")?);
            (*bytes, *len) = (ptr::null_mut(), 0);
            let transfer = call.client()?.fetch_bytes(text(name, "name")?, most_bytes);
            let fetched = call.wait(transfer)?;
            call.tell(&NetbltOutcome::of(&fetched.outcome));
            *len = fetched.bytes.len();
            *bytes = Box::into_raw(fetched.bytes.into_boxed_slice()).cast();
        }
        Ok(())
    })
}

/// `netblt_bytes_free` of netblt.h.
///
/// # Safety
/// NULL, or of [`netblt_fetch_bytes`] with the length that it gave, and not freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn netblt_bytes_free(bytes: *mut u8, len_bytes: usize) {
    if !bytes.is_null() {
        let slice = ptr::slice_from_raw_parts_mut(bytes, len_bytes);
        // SAFETY: it was a box of this length, and is used no more.
        drop(unsafe { Box::from_raw(slice) });
    }
}
