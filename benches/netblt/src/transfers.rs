//! Files of a gigabyte over links that lose packets, over UDP, sealed, and over raw IP; either end is
//! killed with -9 and the transfer goes on. A table; wrong bytes are an error.

use crate::Failure;
use crate::lab::{CLIENT, Lab, SERVER, Server, output};
use netblt_studies::paths::{LinkModel, Loss};
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::thread;
use std::time::{Duration as StdDuration, Instant};
use testbed::TwoHosts;
use units::Duration;

const LINK_BPS: u64 = 500_000_000;
const DELAY: Duration = Duration::from_ms(5);
const QUEUE_BYTES: u64 = 4 << 20;
/// With headers this leaves room on the link for what is sent again.
const RATE: &str = "400M";
/// No transfer takes longer.
const LIMIT: StdDuration = StdDuration::from_secs(600);
const LOSSES: [f64; 4] = [0.0, 0.001, 0.01, 0.05];
const FORMS: [(&str, &[&str]); 3] =
    [("UDP", &[]), ("UDP, sealed", &["--key-file", "key"]), ("raw IP", &["--raw-ip"])];

/// A folder with a file to send and a directory to serve.
struct Scene<'a> {
    folder: &'a Path,
    netanvil: &'a Path,
    bytes: u64,
    digest: blake3::Hash,
}

pub fn run(netanvil: &Path, bytes: u64) -> Result<bool, Failure> {
    let netanvil = netanvil.canonicalize()?;
    // Beside the program, among what was built: gigabytes have no place in a source tree.
    let folder = tempfile::tempdir_in(netanvil.parent().ok_or("the program is in no folder")?)?;
    let digest = write_file(&folder.path().join("file"), bytes)?;
    std::fs::write(folder.path().join("key"), "5eed".repeat(16))?;
    std::fs::create_dir(folder.path().join("served"))?;
    let scene = Scene { folder: folder.path(), netanvil: &netanvil, bytes, digest };
    println!("{bytes} bytes, {RATE} of data, over 500 Mb/s with 10 ms round trip");
    println!(
        "missed: frames that the link's program lost itself, beside those of the model; in time: all"
    );
    println!("but 1 % of the frames were at most 2 ms later than the model has it");
    println!(
        "{:12} {:>7}  {:>8} {:>9}  {:>8}  {:8}  digest",
        "form", "loss", "Mb/s", "again", "missed", "in time"
    );
    for (name, form) in FORMS {
        for loss in LOSSES {
            let lab = lab(loss)?;
            let server = scene.serve(&lab, form)?;
            let json = scene.send(&lab, form)?;
            drop(server);
            scene.check()?;
            println!(
                "{name:12} {:>5} %  {:>8.1} {:>9}  {:>8}  {:8}  equal",
                loss * 100.0,
                json["real_mbps"].as_f64().unwrap_or(f64::NAN),
                json["data_packets_resent"].as_u64().unwrap_or_default(),
                lab.lost_by_program(),
                if lab.is_faithful() { "yes" } else { "no" },
            );
        }
    }
    for (name, form) in FORMS {
        let moved = scene.broken(form)?;
        println!(
            "{name:12}: server and sender killed with -9 on the way, at 1 % loss; the third attempt \
             moved the missing {:.0} %; digest equal",
            moved as f64 * 100.0 / bytes as f64
        );
    }
    Ok(true)
}

fn lab(loss: f64) -> Result<Lab, Failure> {
    let loss = if loss > 0.0 { Loss::Random(loss) } else { Loss::None };
    Lab::linked(&LinkModel { loss, ..LinkModel::plain(LINK_BPS, DELAY, QUEUE_BYTES) }, 3)
}

/// Bytes of which no two pages are the same.
pub fn write_file(path: &Path, bytes: u64) -> Result<blake3::Hash, Failure> {
    let mut file = BufWriter::new(File::create(path)?);
    let mut stream = blake3::Hasher::new().update(b"a file").finalize_xof();
    let mut hasher = blake3::Hasher::new();
    let mut chunk = vec![0; 1 << 20];
    let mut left = bytes;
    while left > 0 {
        let piece = &mut chunk[..left.min(1 << 20) as usize];
        stream.fill(piece);
        hasher.update(piece);
        file.write_all(piece)?;
        left -= piece.len() as u64;
    }
    file.flush()?;
    Ok(hasher.finalize())
}

impl Scene<'_> {
    fn serve(&self, lab: &Lab, form: &[&str]) -> Result<Server, Failure> {
        let mut serve = lab.command(SERVER, self.netanvil);
        serve.args(["netblt", "serve", "served", "--trust", "--overwrite"]).args(form);
        Server::start(serve.current_dir(self.folder), true)
    }

    fn sender(&self, lab: &Lab, form: &[&str]) -> std::process::Command {
        let mut send = lab.command(CLIENT, self.netanvil);
        send.args(["netblt", "send", "file", &TwoHosts::address(SERVER).to_string()])
            .args(["--rate", RATE, "--json", "--quiet"])
            .args(form)
            .current_dir(self.folder);
        send
    }

    fn send(&self, lab: &Lab, form: &[&str]) -> Result<serde_json::Value, Failure> {
        Ok(serde_json::from_str(&output(&mut self.sender(lab, form), LIMIT)?)?)
    }

    /// The file is there, with the digest of the one sent; it is removed.
    fn check(&self) -> Result<(), Failure> {
        let path = self.folder.join("served/file");
        let mut hasher = blake3::Hasher::new();
        hasher.update_reader(File::open(&path)?)?;
        if hasher.finalize() != self.digest {
            return Err("the file that arrived is not the one that was sent".into());
        }
        Ok(std::fs::remove_file(path)?)
    }

    /// Kills the server, then the sender, each after another fifth of the file; gives what the third
    /// attempt moved.
    fn broken(&self, form: &[&str]) -> Result<u64, Failure> {
        let lab = lab(0.01)?;
        let mut server = self.serve(&lab, form)?;
        for kill_server in [true, false] {
            let mut sender = self.sender(&lab, form);
            // Killed when dropped; its report goes nowhere.
            let sender = Server::spawn(&mut sender)?;
            let (before, started) = (self.part_bytes(), Instant::now());
            while self.part_bytes() < before + self.bytes / 5 {
                if started.elapsed() > StdDuration::from_secs(120) {
                    return Err("nothing arrives".into());
                }
                thread::sleep(StdDuration::from_millis(10));
            }
            if kill_server {
                drop(server);
                server = self.serve(&lab, form)?;
            }
            drop(sender);
        }
        let json = self.send(&lab, form)?;
        drop(server);
        self.check()?;
        let moved = json["bytes"].as_u64().ok_or("no bytes in the report")?;
        match moved < self.bytes * 4 / 5 {
            true => Ok(moved),
            false => Err(format!("{moved} bytes were moved again").into()),
        }
    }

    fn part_bytes(&self) -> u64 {
        let part = self.folder.join("served/.file.netblt-part");
        std::fs::metadata(part).map_or(0, |metadata| metadata.len())
    }
}
