//! Flags into options, and errors into words that name flags.

use super::args::{Sealing, Transfer};
use crate::failure::{Failure, Outcome};
use crate::output;
use netblt::Burst;
use netblt_client::{Carrier, Code, Error, Key, Options, Rate, Seal};
use std::fs::{File, Metadata};
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Where the key is looked for without a file.
const KEY_VARIABLE: &str = "NETANVIL_NETBLT_KEY";

/// What carries the packets.
pub fn carrier(raw_ip: bool) -> Carrier {
    if raw_ip { Carrier::RawIp } else { Carrier::Udp }
}

/// What a transfer is to be like.
pub fn options(transfer: &Transfer) -> Outcome<Options> {
    let at_most_bps = transfer.at_most.as_deref().map(parse_rate).transpose()?;
    let rate = match (&transfer.burst, &transfer.rate) {
        (Some(text), _) => Rate::Bursts(parse_burst(text)?),
        (None, Some(rate)) => Rate::Fixed(parse_rate(rate)?),
        (None, None) if transfer.scavenge => Rate::Scavenging { at_most_bps },
        (None, None) => Rate::Competing { at_most_bps },
    };
    Ok(Options {
        carrier: carrier(transfer.raw_ip),
        seal: seal(&transfer.sealing, transfer.raw_ip, || code(&output::ask_for("code")?))?,
        rate,
        l4s: transfer.l4s,
        packet_size_bytes: transfer.packet_size,
        buffer_size_bytes: transfer.buffer_size,
        max_outstanding_buffers: transfer.buffers,
        checksum_data: !transfer.no_data_checksum,
        death_timer_s: transfer.death_timer,
        port: transfer.port,
        ..Options::default()
    })
}

/// An error of the library; where a flag mends it, by its name.
pub fn failure(error: Error) -> Failure {
    let remedy = match &error {
        Error::SealedRawIp => format!(
            "leave --raw-ip out, or give no key and no code (--key-file, {KEY_VARIABLE}, --code)"
        ),
        Error::Socket { carrier: Carrier::RawIp, error, .. }
            if error.kind() == io::ErrorKind::PermissionDenied =>
        {
            "raw IP takes root, or CAP_NET_RAW; without --raw-ip it is UDP".to_owned()
        }
        Error::Socket { error, .. } if error.kind() == io::ErrorKind::AddrInUse => {
            "give another one with --listen".to_owned()
        }
        Error::CannotWrite { error, .. } if error.kind() == io::ErrorKind::AlreadyExists => {
            "replace it with --overwrite, or keep the new one with --out FILE".to_owned()
        }
        Error::NotTrusted { .. } => "give a key (--key-file), draw a code (--code), or --trust to \
            serve whoever can send to it"
            .to_owned(),
        Error::OtherKey { .. } => "give both the same key (--key-file), or the code that the \
            server has printed (--code)"
            .to_owned(),
        other => other.remedy().to_owned(),
    };
    Failure::new(error.message()).help(remedy)
}

fn parse_burst(text: &str) -> Outcome<Burst> {
    let wrong = || Failure::new(format!("no burst: {text}")).help("for example --burst 5/40");
    let (size, interval) = text.split_once('/').ok_or_else(wrong)?;
    let size_packets = size.parse().ok().filter(|size| *size > 0).ok_or_else(wrong)?;
    let interval_ms = interval.parse().ok().filter(|ms| *ms > 0).ok_or_else(wrong)?;
    Ok(Burst { size_packets, interval_ms })
}

pub fn parse_rate(text: &str) -> Outcome<f64> {
    let said = text;
    let text = text.strip_suffix("bit/s").unwrap_or(text);
    let (number, factor) = match text.char_indices().last() {
        Some((at, 'k' | 'K')) => (&text[..at], 1e3),
        Some((at, 'M')) => (&text[..at], 1e6),
        Some((at, 'G')) => (&text[..at], 1e9),
        _ => (text, 1.0),
    };
    let rate = number.parse::<f64>().ok().map(|number| number * factor);
    rate.filter(|rate| rate.is_finite() && *rate >= 1.0).ok_or_else(|| {
        Failure::new(format!("no rate: {said}")).help("for example --rate 100M, --rate 2.5G")
    })
}

/// An option counts before the environment; whoever has set the variable hears of it.
fn tell_unused(sealing: &Sealing) {
    let option = match (&sealing.code, &sealing.key_file) {
        (Some(_), _) => "--code",
        (None, Some(_)) => "--key-file",
        (None, None) => return,
    };
    if std::env::var_os(KEY_VARIABLE).is_some() {
        output::say(format_args!("note: {KEY_VARIABLE} is set and not used: {option} is given"));
    }
}

/// What seals packets, if anything does; `without_code` gives the code where `--code` has none.
pub fn seal(
    sealing: &Sealing,
    raw_ip: bool,
    without_code: impl FnOnce() -> Outcome<Code>,
) -> Outcome<Option<Seal>> {
    tell_unused(sealing);
    Ok(match sealing.code.as_deref() {
        None => key(sealing)?.map(Seal::Key),
        // Before anybody is asked for one.
        Some(_) if raw_ip => return Err(failure(Error::SealedRawIp)),
        Some("") => Some(Seal::Code(without_code()?)),
        Some(text) => Some(Seal::Code(code(text)?)),
    })
}

fn code(text: &str) -> Outcome<Code> {
    let failure = |why| Failure::new(why).help("`netanvil netblt serve --code` prints one");
    Code::parse(text).map_err(failure)
}

/// More than a key has.
const MOST_KEY_BYTES: u64 = 4096;

/// The text of a key's file.
fn read_key(path: &Path) -> io::Result<String> {
    let mut text = String::new();
    File::open(path)?.take(MOST_KEY_BYTES).read_to_string(&mut text)?;
    Ok(text)
}

/// Whoever lets others read the key hears of it.
pub fn tell_readable_key(sealing: &Sealing) {
    let Some(path) = sealing.key_file.as_deref().filter(|_| sealing.code.is_none()) else { return };
    let is_open = |metadata: Metadata| metadata.is_file() && metadata.mode() & 0o077 != 0;
    if path.metadata().is_ok_and(is_open) {
        let shown = path.display();
        output::say(format_args!(
            "note: other users may read or write the key in {shown}: chmod 600 {shown}"
        ));
    }
}

/// The key, if there is one.
fn key(sealing: &Sealing) -> Outcome<Option<Key>> {
    let (text, place) = match (&sealing.key_file, std::env::var_os(KEY_VARIABLE)) {
        (Some(file), _) => {
            let place = file.display().to_string();
            let text = read_key(file);
            (text.map_err(|error| Failure::new(format!("cannot read {place}: {error}")))?, place)
        }
        // What is no text is no key either, and refused as such.
        (None, Some(text)) => (text.to_string_lossy().into_owned(), KEY_VARIABLE.to_owned()),
        (None, None) => return Ok(None),
    };
    let failure = |why| Failure::new(format!("{place}: {why}")).help("openssl rand -hex 32 > FILE");
    Key::parse(&text).map(Some).map_err(failure)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_and_bursts_are_read() {
        assert_eq!(parse_rate("2.5G").ok(), Some(2.5e9));
        assert_eq!(parse_rate("64k").ok(), Some(64e3));
        assert_eq!(parse_rate("100Mbit/s").ok(), Some(100e6));
        assert!(
            ["bit/s", "1Mbyte/s", "", "M", "-1M", "0", "inf", "1T"]
                .iter()
                .all(|text| parse_rate(text).is_err())
        );
        assert_eq!(parse_burst("5/40").ok(), Some(Burst { size_packets: 5, interval_ms: 40 }));
        assert!(
            ["5", "0/4", "5/", "5/0", "a/b", "5/70000"].iter().all(|t| parse_burst(t).is_err())
        );
    }
}
