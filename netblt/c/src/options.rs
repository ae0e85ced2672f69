//! `netblt_options`: what transfers and servers are to be like.

use crate::arguments::{exclusive, text};
use crate::status::{Failure, NetbltStatus, guarded};
use netblt_client::{Carrier, Code, Key, Options, Rate, ServerOptions};
use std::ffi::{c_char, c_int};

/// `netblt_options`, opaque to C.
#[derive(Clone, Debug, Default)]
pub struct NetbltOptions {
    pub(crate) transfer: Options,
    pub(crate) server: ServerOptions,
}

/// `netblt_rate`.
pub const NETBLT_COMPETING: c_int = 0;
/// `netblt_rate`.
pub const NETBLT_SCAVENGING: c_int = 1;
/// `netblt_rate`.
pub const NETBLT_FIXED: c_int = 2;

/// `netblt_options_new` of netblt.h.
#[unsafe(no_mangle)]
pub extern "C" fn netblt_options_new() -> *mut NetbltOptions {
    Box::into_raw(Box::default())
}

/// `netblt_options_free` of netblt.h.
///
/// # Safety
/// NULL, or of `netblt_options_new` and not freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn netblt_options_free(options: *mut NetbltOptions) {
    if !options.is_null() {
        // SAFETY: it was made by `netblt_options_new`, and is used no more.
        drop(unsafe { Box::from_raw(options) });
    }
}

/// Changes options.
///
/// # Safety
/// As of `netblt_options_free`; no other thread uses them meanwhile.
unsafe fn change(
    options: *mut NetbltOptions,
    change: impl FnOnce(&mut NetbltOptions) -> Result<(), Failure>,
) -> NetbltStatus {
    // SAFETY: by the contract.
    guarded(|| change(unsafe { exclusive(options, "options") }?))
}

/// `netblt_options_set_key` of netblt.h.
///
/// # Safety
/// `options` as of [`netblt_options_free`]; `digits` is NULL or ends with a zero.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn netblt_options_set_key(
    options: *mut NetbltOptions,
    digits: *const c_char,
) -> NetbltStatus {
    let set = |options: &mut NetbltOptions| {
        // SAFETY: by the contract.
        let digits = unsafe { text(digits, "digits") }?;
        let key = Key::parse(digits).map_err(|why| {
            Failure::Argument(format!("{why}; `openssl rand -hex 32` prints a key"))
        })?;
        options.transfer.seal = Some(key.clone().into());
        options.server.seal = Some(key.into());
        Ok(())
    };
    // SAFETY: by the contract.
    unsafe { change(options, set) }
}

/// `netblt_options_set_code` of netblt.h.
///
/// # Safety
/// `options` as of [`netblt_options_free`]; `code` is NULL or ends with a zero.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn netblt_options_set_code(
    options: *mut NetbltOptions,
    code: *const c_char,
) -> NetbltStatus {
    let set = |options: &mut NetbltOptions| {
        // SAFETY: by the contract.
        let code = unsafe { text(code, "code") }?;
        let code = Code::parse(code).map_err(Failure::Argument)?;
        options.transfer.seal = Some(code.clone().into());
        options.server.seal = Some(code.into());
        Ok(())
    };
    // SAFETY: by the contract.
    unsafe { change(options, set) }
}

/// `netblt_options_set_l4s` of netblt.h.
///
/// # Safety
/// As of [`netblt_options_free`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn netblt_options_set_l4s(
    options: *mut NetbltOptions,
    on: c_int,
) -> NetbltStatus {
    let set = |options: &mut NetbltOptions| {
        options.transfer.l4s = on != 0;
        Ok(())
    };
    // SAFETY: by the contract.
    unsafe { change(options, set) }
}

/// `netblt_options_set_rate` of netblt.h.
///
/// # Safety
/// As of [`netblt_options_free`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn netblt_options_set_rate(
    options: *mut NetbltOptions,
    rate: c_int,
    bits_per_s: f64,
) -> NetbltStatus {
    let set = |options: &mut NetbltOptions| {
        let at_most_bps = (bits_per_s != 0.0).then_some(bits_per_s);
        if !(bits_per_s >= 0.0 && bits_per_s.is_finite()) {
            return Err(Failure::Argument(format!("{bits_per_s} bit/s is no rate")));
        }
        options.transfer.rate = match (rate, at_most_bps) {
            (NETBLT_COMPETING, _) => Rate::Competing { at_most_bps },
            (NETBLT_SCAVENGING, _) => Rate::Scavenging { at_most_bps },
            (NETBLT_FIXED, Some(bits_per_s)) => Rate::Fixed(bits_per_s),
            (NETBLT_FIXED, None) => {
                return Err(Failure::Argument("a fixed rate of 0 bit/s".to_owned()));
            }
            _ => return Err(Failure::Argument(format!("{rate} is no netblt_rate"))),
        };
        Ok(())
    };
    // SAFETY: by the contract.
    unsafe { change(options, set) }
}

/// `netblt_options_set_raw_ip` of netblt.h.
///
/// # Safety
/// As of [`netblt_options_free`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn netblt_options_set_raw_ip(
    options: *mut NetbltOptions,
    on: c_int,
) -> NetbltStatus {
    let carrier = if on != 0 { Carrier::RawIp } else { Carrier::Udp };
    let set = |options: &mut NetbltOptions| {
        (options.transfer.carrier, options.server.carrier) = (carrier, carrier);
        Ok(())
    };
    // SAFETY: by the contract.
    unsafe { change(options, set) }
}

/// `netblt_options_set_resume` of netblt.h.
///
/// # Safety
/// As of [`netblt_options_free`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn netblt_options_set_resume(
    options: *mut NetbltOptions,
    on: c_int,
) -> NetbltStatus {
    let set = |options: &mut NetbltOptions| {
        options.transfer.resume = on != 0;
        Ok(())
    };
    // SAFETY: by the contract.
    unsafe { change(options, set) }
}

/// `netblt_options_set_overwrite` of netblt.h.
///
/// # Safety
/// As of [`netblt_options_free`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn netblt_options_set_overwrite(
    options: *mut NetbltOptions,
    on: c_int,
) -> NetbltStatus {
    let set = |options: &mut NetbltOptions| {
        options.transfer.overwrite = on != 0;
        options.server.overwrite = on != 0;
        Ok(())
    };
    // SAFETY: by the contract.
    unsafe { change(options, set) }
}

/// `netblt_options_set_death_timer` of netblt.h.
///
/// # Safety
/// As of [`netblt_options_free`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn netblt_options_set_death_timer(
    options: *mut NetbltOptions,
    seconds: u16,
) -> NetbltStatus {
    let set = |options: &mut NetbltOptions| {
        options.transfer.death_timer_s = seconds;
        Ok(())
    };
    // SAFETY: by the contract.
    unsafe { change(options, set) }
}

/// `netblt_options_set_port` of netblt.h.
///
/// # Safety
/// As of [`netblt_options_free`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn netblt_options_set_port(
    options: *mut NetbltOptions,
    port: u16,
) -> NetbltStatus {
    let set = |options: &mut NetbltOptions| {
        if port == 0 {
            return Err(Failure::Argument("nobody listens on NETBLT port 0".to_owned()));
        }
        (options.transfer.port, options.server.port) = (port, port);
        Ok(())
    };
    // SAFETY: by the contract.
    unsafe { change(options, set) }
}

/// `netblt_options_set_listen` of netblt.h.
///
/// # Safety
/// `options` as of [`netblt_options_free`]; `address` is NULL or ends with a zero.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn netblt_options_set_listen(
    options: *mut NetbltOptions,
    address: *const c_char,
) -> NetbltStatus {
    let set = |options: &mut NetbltOptions| {
        // SAFETY: by the contract.
        let address = unsafe { text(address, "address") }?;
        let wrong = |_| {
            let example = "give ADDRESS:PORT, for example 0.0.0.0:20030 or [::]:20030";
            Failure::Argument(format!("no address to listen on: {address}; {example}"))
        };
        options.server.listen = Some(address.parse().map_err(wrong)?);
        Ok(())
    };
    // SAFETY: by the contract.
    unsafe { change(options, set) }
}

/// `netblt_options_set_trust` of netblt.h.
///
/// # Safety
/// As of [`netblt_options_free`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn netblt_options_set_trust(
    options: *mut NetbltOptions,
    on: c_int,
) -> NetbltStatus {
    let set = |options: &mut NetbltOptions| {
        options.server.trust = on != 0;
        Ok(())
    };
    // SAFETY: by the contract.
    unsafe { change(options, set) }
}

/// `netblt_options_set_access` of netblt.h.
///
/// # Safety
/// As of [`netblt_options_free`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn netblt_options_set_access(
    options: *mut NetbltOptions,
    readable: c_int,
    writable: c_int,
) -> NetbltStatus {
    let set = |options: &mut NetbltOptions| {
        (options.server.readable, options.server.writable) = (readable != 0, writable != 0);
        Ok(())
    };
    // SAFETY: by the contract.
    unsafe { change(options, set) }
}
