//! Which package has a library or a driver of DPDK that is missing: pure.

/// The version of DPDK's binary interface that packages carry in their names (22.11).
const ABI: &str = "23";

/// What the loader says of a missing library, with the package that has it.
pub(super) fn in_words(loader: &str) -> String {
    match library(loader).and_then(package) {
        Some(package) => {
            format!("DPDK's libraries are not installed ({loader}); apt install {package}")
        }
        None => format!("DPDK's libraries cannot be loaded: {loader}"),
    }
}

/// The library that a message of the loader begins with, without its folder.
fn library(loader: &str) -> Option<&str> {
    let path = loader.split(": ").find(|part| part.contains(".so"))?;
    path.rsplit('/').next()
}

/// Debian's package of a library: `librte_ethdev.so.23` is in `librte-ethdev23`.
fn package(library: &str) -> Option<String> {
    let (name, version) = library.split_once(".so.")?;
    let name = name.strip_prefix("librte_")?;
    let version = version.split('.').next()?;
    Some(format!("librte-{}{version}", name.replace('_', "-")))
}

/// Debian's package of a driver: `net_memif` is in `librte-net-memif23`.
pub(super) fn package_of_driver(driver: &str) -> String {
    // One library has both virtio drivers.
    let library = match driver {
        "net_virtio_user" => "net_virtio",
        driver => driver,
    };
    format!("librte-{}{ABI}", library.replace('_', "-"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The text of glibc's loader.
    #[test]
    fn a_missing_library_names_its_package() {
        let said = "librte_ethdev.so.23: cannot open shared object file: No such file or directory";
        let words = in_words(said);
        assert!(words.contains("apt install librte-ethdev23"), "{words}");
        let short = "/usr/lib/x86_64-linux-gnu/librte_eal.so.23: file too short";
        assert!(in_words(short).contains("apt install librte-eal23"));
        let other = in_words("/proc/self/fd/3: undefined symbol: rte_foo");
        assert!(other.contains("cannot be loaded") && other.contains("rte_foo"), "{other}");
    }

    /// `dpkg -S librte_net_memif.so.23` and `librte_net_virtio.so.23`, Debian 12.
    #[test]
    fn drivers_are_in_packages_of_their_own() {
        assert_eq!(package_of_driver("net_memif"), "librte-net-memif23");
        assert_eq!(package_of_driver("net_virtio_user"), "librte-net-virtio23");
        assert_eq!(package_of_driver("net_af_packet"), "librte-net-af-packet23");
    }
}
