//! Ports of this host and of others, opened in their order.

use crate::failure::{Failure, Outcome};
use ::agent::{Certificates, Session};
use ports::{Location, OpenPort, PortRequest};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

/// Refuses ports of other hosts without certificates; what stands before the colon may be meant as a kind of port.
pub fn refuse_unproven(locations: &[Location], certificates: Option<&Path>) -> Outcome<()> {
    let unproven = || locations.iter().find_map(|at| Some((at, at.host.as_ref()?)));
    let Some((location, host)) = certificates.is_none().then(unproven).flatten() else {
        return Ok(());
    };
    Err(Failure::new(format!(
        "`{location}`: {host} is no kind of port, and a port of a host {host} needs --agent-certificates DIR"
    ))
    .help(format!(
        "`netanvil agent certificates DIR` makes them; for a port of this host {}",
        Location::examples()
    )))
}

/// Opens all: those of this host together, those of others through one session with each agent.
pub fn open(
    locations: &[Location],
    requests: &[PortRequest],
    certificates: Option<&Path>,
) -> Outcome<Vec<OpenPort>> {
    let sessions = sessions(locations, certificates)?;
    let (mut here, mut elsewhere) = (vec![], vec![]);
    for (location, request) in locations.iter().zip(requests) {
        match &location.host {
            None => here.push(request.clone()),
            Some(host) => elsewhere.push((host, request)),
        }
    }
    let mut ports = ports::open_ports(&here).map_err(Failure::new)?;
    for (host, request) in elsewhere {
        ports.push(::agent::borrow(&sessions[host], request).map_err(Failure::new)?);
    }
    ports.sort_by_key(|port| port.describe().id);
    Ok(ports)
}

fn sessions(
    locations: &[Location],
    certificates: Option<&Path>,
) -> Outcome<BTreeMap<String, Arc<Session>>> {
    let mut hosts: Vec<&String> = locations.iter().filter_map(|at| at.host.as_ref()).collect();
    hosts.sort();
    hosts.dedup();
    if hosts.is_empty() {
        return match certificates {
            None => Ok(BTreeMap::new()),
            Some(_) => Err(Failure::new("--agent-certificates, and no port is of another host")
                .help("name a port with its host, such as --ports eth1,lab-b:eth1")),
        };
    }
    refuse_unproven(locations, certificates)?;
    let Some(folder) = certificates else { return Ok(BTreeMap::new()) };
    let certificates = Certificates::of_controller(folder).map_err(Failure::new)?;
    let begin = |host: &String| {
        let session = Session::begin(host, &certificates).map_err(Failure::new)?;
        Ok((host.clone(), session))
    };
    hosts.into_iter().map(begin).collect()
}
