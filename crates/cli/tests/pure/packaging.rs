//! What packages and the action for continuous integration are made of: `extras/packages`, `extras/action`.

use crate::common::Scratch;
use std::path::{Path, PathBuf};
use std::process::Command;

fn extras() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../extras")
}

#[test]
fn version_lists_the_kinds_of_port() {
    let scratch = Scratch::new();
    let long = scratch.run("--version").expect(0).stdout;
    let short = scratch.run("-V").expect(0).stdout;
    let lines: Vec<&str> = long.lines().collect();
    assert_eq!(lines[0], format!("netanvil {}", env!("CARGO_PKG_VERSION")));
    assert_eq!(short.trim(), lines[0]);
    assert!(lines[1].starts_with("ports: ") && lines[1].contains("af_packet"), "{long}");
    assert!(
        lines[2].starts_with(&format!("built for: {} Linux", std::env::consts::ARCH)),
        "{long}"
    );
}

/// The program, its pages and its unit below the prefix, and nothing beside them.
#[test]
fn an_installation_is_whole_and_below_its_prefix() {
    let scratch = Scratch::new();
    let done = Command::new(extras().join("packages/install.sh"))
        .args([env!("CARGO_BIN_EXE_netanvil"), scratch.path().to_str().unwrap(), "/opt/net"])
        .output()
        .unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let top: Vec<_> =
        std::fs::read_dir(scratch.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert_eq!(top, ["opt"]);
    let prefix = scratch.path().join("opt/net");
    for file in [
        "share/man/man1/netanvil.1.gz",
        "share/man/man1/netanvil-run.1.gz",
        "share/bash-completion/completions/netanvil",
        "share/zsh/site-functions/_netanvil",
        "share/fish/vendor_completions.d/netanvil.fish",
        "share/doc/netanvil/LICENSE-MIT",
        "share/doc/netanvil/LICENSE-APACHE",
    ] {
        assert!(prefix.join(file).metadata().is_ok_and(|data| data.len() > 0), "{file}");
    }
    let unit = std::fs::read_to_string(prefix.join("lib/systemd/system/netanvil.service")).unwrap();
    assert!(unit.contains("ExecStart=/opt/net/bin/netanvil serve "), "{unit}");
    let version = Command::new(prefix.join("bin/netanvil")).arg("-V").output().unwrap();
    assert!(version.status.success());
}

/// One line that names what is wrong, and nothing is written.
#[test]
fn an_installation_to_nowhere_is_refused() {
    let scratch = Scratch::new();
    let root = scratch.path().to_str().unwrap();
    std::fs::write(scratch.path().join("file"), "").unwrap();
    let program = env!("CARGO_BIN_EXE_netanvil");
    for (program, prefix, wanted) in [
        (program, "", r#"PREFIX is "", which is no absolute path"#),
        (program, "opt", r#"PREFIX is "opt", which is no absolute path"#),
        (program, "/file/below", "/file is no folder"),
        ("/no/such/program", "/opt", "there is no /no/such/program; make build makes it"),
        ("/etc/passwd", "/opt", "/etc/passwd does not run here"),
    ] {
        let done = Command::new(extras().join("packages/install.sh"))
            .args([program, root, prefix])
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&done.stderr);
        assert_eq!(done.status.code(), Some(2), "{prefix}: {said}");
        assert!(said.starts_with("install: ") && said.contains(wanted), "{prefix}: {said}");
        assert_eq!(said.lines().count(), 1, "{said}");
    }
    assert_eq!(std::fs::read_dir(scratch.path()).unwrap().count(), 1);
}

/// Without binutils: all that is missing at once, and the package that has it.
#[test]
fn missing_tools_are_named_with_their_packages() {
    let scratch = Scratch::new();
    for tool in ["sh", "dirname", "basename"] {
        let found =
            Command::new("sh").args(["-c", &format!("command -v {tool}")]).output().unwrap();
        let path = String::from_utf8(found.stdout).unwrap();
        std::os::unix::fs::symlink(path.trim(), scratch.path().join(tool)).unwrap();
    }
    let done = Command::new("/bin/sh")
        .arg(extras().join("packages/install.sh"))
        .args([env!("CARGO_BIN_EXE_netanvil"), "/no/root", "/usr"])
        .env("PATH", scratch.path())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&done.stderr);
    assert_eq!(done.status.code(), Some(2), "{said}");
    let wanted =
        "install: missing: readelf strip gzip; on Debian: sudo apt-get install binutils gzip\n";
    assert_eq!(said, wanted);
}

/// What the program's part for DPDK is linked with, and the drivers that docs/dpdk.md names, by Debian's packages of them.
/// `extras/packages/dpdk-test.sh` installs it.
#[test]
fn the_package_with_dpdk_depends_on_libraries_and_drivers() {
    let scratch = Scratch::new();
    let has_ports = !scratch.run("--version").expect(0).stdout.contains("without dpdk");
    let has_tools = Command::new("dpkg-shlibdeps").arg("--version").output().is_ok();
    if !has_ports || !has_tools {
        return eprintln!("skipped: no dpdk ports, or no dpkg-dev");
    }
    let done = Command::new(extras().join("packages/dpdk.sh"))
        .arg(scratch.path())
        .arg(env!("CARGO_BIN_EXE_netanvil"))
        // Or it would compress for a quarter of a minute.
        .env("DPKG_DEB_COMPRESSOR_TYPE", "none")
        .output()
        .unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let files = std::fs::read_dir(scratch.path()).unwrap().map(|entry| entry.unwrap().path());
    let package = files.filter(|path| path.extension().is_some_and(|end| end == "deb"));
    let package = package.collect::<Vec<_>>();
    let [package] = &package[..] else { panic!("{package:?}") };
    let tell = |arguments: &[&str]| {
        let out = Command::new("dpkg-deb").args(arguments).output().unwrap();
        String::from_utf8(out.stdout).unwrap()
    };
    let path = package.to_str().unwrap();
    let depends = tell(&["--field", path, "Depends"]);
    for needed in [
        "libc6 (>= ",
        "librte-eal",
        "librte-ethdev",
        "librte-mbuf",
        "librte-mempool",
        "librte-mempool-ring",
        "librte-bus-vdev",
        "librte-net-memif",
        "librte-net-virtio",
        "librte-net-vhost",
        "librte-net-af-packet",
        "librte-net-ring",
    ] {
        assert!(depends.split(", ").any(|one| one.starts_with(needed)), "{needed} in {depends}");
    }
    assert_eq!(tell(&["--field", path, "Conflicts"]).trim(), "netanvil");
    let list = tell(&["--contents", path]);
    for file in ["./usr/bin/netanvil", "doc/netanvil-dpdk/copyright", "man1/netanvil-run.1.gz"] {
        assert!(list.contains(file), "{file} in {list}");
    }
}

/// `extras/action/test.sh` says what is checked.
#[test]
fn the_action_passes_fails_and_comments() {
    let done = Command::new(extras().join("action/test.sh"))
        .arg(env!("CARGO_BIN_EXE_netanvil"))
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "{said}");
}
