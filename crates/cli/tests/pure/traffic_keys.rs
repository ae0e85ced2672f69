//! Keys that change traffic while it is sent, typed at a terminal.

use crate::common::Scratch;
use crate::common::terminal::Terminal;

#[test]
fn keys_change_the_load_pause_and_end() {
    let scratch = Scratch::new();
    scratch.file("two.toml", "[[stream]]\nname = \"a\"\nweight = 3\n[[stream]]\nname = \"b\"\n");
    let load = "traffic --sim router --streams two.toml --rate 1kpps --duration forever";
    let mut terminal = Terminal::start(&scratch.command(load));
    terminal.read_until(" 1s ");
    // A key of no meaning does nothing.
    terminal.press("x*");
    terminal.read_until("now 2 kpps");
    terminal.press("2");
    terminal.read_until("now 1.5 kpps");
    terminal.press("9p");
    terminal.read_until("paused");
    terminal.press("p");
    terminal.read_until("0   16");
    terminal.press("q");
    terminal.read_until("tester     kept up");
    assert!(terminal.seen.contains("stretches"), "{}", terminal.seen);
    assert_eq!(terminal.child.wait().unwrap().code(), Some(0));
}
