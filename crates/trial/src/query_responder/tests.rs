//! What hosts of each version answer, and when.

use super::*;
use std::net::{Ipv4Addr, Ipv6Addr};
use wire::igmp::V3Query;
use wire::mld::V2Query;

const HOST: (MacAddr, Ipv4Addr) = (MacAddr([2, 0, 0, 0, 0, 2]), Ipv4Addr::new(198, 19, 1, 2));
const ROUTER: (MacAddr, Ipv4Addr) = (MacAddr([2, 0, 0, 0, 0, 1]), Ipv4Addr::new(198, 19, 1, 1));
const GROUP: Ipv4Addr = Ipv4Addr::new(239, 1, 2, 3);
const OTHER: Ipv4Addr = Ipv4Addr::new(239, 1, 2, 4);
const GROUP_V6: Ipv6Addr = Ipv6Addr::new(0xff15, 0, 0, 0, 0, 0, 1, 3);

fn v6(mac: MacAddr) -> (MacAddr, Ipv6Addr) {
    (mac, wire::ipv6::link_local(mac))
}

fn at(ms: u64) -> Instant {
    Instant::ZERO + Duration::from_ms(ms)
}

fn general(version: u8, tenths: u8) -> Vec<u8> {
    specific(version, tenths, Ipv4Addr::UNSPECIFIED, vec![])
}

fn specific(version: u8, tenths: u8, group: Ipv4Addr, sources: Vec<Ipv4Addr>) -> Vec<u8> {
    let query = match version {
        1 | 2 => igmp::Repr::Query { max_response_tenths: tenths, group },
        _ => igmp::Repr::V3Query(V3Query {
            max_response_code: tenths,
            group,
            suppress: false,
            robustness: 2,
            interval_code: 125,
            sources,
        }),
    };
    query.frame(ROUTER)
}

fn general_v6(version: u8, ms: u16) -> Vec<u8> {
    let group = Ipv6Addr::UNSPECIFIED;
    let query = match version {
        1 => mld::Repr::Query { max_response_ms: ms, group },
        _ => mld::Repr::V2Query(V2Query {
            max_response_code: ms,
            group,
            suppress: false,
            robustness: 2,
            interval_code: 125,
            sources: vec![],
        }),
    };
    query.frame(v6(ROUTER.0))
}

fn with(said: &[igmp::Repr]) -> QueryResponder {
    let mut responder = QueryResponder::new(1);
    said.iter().for_each(|message| responder.note_sent(at(0), &message.frame(HOST)));
    responder
}

/// Everything that is answered by `until`, as messages.
fn answers(responder: &mut QueryResponder, until: Instant) -> Vec<Message> {
    let frames = std::iter::from_fn(|| responder.answer(until));
    frames.map(|frame| group_message::parse(&frame).expect("a message").message).collect()
}

fn is_exclude(groups: &[Ipv4Addr]) -> Message {
    let (kind, sources) = (RecordKind::IS_EXCLUDE, vec![]);
    let record = |group: &Ipv4Addr| igmp::Record { kind, group: *group, sources: sources.clone() };
    Message::Igmp(igmp::Repr::V3Report { records: groups.iter().map(record).collect() })
}

/// RFC 3376 section 7.2.1, RFC 2236 section 4: a host answers as the older of both speaks.
#[test]
fn a_host_answers_in_the_older_of_its_version_and_the_querys() {
    let group = GROUP;
    let (v1, v2) = (igmp::Repr::V1Report { group }, igmp::Repr::V2Report { group });
    let v3 = igmp::Repr::v3_join(group);
    for (said, queried, expected) in [
        (&v2, 1, Message::Igmp(v1.clone())),
        (&v2, 2, Message::Igmp(v2.clone())),
        (&v2, 3, Message::Igmp(v2.clone())),
        (&v3, 2, Message::Igmp(v2.clone())),
        (&v3, 3, is_exclude(&[group])),
    ] {
        let mut responder = with(std::slice::from_ref(said));
        responder.hear(at(0), &general(queried, if queried == 1 { 0 } else { 10 }));
        assert_eq!(answers(&mut responder, at(10_000)), [expected], "{said:?}, version {queried}");
        assert_eq!(responder.counts(), QueryCounts { queries: 1, reports: 1, due: 0 });
    }
}

/// RFC 1112 appendix I: silence is how such a host leaves.
#[test]
fn hosts_of_the_first_version_leave_by_silence() {
    let mut responder = with(&[igmp::Repr::V1Report { group: GROUP }]);
    responder.hear(at(0), &general(1, 0));
    responder.hear(at(0), &general(2, 10));
    assert_eq!(answers(&mut responder, at(20_000)), []);
}

#[test]
fn listeners_of_ipv6_answer_queries_of_ipv6_alone() {
    let joins = [
        (1, mld::Repr::Report { group: GROUP_V6 }, mld::Repr::Report { group: GROUP_V6 }),
        (2, mld::Repr::v2_join(GROUP_V6), {
            let (kind, sources) = (RecordKind::IS_EXCLUDE, vec![]);
            mld::Repr::V2Report { records: vec![mld::Record { kind, group: GROUP_V6, sources }] }
        }),
    ];
    for (version, join, expected) in joins {
        let mut responder = with(&[]);
        responder.note_sent(at(0), &join.frame(v6(HOST.0)));
        responder.hear(at(0), &general(2, 10));
        assert_eq!(answers(&mut responder, at(10_000)), []);
        responder.hear(at(0), &general_v6(version, 1_000));
        assert_eq!(answers(&mut responder, at(1_000)), [Message::Mld(expected)]);
    }
}

/// RFC 2236 section 3: each group's report comes within the time that the query allows.
#[test]
fn answers_to_a_general_query_are_spread_over_the_time_allowed() {
    let said: Vec<igmp::Repr> = (0..100u32)
        .map(|n| igmp::Repr::V2Report { group: Ipv4Addr::from_bits(GROUP.to_bits() + n) })
        .collect();
    let mut responder = with(&said);
    responder.hear(at(500), &general(2, 10));
    assert_eq!(answers(&mut responder, at(499)), []);
    // A hundred reports in a second, one in each 10 ms.
    let halfway = answers(&mut responder, at(1_000)).len();
    assert!((49..=51).contains(&halfway), "{halfway}");
    assert_eq!(halfway + answers(&mut responder, at(1_500)).len(), 100);
    assert_eq!(responder.next_due(), None);
}

/// RFC 3376 section 4.2.16: as many records as fit the MTU, here 183.
#[test]
fn groups_share_reports_of_the_newest_version() {
    let records = (0..400u32).map(|n| igmp::Record {
        kind: RecordKind::TO_EXCLUDE,
        group: Ipv4Addr::from_bits(GROUP.to_bits() + n),
        sources: vec![],
    });
    let mut responder = with(&[igmp::Repr::V3Report { records: records.collect() }]);
    responder.hear(at(0), &general(3, 10));
    let counts: Vec<usize> = answers(&mut responder, at(1_000))
        .into_iter()
        .map(|message| match message {
            Message::Igmp(igmp::Repr::V3Report { records }) => records.len(),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(counts, [183, 183, 34]);
}

#[test]
fn a_group_that_was_left_is_answered_for_no_longer() {
    let group = GROUP;
    let joins = [igmp::Repr::V2Report { group }, igmp::Repr::V2Report { group: OTHER }];
    let mut responder = with(&joins);
    responder.hear(at(0), &general(2, 100));
    responder.note_sent(at(0), &igmp::Repr::Leave { group }.frame(HOST));
    let rest = [Message::Igmp(igmp::Repr::V2Report { group: OTHER })];
    assert_eq!(answers(&mut responder, at(10_000)), rest);
    // The last member's querier asks for the group: nobody is left (RFC 2236 section 3).
    responder.hear(at(10_000), &specific(2, 10, group, vec![]));
    assert_eq!(answers(&mut responder, at(20_000)), []);
    responder.hear(at(20_000), &specific(2, 10, OTHER, vec![]));
    assert_eq!(answers(&mut responder, at(21_000)), rest);
}

/// RFC 3376 section 5.2, rule 5 with the table of a group-and-source-specific query.
#[test]
fn a_query_of_sources_is_answered_with_those_that_are_wanted() {
    let [a, b, c] = [1, 2, 3].map(|n| Ipv4Addr::new(198, 18, 1, n));
    let record = |kind, sources| igmp::Repr::V3Report {
        records: vec![igmp::Record { kind, group: GROUP, sources }],
    };
    let wants = |sources| Message::Igmp(record(RecordKind::IS_INCLUDE, sources));
    for (said, expected) in [
        (record(RecordKind::TO_EXCLUDE, vec![]), vec![wants(vec![a, b])]),
        (record(RecordKind::TO_EXCLUDE, vec![a]), vec![wants(vec![b])]),
        (record(RecordKind::ALLOW_SOURCES, vec![b, c]), vec![wants(vec![b])]),
        (record(RecordKind::ALLOW_SOURCES, vec![c]), vec![]),
    ] {
        let mut responder = with(&[said]);
        responder.hear(at(0), &specific(3, 10, GROUP, vec![a, b]));
        assert_eq!(answers(&mut responder, at(1_000)), expected);
    }
}

/// RFC 2236 section 3: a running timer is set anew only where less time is left by the new query.
#[test]
fn queries_that_follow_fast_are_answered_once() {
    let mut responder = with(&[igmp::Repr::V2Report { group: GROUP }]);
    (0..5).for_each(|n| responder.hear(at(n), &general(2, 100)));
    (0..5).for_each(|n| responder.hear(at(n), &specific(2, 100, GROUP, vec![])));
    assert_eq!(answers(&mut responder, at(10_005)).len(), 2, "one for each kind of query");
    responder.hear(at(20_000), &general(2, 100));
    responder.hear(at(20_000), &general(2, 1));
    assert_eq!(answers(&mut responder, at(20_100)).len(), 1, "the second allows 0.1 s");
    assert_eq!(answers(&mut responder, at(40_000)).len(), 0);
}

#[test]
fn a_report_of_a_trial_counts_from_its_departure() {
    let mut responder = with(&[]);
    let join = igmp::Repr::V2Report { group: GROUP };
    let leave = igmp::Repr::Leave { group: GROUP };
    responder.plan(at(0), [(at(1_000), join.frame(HOST)), (at(3_000), leave.frame(HOST))]);
    for (ms, expected) in [(500, 0), (2_000, 1), (4_000, 0)] {
        responder.hear(at(ms), &general(2, 1));
        assert_eq!(answers(&mut responder, at(ms + 100)).len(), expected, "at {ms} ms");
    }
}

#[test]
fn a_trial_that_was_cut_short_never_said_the_rest() {
    let mut responder = with(&[]);
    let join = igmp::Repr::V2Report { group: GROUP };
    responder.plan(at(0), [(at(1_000), join.frame(HOST))]);
    responder.plan(at(500), []);
    responder.hear(at(2_000), &general(2, 1));
    assert_eq!(answers(&mut responder, at(3_000)), []);
}

#[test]
fn a_host_in_a_vlan_answers_there() {
    let mut responder = with(&[]);
    let join = igmp::Repr::V2Report { group: GROUP }.frame(HOST);
    responder.note_sent(at(0), &vlan::tag(join, &[100]));
    responder.hear(at(0), &general(2, 1));
    let answer = group_message::parse(&responder.answer(at(100)).unwrap()).unwrap();
    assert_eq!((answer.vlans, answer.mac), (vec![100], HOST.0));
}
