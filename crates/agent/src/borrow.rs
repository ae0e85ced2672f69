//! Borrows a port of an agent, as a port like any other.

use crate::Session;
use crate::borrowed_port::{BorrowedControl, BorrowedLink, BorrowedPort};
use crate::message::{Answer, Command, Wanted};
use ports::{Interface, OpenPort, Opened, OpenedDevice, PortKind, PortRequest, Room, open_port_of};
use std::sync::Arc;
use trial::{Capabilities, PortDescription, TesterError};

/// Opens an interface of the agent's host as a port of this tester. It is given back when it is dropped.
///
/// # Errors
/// If the agent does not lend it, or it cannot be opened there.
pub fn borrow(session: &Arc<Session>, request: &PortRequest) -> Result<OpenPort, TesterError> {
    open_port_of(&Borrowed(session.clone()), request)
}

/// What carries the frames is decided at the agent.
struct Borrowed(Arc<Session>);

impl PortKind for Borrowed {
    fn name(&self) -> &'static str {
        "agent"
    }

    /// Those of the port are in its description.
    fn capabilities(&self) -> Capabilities {
        Capabilities::default()
    }

    fn has_interface(&self) -> bool {
        false
    }

    fn open(
        &self,
        _: &Interface,
        description: PortDescription,
        _: Room,
    ) -> Result<Opened, TesterError> {
        Err(TesterError::Unsupported {
            port: description.name,
            what: "to borrow an interface of this host".into(),
            remedy: "name it without a host".into(),
        })
    }

    fn open_device(
        &self,
        request: &PortRequest,
        _: PortDescription,
        _: Room,
    ) -> Result<OpenedDevice, TesterError> {
        let session = &self.0;
        let heard = session.hear(request.id);
        let lent = session.call(Command::Lend(Box::new(Wanted {
            id: request.id,
            interface: request.interface.clone(),
            port_type: request.port_type,
            nominal_rate: request.nominal_rate,
            largest_frame: request.largest_frame,
        })))?;
        let Answer::Lent { mut description, notes } = lent else {
            return Err(session.surprised());
        };
        let host = session.host();
        description.name = format!("{host}:{}", request.interface);
        description.driver = format!("{} on {host}", description.driver);
        let name = description.name.clone();
        Ok(OpenedDevice {
            link: Box::new(BorrowedLink::new(name, request.id, session.clone())),
            control: Box::new(BorrowedControl::new(request.id, session.clone(), heard)),
            port: Box::new(BorrowedPort::new(description, session.clone())),
            notes: notes.into_iter().map(|note| format!("{host}: {note}")).collect(),
        })
    }
}
