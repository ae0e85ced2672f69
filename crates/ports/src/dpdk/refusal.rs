//! Why a device could not be attached, in words for the user: pure.

use super::arguments::DeviceArguments;
use super::missing::package_of_driver;
use std::io;
use trial::TesterError;

/// The step of the shim that takes memory for frames.
const FRAMES: &str = "reserve memory for frames";
/// What DPDK says where no driver knows a device.
const NO_DRIVER: &str = "failed to parse device";

/// The error for a device that could not be attached: the step that failed, and what DPDK said of it.
pub(super) fn of(
    arguments: &DeviceArguments,
    step: &str,
    error: &io::Error,
    said: &str,
) -> TesterError {
    let (name, driver) = (&arguments.name, arguments.driver());
    let detail = if said.contains(NO_DRIVER) {
        format!(
            "DPDK has no driver {driver} here; check the name, or apt install {}",
            package_of_driver(driver)
        )
    } else if error.raw_os_error() == Some(libc::EEXIST) {
        format!(
            "{name} is the name of another port already; number virtual devices, as in {driver}0 and {driver}1"
        )
    } else if is_permission(error, said) {
        format!("{}; run as root, or allow what it needs ({said})", words(error))
    } else if error.raw_os_error() == Some(libc::ENOMEM) && step == FRAMES {
        format!(
            "no memory is left for its frames ({said}); reserve huge pages: sysctl vm.nr_hugepages=512"
        )
    } else if is_nobody(arguments, said) {
        format!("{} ({said})", arguments.why_no_link())
    } else {
        format!("{} ({step}): {said}", words(error))
    };
    TesterError::System { what: format!("open port dpdk:{}", arguments.whole), detail }
}

fn words(error: &io::Error) -> String {
    match error.raw_os_error() {
        // Drivers return -1 where they have no better number: it means nothing.
        Some(libc::EPERM) => "its driver cannot use it".into(),
        _ => error.to_string(),
    }
}

fn is_permission(error: &io::Error, said: &str) -> bool {
    let says = |text: &str| said.to_ascii_lowercase().contains(text);
    error.raw_os_error() == Some(libc::EACCES)
        || says("permission denied")
        || says("operation not permitted")
}

fn is_nobody(arguments: &DeviceArguments, said: &str) -> bool {
    let words: &[&str] = match arguments.served_socket() {
        // Whoever ended the wait for a far end has hung up (`Awaited`).
        Some(_) => &["Failed to set backend owner"],
        None => &["No such file", "Connection refused"],
    };
    arguments.driver() == "net_virtio_user" && words.iter().any(|words| said.contains(words))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(device: &str, errno: i32, said: &str) -> String {
        let arguments = DeviceArguments::parse(device).unwrap();
        of(&arguments, "attach the device", &io::Error::from_raw_os_error(errno), said).to_string()
    }

    /// What DPDK 22.11 says in each case.
    #[test]
    fn each_cause_has_its_remedy() {
        let said = "EAL: failed to parse device \"net_foo0\"";
        let error = refusal("net_foo0", libc::EFAULT, said);
        assert!(
            error.contains("no driver net_foo") && error.contains("librte-net-foo23"),
            "{error}"
        );
        let error = refusal("net_ring0", libc::EEXIST, "");
        assert!(error.contains("another port already") && error.contains("net_ring1"), "{error}");
        let said = "vhost_user_setup(): connect error, No such file or directory";
        let error = refusal("net_virtio_user0,path=/tmp/none", libc::EPERM, said);
        assert!(error.contains("start the device") && error.contains("/tmp/none"), "{error}");
        let said = "vhost_user_write(): Failed to send msg: Broken pipe; vhost_user_set_owner(): Failed to set owner; \
                    virtio_user_dev_init(): (/tmp/s) Failed to set backend owner";
        let error = refusal("net_virtio_user0,path=/tmp/s,server=1", libc::EPERM, said);
        assert!(error.contains("nobody has connected") && error.contains("/tmp/s"), "{error}");
        let said = "net_af_packet0: could not open AF_PACKET socket: Operation not permitted";
        let error = refusal("net_af_packet0,iface=lo", libc::EPERM, said);
        assert!(error.contains("run as root"), "{error}");
        let said = "memif_set_role(): Unknown role: wrong.";
        let error = refusal("net_memif0,role=wrong", libc::EPERM, said);
        assert!(
            error.contains("Unknown role: wrong") && !error.contains("not permitted"),
            "{error}"
        );
    }
}
