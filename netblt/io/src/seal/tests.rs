use super::*;
use proptest::prelude::*;

const LEN: usize = 100;

fn key(byte: u8) -> Key {
    Key([byte; 32])
}
fn client() -> SocketAddr {
    "192.0.2.1:1000".parse().unwrap()
}
fn server() -> SocketAddr {
    "192.0.2.2:20030".parse().unwrap()
}

/// What comes of a datagram: a packet, and answers.
fn give(to: &mut Seals, from: SocketAddr, datagram: &[u8]) -> (Vec<u8>, Vec<Vec<u8>>) {
    let mut datagram = datagram.to_vec();
    let opened = to.open(from, &mut datagram);
    (opened.packet.to_vec(), opened.answers)
}
fn seal(from: &mut Seals, to: SocketAddr, packet: &[u8]) -> Vec<u8> {
    from.seal(to, packet, packet.len()).unwrap().0.to_vec()
}

/// Two ends with a session, in which the client has said one thing.
fn session() -> (Seals, Seals) {
    let (mut a, mut b) = (Seals::with_key(key(1)), Seals::with_key(key(1)));
    let hello = seal(&mut a, server(), &[7; LEN]);
    assert_eq!(hello.len(), GREETING_BYTES);
    let (nothing, welcome) = give(&mut b, client(), &hello);
    assert!(nothing.is_empty());
    assert!(welcome[0].len() <= hello.len(), "nobody can have others flooded");
    let (_, sealed) = give(&mut a, server(), &welcome[0]);
    let (packet, answers) = give(&mut b, client(), &sealed[0]);
    assert_eq!((packet, answers.len()), (vec![7; LEN], 0));
    (a, b)
}

#[test]
fn packets_go_both_ways_and_nothing_of_them_can_be_read() {
    let (mut a, mut b) = session();
    for packet in [&b"to the server"[..], &[9; 1400]] {
        let sealed = seal(&mut a, server(), packet);
        assert!(!sealed.windows(packet.len()).any(|bytes| bytes == packet));
        assert_eq!(give(&mut b, client(), &sealed).0, packet);
        let back = seal(&mut b, client(), packet);
        assert_ne!(back[HEADER_BYTES..], sealed[HEADER_BYTES..], "another key");
        assert_eq!(give(&mut a, server(), &back).0, packet);
    }
    let burst = [[1; LEN], [2; LEN], [3; LEN]].concat();
    let (sealed, len) = a.seal(server(), &burst[..2 * LEN + 50], LEN).unwrap();
    let packets: Vec<Vec<u8>> = sealed.chunks(len).map(<[u8]>::to_vec).collect();
    let opened = packets.iter().map(|sealed| give(&mut b, client(), sealed).0).collect::<Vec<_>>();
    assert_eq!(opened, [vec![1; LEN], vec![2; LEN], vec![3; 50]]);
}

#[test]
fn what_came_already_does_not_come_again_neither_here_nor_in_another_session() {
    let (mut a, mut b) = session();
    let first = seal(&mut a, server(), b"first");
    let second = seal(&mut a, server(), b"second");
    assert_eq!(give(&mut b, client(), &second).0, b"second");
    assert_eq!(give(&mut b, client(), &first).0, b"first", "overtaken, not repeated");
    for repeated in [&first, &second] {
        assert_eq!(give(&mut b, client(), repeated).0, b"");
    }
    // From another address, or to a server that was started anew.
    let elsewhere = "192.0.2.9:1000".parse().unwrap();
    let third = seal(&mut a, server(), b"third");
    assert_eq!(give(&mut b, elsewhere, &third).0, b"");
    assert_eq!(give(&mut Seals::with_key(key(1)), client(), &third).0, b"");
    assert_eq!(give(&mut b, client(), &third).0, b"third", "no attempt has used it up");
}

/// A whole conversation, recorded and played to the server again: its salt is another one by then.
#[test]
fn a_recorded_conversation_opens_nothing() {
    let (mut a, mut b) = (Seals::with_key(key(1)), Seals::with_key(key(1)));
    let hello = seal(&mut a, server(), b"open");
    let (_, welcome) = give(&mut b, client(), &hello);
    let (_, sealed) = give(&mut a, server(), &welcome[0]);
    assert_eq!(give(&mut b, client(), &sealed[0]).0, b"open");

    let (_, another) = give(&mut b, client(), &hello);
    assert_ne!(another, welcome);
    assert_eq!(give(&mut b, client(), &sealed[0]).0, b"", "neither in the old session");
    let mut fresh = Seals::with_key(key(1));
    give(&mut fresh, client(), &hello);
    assert_eq!(give(&mut fresh, client(), &sealed[0]).0, b"", "nor in a new one");
    // And the living session has not suffered.
    assert_eq!(give(&mut b, client(), &seal(&mut a, server(), b"on")).0, b"on");
    assert_eq!(give(&mut a, server(), &seal(&mut b, client(), b"back")).0, b"back");
}

#[test]
fn no_bit_can_be_turned_and_nothing_cut() {
    let (mut a, mut b) = session();
    let hello = seal(&mut Seals::with_key(key(1)), server(), b"x");
    let sealed = seal(&mut a, server(), b"a packet of NETBLT");
    for good in [&hello, &sealed] {
        for bit in 0..8 * good.len() {
            let mut bad = good.clone();
            bad[bit / 8] ^= 1 << (bit % 8);
            let (packet, answers) = give(&mut b, client(), &bad);
            assert_eq!(packet, b"", "bit {bit}");
            // HELLO of another key is refused; that is no WELCOME.
            assert!(answers.iter().all(|answer| answer[3] == REFUSAL), "bit {bit}");
        }
        for len in 0..good.len() {
            let (packet, answers) = give(&mut b, client(), &good[..len]);
            assert!(packet.is_empty() && answers.is_empty(), "{len} bytes");
        }
    }
    assert_eq!(give(&mut b, client(), &sealed).0, b"a packet of NETBLT");
}

#[test]
fn who_has_another_key_or_none_is_told() {
    for (mut b, refusal) in
        [(Seals::with_key(key(2)), Refusal::OtherKey), (Seals::without_key(), Refusal::NoKey)]
    {
        let mut a = Seals::with_key(key(1));
        let hello = seal(&mut a, server(), b"open");
        let (packet, answers) = give(&mut b, client(), &hello);
        assert_eq!((packet, answers.len()), (vec![], 1));
        let mut forged = answers[0].clone();
        forged[20] ^= 1;
        give(&mut a, server(), &forged);
        assert_eq!(a.refusal(), None, "somebody who has not heard the HELLO");
        give(&mut a, server(), &answers[0]);
        assert_eq!(a.refusal(), Some(refusal));
    }
}

/// A WELCOME of somebody without the key, or to another HELLO, makes no session.
#[test]
fn a_false_server_learns_nothing() {
    let (mut a, mut b) = (Seals::with_key(key(1)), Seals::with_key(key(2)));
    let salt = salts(&seal(&mut a, server(), b"secret")).unwrap().0;
    let tagger = Tagger::of_hello(&key(2).0, &salt);
    let hello = greeting_of(HELLO, &salt, &Salt::default(), &tagger);
    let (_, welcome) = give(&mut b, client(), &hello);
    assert_eq!(welcome[0][3], WELCOME);
    assert!(give(&mut a, server(), &welcome[0]).1.is_empty());
    let again = seal(&mut a, server(), b"secret");
    assert_eq!(again[3], HELLO, "nothing leaves before there is a session");
}

#[test]
fn plain_packets_do_not_pass_and_a_plain_open_is_told_why() {
    let (_, mut b) = session();
    let header = Header::new(1500, 30);
    let open = netblt::Open {
        connection_id: 1,
        buffer_size_bytes: 1,
        transfer_size_bytes: 0,
        data_packet_size_bytes: 1,
        burst_size_packets: 1,
        burst_interval_ms: 1,
        death_timer_s: 1,
        mode: netblt::Mode::Write,
        checksum_data: false,
        max_outstanding_buffers: 1,
        client_string: "".into(),
    };
    let plain = |packet| Repr { header, packet }.to_vec();
    let (packet, answers) = give(&mut b, client(), &plain(Packet::Open(open)));
    assert_eq!(packet, b"");
    let answer = Repr::parse(&answers[0]).unwrap();
    assert_eq!((answer.header.local_port, answer.header.foreign_port), (30, 1500));
    assert!(
        matches!(answer.packet, Packet::Refused(reason) if reason.as_bytes() == KEY_NEEDED.as_bytes())
    );
    let (packet, answers) = give(&mut b, client(), &plain(Packet::Done));
    assert!(packet.is_empty() && answers.is_empty());
}

#[test]
fn strangers_cannot_fill_the_memory_nor_push_others_out() {
    let (mut a, mut b) = session();
    let hello = seal(&mut Seals::with_key(key(1)), server(), b"x");
    for port in 1..300 {
        give(&mut b, (client().ip(), port).into(), &hello);
    }
    assert!(b.sessions.len() <= MAX_UNPROVEN + 2, "{}", b.sessions.len());
    assert_eq!(give(&mut b, client(), &seal(&mut a, server(), b"on")).0, b"on");
    for port in 1..300 {
        seal(&mut a, (client().ip(), port).into(), &[0; LEN]);
        for _ in 0..20 {
            seal(&mut a, (client().ip(), port).into(), &[0; LEN]);
        }
    }
    assert!(a.greetings.len() <= MAX_UNPROVEN);
    assert!(a.greetings.values().all(|greeting| greeting.waiting.len() <= MAX_WAITING));
}

#[test]
fn keys_are_hexadecimal() {
    let digits = "00ff".repeat(16);
    assert_eq!(Key::parse(&(digits.clone() + "\n")).unwrap().0[..2], [0, 0xff]);
    for text in ["", "secret", &digits[1..], &(digits.clone() + "0"), &digits.replace('f', "g")] {
        let error = Key::parse(text).unwrap_err();
        assert!(error.contains("hexadecimal") && !error.contains("secret"), "{error}");
    }
    assert!(!format!("{:?}", key(1)).contains('1'), "a key is not printed");
}

proptest! {
    /// Whatever comes is taken calmly, and opens nothing.
    #[test]
    fn any_bytes_are_dropped(kind in 0x7eu8..0x86, rest in prop::collection::vec(any::<u8>(), 0..120)) {
        let (mut a, mut b) = session();
        for bytes in [rest.clone(), [&MAGIC[..], &[kind], &rest].concat()] {
            for seals in [&mut a, &mut b] {
                prop_assert_eq!(give(seals, client(), &bytes).0, b"");
                prop_assert_eq!(give(seals, server(), &bytes).0, b"");
            }
            let (packet, _) = give(&mut Seals::without_key(), client(), &bytes);
            prop_assert!(packet == bytes || packet.is_empty());
        }
    }
}

#[test]
fn a_key_that_has_sealed_enough_gives_way_to_another() {
    let (mut a, mut b) = session();
    let old = *a.current.get(&server()).unwrap();
    a.sessions.get_mut(&old).unwrap().sealed = session::MOST_SEALED - 1;
    let last = seal(&mut a, server(), &[1; LEN]);
    assert_eq!(give(&mut b, client(), &last).0, [1; LEN]);
    let hello = seal(&mut a, server(), &[2; LEN]);
    assert_eq!(hello.len(), GREETING_BYTES, "a new session, not one packet more of the old");
    assert_eq!(give(&mut a, server(), &seal(&mut b, client(), &[3; LEN])).0, [3; LEN], "meanwhile");
    let (_, welcome) = give(&mut b, client(), &hello);
    let (_, sealed) = give(&mut a, server(), &welcome[0]);
    assert_eq!(give(&mut b, client(), &sealed[0]).0, [2; LEN]);
    assert_ne!(a.current.get(&server()), Some(&old));
}

/// Made with Python's `cryptography` and `hmac` after docs/netblt.md.
#[test]
fn the_bytes_are_those_that_another_implementation_makes() {
    let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    let key: [u8; 32] = std::array::from_fn(|i| i as u8);
    let (client_salt, server_salt) = ([0x11; 16], [0x22; 16]);
    let tagger = Tagger::of_hello(&key, &client_salt);
    assert_eq!(
        hex(&greeting_of(HELLO, &client_salt, &Salt::default(), &tagger)),
        "4e42658011111111111111111111111111111111000000000000000000000000000000004601872b276f1186a47b13ae7bf4b3c4"
    );
    let tagger = Tagger::of_welcome(&key, &client_salt, &server_salt);
    assert_eq!(
        hex(&greeting_of(WELCOME, &client_salt, &server_salt, &tagger)),
        "4e4265811111111111111111111111111111111122222222222222222222222222222222af3f7903dd43728b1df626b26f3a6fcb"
    );
    let mut session = Session::new(&key, server(), client_salt, server_salt, true, 0);
    session.sealed = 5;
    let mut sealed = Vec::new();
    session.seal(b"a packet of NETBLT", &mut sealed);
    assert_eq!(
        hex(&sealed),
        "4e426582b5a98efb64e5faf800000000000000058f1581027e736ef9ab08727264405ce51ab91d868d90e65cb927f682d6637af0a813"
    );
}

fn by_code(text: &str) -> Seals {
    Seals::with_code(Code::parse(text).unwrap()).unwrap()
}

/// Carries datagrams to and fro until nobody answers any more; packets that came out, and the longest answer beside what
/// it answered.
fn converse(a: &mut Seals, b: &mut Seals, first: &[u8]) -> (Vec<Vec<u8>>, Vec<(usize, usize)>) {
    let mut under_way = vec![(true, first.to_vec())];
    let (mut came, mut lengths) = (Vec::new(), Vec::new());
    while let Some((to_server, datagram)) = under_way.pop() {
        let (packet, answers) = match to_server {
            true => give(b, client(), &datagram),
            false => give(a, server(), &datagram),
        };
        if !packet.is_empty() {
            came.push(packet);
        }
        for answer in answers {
            lengths.extend(to_server.then_some((datagram.len(), answer.len())));
            under_way.push((!to_server, answer));
        }
        assert!(lengths.len() < 100, "they never stop");
    }
    (came, lengths)
}

#[test]
fn a_code_leads_both_ends_to_one_key() {
    let (mut a, mut b) = (by_code("7KQM-2XWD"), by_code("7kqm2xwd"));
    let ask = seal(&mut a, server(), &[7; LEN]);
    let (came, lengths) = converse(&mut a, &mut b, &ask);
    assert_eq!(came, [vec![7; LEN]]);
    assert!(lengths.iter().all(|(asked, answered)| answered <= asked), "{lengths:?}");
    assert_eq!(give(&mut b, client(), &seal(&mut a, server(), b"on")).0, b"on");
    assert_eq!(give(&mut a, server(), &seal(&mut b, client(), b"back")).0, b"back");
    assert_eq!((a.refusal(), b.refusal()), (None, None));
}

/// Two conversations by one code have nothing in common: who learns the code later cannot open them, and neither can who
/// took part in another one.
#[test]
fn each_conversation_by_a_code_has_a_key_of_its_own() {
    let mut b = by_code("7KQM-2XWD");
    let keys: Vec<[u8; 32]> = (0..2)
        .map(|port| {
            let mut a = by_code("7KQM-2XWD");
            let from = SocketAddr::new(client().ip(), 2000 + port);
            let mut datagram = seal(&mut a, server(), b"open");
            // COOKIE, ANSWER, WELCOME.
            for _ in 0..3 {
                let answer = give(&mut b, from, &datagram).1.remove(0);
                datagram = give(&mut a, server(), &answer).1.remove(0);
            }
            assert_eq!(give(&mut b, from, &datagram).0, b"open");
            assert_eq!(a.key(server()), b.key(from));
            a.key(server()).unwrap().0
        })
        .collect();
    assert_ne!(keys[0], keys[1]);
}

#[test]
fn of_wrong_codes_each_is_counted_and_after_ten_nobody_is_answered() {
    let mut b = by_code("7KQM-2XWD");
    for guess in 1..=code::MOST_GUESSES {
        let mut a = by_code("7KQM-2XWE");
        let ask = seal(&mut a, server(), b"open");
        let (came, _) = converse(&mut a, &mut b, &ask);
        assert!(came.is_empty());
        assert_eq!(a.refusal(), Some(Refusal::OtherCode), "guess {guess}");
        assert!(seal(&mut a, server(), b"open").is_empty(), "it does not guess again by itself");
    }
    let mut a = by_code("7KQM-2XWD");
    let ask = seal(&mut a, server(), b"open");
    assert!(converse(&mut a, &mut b, &ask).0.is_empty(), "not even the right one");
    assert_eq!(a.refusal(), Some(Refusal::Burnt));
}

/// Up to the HELLO of an agreement: the client, its address, and what it would say.
fn nearly_agreed(b: &mut Seals, code: &str, port: u16) -> (Seals, SocketAddr, Vec<u8>) {
    let (mut a, from) = (by_code(code), SocketAddr::new(client().ip(), port));
    let mut datagram = seal(&mut a, server(), b"open");
    // COOKIE, ANSWER.
    for _ in 0..2 {
        let answer = give(b, from, &datagram).1.remove(0);
        datagram = give(&mut a, server(), &answer).1.remove(0);
    }
    (a, from, datagram)
}

/// Who agrees on many keys before he tries the first has no more guesses: those that were not tried are forgotten
/// with the last one. Whoever has shown the right one goes on.
#[test]
fn guesses_that_were_prepared_count_like_others() {
    let mut b = by_code("7KQM-2XWD");
    let (mut a, from, hello) = nearly_agreed(&mut b, "7KQM-2XWD", 1000);
    let welcome = give(&mut b, from, &hello).1.remove(0);
    let sealed = give(&mut a, server(), &welcome).1.remove(0);
    assert_eq!(give(&mut b, from, &sealed).0, b"open");
    let prepared: Vec<_> =
        (2000..2015).map(|port| nearly_agreed(&mut b, "7KQM-2XWE", port)).collect();
    let (_, late, right) = nearly_agreed(&mut b, "7KQM-2XWD", 3000);
    let tried = prepared
        .iter()
        .filter(|(_, from, hello)| give(&mut b, *from, hello).1[0][4] == Refusal::OtherCode.code());
    assert_eq!(tried.count(), code::MOST_GUESSES as usize);
    let answer = give(&mut b, late, &right).1.remove(0);
    assert_eq!(
        answer[3..5],
        [REFUSAL, Refusal::CodeNeeded.code()],
        "nobody knows whether it is another guess"
    );
    assert_eq!(give(&mut b, from, &seal(&mut a, server(), b"on")).0, b"on");
    assert_eq!(give(&mut b, from, &hello).1[0][3], WELCOME, "and may greet again");
}

/// Somebody else's HELLO from the address of one who had the code is no guess, and ends nothing.
#[test]
fn a_forged_hello_uses_up_no_guess() {
    let mut b = by_code("7KQM-2XWD");
    let (_, from, hello) = nearly_agreed(&mut b, "7KQM-2XWD", 1000);
    assert_eq!(give(&mut b, from, &hello).1[0][3], WELCOME);
    let forged = seal(&mut Seals::with_key(key(9)), server(), b"x");
    for _ in 0..20 {
        assert_eq!(give(&mut b, from, &forged).1[0][3], REFUSAL);
    }
    assert_eq!(give(&mut b, from, &hello).1[0][3], WELCOME);
    let (_, other, hello) = nearly_agreed(&mut b, "7KQM-2XWD", 1001);
    assert_eq!(give(&mut b, other, &hello).1[0][3], WELCOME);
}

/// A wrong code of one does not end the session of another.
#[test]
fn a_wrong_code_disturbs_nobody_else() {
    let (mut a, mut b) = (by_code("7KQM-2XWD"), by_code("7KQM-2XWD"));
    let ask = seal(&mut a, server(), b"open");
    assert_eq!(converse(&mut a, &mut b, &ask).0, [b"open"]);
    let mut stranger = by_code("AAAA-AAAA");
    let elsewhere = "192.0.2.9:1000".parse().unwrap();
    let mut datagram = seal(&mut stranger, server(), b"open");
    while let Some(answer) = give(&mut b, elsewhere, &datagram).1.pop()
        && let Some(next) = give(&mut stranger, server(), &answer).1.pop()
    {
        datagram = next;
    }
    assert_eq!(stranger.refusal(), Some(Refusal::OtherCode));
    assert_eq!(give(&mut b, client(), &seal(&mut a, server(), b"on")).0, b"on");
}

/// Before a client has shown that it is where it says, a server keeps nothing and computes nothing.
#[test]
fn strangers_cost_a_server_a_cookie_each() {
    let mut b = by_code("7KQM-2XWD");
    let ask = seal(&mut by_code("7KQM-2XWD"), server(), b"open");
    for port in 1..=2_000 {
        let from = SocketAddr::new(client().ip(), port);
        let (_, answers) = give(&mut b, from, &ask);
        assert_eq!(answers[0][3], COOKIE);
        assert!(b.key(from).is_none());
    }
    // The cookie of one address is none for another.
    let cookie = give(&mut b, client(), &ask).1.remove(0);
    let forged = [&ask[..20], &cookie[20..], &ask[52..]].concat();
    let elsewhere = "192.0.2.9:1000".parse().unwrap();
    assert_eq!(give(&mut b, elsewhere, &forged).1[0][3], COOKIE);
    assert_eq!(give(&mut b, client(), &forged).1[0][3], ANSWER);
}

/// What is lost comes again: each datagram of the agreement is lost once.
#[test]
fn an_agreement_survives_losses() {
    for lost in 0..7 {
        let (mut a, mut b) = (by_code("7KQM-2XWD"), by_code("7KQM-2XWD"));
        let (mut sent, mut came) = (0, Vec::new());
        // The layer above sends its packet again until it has arrived.
        for _ in 0..4 {
            let mut under_way = vec![(true, seal(&mut a, server(), b"open"))];
            while let Some((to_server, datagram)) = under_way.pop() {
                sent += 1;
                if sent - 1 == lost {
                    continue;
                }
                let (packet, answers) = match to_server {
                    true => give(&mut b, client(), &datagram),
                    false => give(&mut a, server(), &datagram),
                };
                came.extend((!packet.is_empty()).then_some(packet));
                under_way.extend(answers.into_iter().map(|answer| (!to_server, answer)));
            }
        }
        assert!(came.contains(&b"open".to_vec()), "datagram {lost} lost");
    }
}

#[test]
fn a_server_started_anew_agrees_again() {
    let (mut a, mut b) = (by_code("7KQM-2XWD"), by_code("7KQM-2XWD"));
    let ask = seal(&mut a, server(), b"open");
    converse(&mut a, &mut b, &ask);
    a.current.clear();
    let mut anew = by_code("7KQM-2XWD");
    for _ in 0..2 {
        let first = seal(&mut a, server(), b"open");
        converse(&mut a, &mut anew, &first);
    }
    assert_eq!(a.key(server()), anew.key(client()));
    assert_eq!(a.refusal(), None);
    // And once more: it was believed, and has had a key since.
    a.current.clear();
    let mut again = by_code("7KQM-2XWD");
    for _ in 0..2 {
        let first = seal(&mut a, server(), b"open");
        converse(&mut a, &mut again, &first);
    }
    assert_eq!((a.key(server()), a.refusal()), (again.key(client()), None));
}

/// Each HELLO tells an impostor whether it has guessed the code. It denies each key, so that another comes: six OPENs
/// are six guesses, unless it is believed once only.
#[test]
fn who_denies_every_key_gets_two_guesses_and_no_more() {
    let (mut a, mut impostor) = (by_code("7KQM-2XWD"), by_code("7KQM-2XWE"));
    let mut guesses = 0;
    for _ in 0..6 {
        let mut said = seal(&mut a, server(), b"open");
        while !said.is_empty() {
            let answer = if said[3] == HELLO {
                guesses += 1;
                impostor = by_code("7KQM-2XWF");
                [&MAGIC[..], &[REFUSAL, Refusal::CodeNeeded.code(), 0, 0, 0], &said[4..20]].concat()
            } else {
                give(&mut impostor, client(), &said).1.remove(0)
            };
            said = give(&mut a, server(), &answer).1.pop().unwrap_or_default();
        }
    }
    assert_eq!(guesses, 2);
    assert_eq!(a.refusal(), Some(Refusal::Forgetful));
}

#[test]
fn who_has_a_key_and_who_has_a_code_are_told() {
    for (mut a, mut b, refusal) in [
        (by_code("7KQM-2XWD"), Seals::with_key(key(1)), Refusal::NoCode),
        (by_code("7KQM-2XWD"), Seals::without_key(), Refusal::NoKey),
        (Seals::with_key(key(1)), by_code("7KQM-2XWD"), Refusal::CodeNeeded),
    ] {
        let first = seal(&mut a, server(), b"open");
        let (came, lengths) = converse(&mut a, &mut b, &first);
        assert!(came.is_empty());
        assert!(lengths.iter().all(|(asked, answered)| answered <= asked), "{lengths:?}");
        assert_eq!(a.refusal(), Some(refusal));
    }
}

#[test]
fn codes_are_read_as_people_write_them() {
    let code = Code::draw().unwrap();
    let text = code.to_string();
    assert_eq!(text.len(), 9);
    assert_eq!(Code::parse(&text), Ok(code.clone()));
    assert_eq!(Code::parse(&text.to_lowercase().replace('-', " ")), Ok(code));
    assert_ne!(Code::draw(), Code::draw());
    for bad in ["", "7KQM", "7KQM-2XW0", "7KQM-2XWDE", "7KQM-2XW\u{e9}", "IOIO-IOIO"] {
        assert!(Code::parse(bad).is_err(), "{bad}");
    }
    assert_eq!(
        format!("{:?}", by_code("7KQM-2XWD").secret),
        "Code(Agreements(0 keys, 0 wrong codes))"
    );
}

proptest! {
    /// Whatever comes, no code is told and nothing panics.
    #[test]
    fn any_datagram_of_an_agreement_is_survived(
        kind in 0x80u8..0x90, bytes in proptest::collection::vec(any::<u8>(), 0..120)
    ) {
        let datagram = [&MAGIC[..], &[kind], &bytes].concat();
        let mut a = by_code("7KQM-2XWD");
        seal(&mut a, server(), b"open");
        give(&mut a, server(), &datagram);
        let (packet, answers) = give(&mut by_code("7KQM-2XWD"), client(), &datagram);
        prop_assert!(packet.is_empty());
        prop_assert!(answers.iter().all(|answer| answer.len() <= datagram.len()));
    }
}
