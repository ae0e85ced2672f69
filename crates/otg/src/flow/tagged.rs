//! Frames of a device in a VLAN carry its tags.

use super::Refusal;
use super::header::{Field, Header, Kind};
use super::values::Values;
use wire::vlan::Tag;

/// Puts the tags of the sender behind the first Ethernet header. Where the flow has as many tags of its own, what it
/// leaves out of them is the sender's.
///
/// # Errors
/// Where the flow has another number of tags.
pub fn carry(headers: &mut Vec<Header>, tags: &[Tag], path: &str) -> Result<(), Refusal> {
    let (Some(first), false) = (headers.first(), tags.is_empty()) else { return Ok(()) };
    if first.kind != Kind::Ethernet {
        return Ok(());
    }
    let own = headers[1..].iter().take_while(|header| header.kind == Kind::Vlan).count();
    if own != 0 && own != tags.len() {
        let what = format!(
            "{own} vlan headers; the frames of its device have {} tags: give as many, or none",
            tags.len()
        );
        return Err(Refusal::new(&format!("{path}.packet[1]"), what));
    }
    if own == 0 {
        let path = headers[0].path.clone();
        let made = tags.iter().map(|tag| header_of(tag, &path));
        headers.splice(1..1, made.collect::<Vec<_>>());
    }
    // The type of each tag is the last field of the header before it.
    for (at, tag) in tags.iter().enumerate() {
        let name = if at == 0 { "ether_type" } else { "tpid" };
        fill(&mut headers[at], name, tag.tpid.0.into());
        fill(&mut headers[at + 1], "id", tag.id.into());
    }
    Ok(())
}

fn fill(header: &mut Header, name: &str, value: u128) {
    let field = header.field_mut(name).filter(|field| field.values == Values::Auto);
    if let Some(field) = field {
        field.values = Values::Listed(vec![value]);
    }
}

fn header_of(tag: &Tag, path: &str) -> Header {
    let field = |name, bits, values| Field { name, bits, values };
    let priority = Values::Listed(vec![tag.priority.into()]);
    let fields = vec![
        field("priority", 3, priority),
        field("cfi", 1, Values::Listed(vec![0])),
        field("id", 12, Values::Auto),
        field("tpid", 16, Values::Auto),
    ];
    Header { kind: Kind::Vlan, fields, bytes: vec![], path: path.into() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wire::ethernet::EtherType;

    fn ethernet() -> Header {
        let field = |name, bits| Field { name, bits, values: Values::Auto };
        let fields = vec![field("dst", 48), field("src", 48), field("ether_type", 16)];
        Header { kind: Kind::Ethernet, fields, bytes: vec![], path: "packet[0]".into() }
    }

    fn values(header: &Header, name: &str) -> Values {
        header.field(name).unwrap().values.clone()
    }

    #[test]
    fn tags_follow_the_addresses_and_the_flows_own_win() {
        let outer = Tag { tpid: EtherType::SERVICE_VLAN, priority: 5, id: 100 };
        let inner = Tag { tpid: EtherType::VLAN, priority: 0, id: 7 };
        let listed = |value| Values::Listed(vec![value]);
        let mut headers = vec![ethernet()];
        carry(&mut headers, &[outer, inner], "flows[0]").unwrap();
        assert_eq!(headers.len(), 3);
        assert_eq!(values(&headers[0], "ether_type"), listed(0x88a8));
        assert_eq!(values(&headers[1], "tpid"), listed(0x8100));
        assert_eq!(
            (values(&headers[1], "id"), values(&headers[2], "id")),
            (listed(100), listed(7))
        );
        assert_eq!(values(&headers[1], "priority"), listed(5));
        assert_eq!(values(&headers[2], "tpid"), Values::Auto);
        // The flow's own identifier is sent, and its own priority.
        let mut own = vec![ethernet(), header_of(&inner, "packet[1]")];
        own[1].field_mut("id").unwrap().values = listed(9);
        carry(&mut own, &[outer], "flows[0]").unwrap();
        assert_eq!((own.len(), values(&own[1], "id")), (2, listed(9)));
        assert_eq!(values(&own[0], "ether_type"), listed(0x88a8));
        let refused = carry(&mut own, &[outer, inner], "flows[0]").unwrap_err().to_string();
        assert!(refused.starts_with("flows[0].packet[1]: 1 vlan headers"), "{refused}");
        let mut plain = vec![ethernet()];
        carry(&mut plain, &[], "flows[0]").unwrap();
        assert_eq!(plain, [ethernet()]);
    }
}
