//! `netblt_server`: a folder that is served in the background.

use crate::arguments::{exclusive, not_null, path, shared};
use crate::options::NetbltOptions;
use crate::status::{Failure, NetbltStatus, guarded};
use netblt_client::Server;
use std::ffi::c_char;
use std::ptr;

/// `netblt_server`, opaque to C.
#[derive(Debug)]
pub struct NetbltServer(Server);

/// `netblt_server_start` of netblt.h.
///
/// # Safety
/// The pointers are as netblt.h says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn netblt_server_start(
    folder: *const c_char,
    options: *const NetbltOptions,
    server: *mut *mut NetbltServer,
) -> NetbltStatus {
    guarded(|| {
        // SAFETY: by the contract.
        let (server, folder) = unsafe { (exclusive(server, "server")?, path(folder, "folder")) };
        *server = ptr::null_mut();
        // SAFETY: by the contract; NULL is for the defaults.
        let options = unsafe { options.as_ref() };
        let options = options.map(|options| options.server.clone()).unwrap_or_default();
        let started = Server::start(folder?, &options)?;
        *server = Box::into_raw(Box::new(NetbltServer(started)));
        Ok(())
    })
}

/// `netblt_server_address` of netblt.h.
///
/// # Safety
/// The pointers are as netblt.h says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn netblt_server_address(
    server: *const NetbltServer,
    address: *mut c_char,
    size_bytes: usize,
) -> NetbltStatus {
    guarded(|| {
        // SAFETY: by the contract.
        let server = unsafe { shared(server, "server") }?;
        not_null(address, "address")?;
        let text = server.0.address().to_string();
        if text.len() >= size_bytes {
            let needed = text.len() + 1;
            return Err(Failure::Argument(format!("the address takes {needed} bytes")));
        }
        // SAFETY: by the contract there is room for `size_bytes`.
        let room = unsafe { std::slice::from_raw_parts_mut(address, size_bytes) };
        for (to, from) in room.iter_mut().zip(text.bytes().chain([0])) {
            *to = from as c_char;
        }
        Ok(())
    })
}

/// `netblt_server_cap_rate` of netblt.h.
///
/// # Safety
/// The pointers are as netblt.h says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn netblt_server_cap_rate(
    server: *const NetbltServer,
    bits_per_s: f64,
) -> NetbltStatus {
    guarded(|| {
        if !(bits_per_s.is_finite() && bits_per_s >= 1.0) {
            return Err(Failure::Argument(format!("{bits_per_s} bit/s is no rate")));
        }
        // SAFETY: by the contract.
        unsafe { shared(server, "server") }?.0.cap_rate(bits_per_s);
        Ok(())
    })
}

/// `netblt_server_stop` of netblt.h.
///
/// # Safety
/// NULL, or of [`netblt_server_start`] and not stopped.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn netblt_server_stop(server: *mut NetbltServer) -> NetbltStatus {
    guarded(|| {
        if server.is_null() {
            return Ok(());
        }
        // SAFETY: it was made by `netblt_server_start`, and is used no more.
        let server = unsafe { Box::from_raw(server) };
        Ok(server.0.stop()?)
    })
}
