//! What the tests of several protocols share.

/// The bytes of a hexadecimal dump; spaces and line breaks are for the eye.
pub(crate) fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<char> = text.chars().filter(|c| !c.is_whitespace()).collect();
    assert!(digits.len().is_multiple_of(2), "half a byte in {text}");
    let byte = |pair: &[char]| u8::from_str_radix(&pair.iter().collect::<String>(), 16);
    digits.chunks(2).map(|pair| byte(pair).expect("hexadecimal digits")).collect()
}
