//! The values that a header field takes, from frame to frame.

use super::Refusal;
use crate::model::{Counter, Pattern, RandomValues};
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use serde_json::Value;
use std::net::{Ipv4Addr, Ipv6Addr};
use wire::ethernet::MacAddr;

/// More values than this no field takes.
pub const VALUES_MAX: usize = 1 << 16;

/// What a field holds.
#[derive(Clone, PartialEq, Debug)]
pub enum Values {
    /// These in turn: that of frame `n` is number `n mod len`.
    Listed(Vec<u128>),
    /// What the sender works out: a length, a checksum, the next protocol.
    Auto,
    /// A checksum that is wrong on purpose.
    Bad,
}

impl Values {
    /// That of frame `n`, where it is listed.
    pub fn of_frame(&self, n: u64) -> Option<u128> {
        match self {
            Values::Listed(values) => Some(values[(n % values.len() as u64) as usize]),
            Values::Auto | Values::Bad => None,
        }
    }

    /// After how many frames the values repeat.
    pub fn period(&self) -> u64 {
        match self {
            Values::Listed(values) => values.len() as u64,
            Values::Auto | Values::Bad => 1,
        }
    }

    /// Of a pattern of a field that is `bits` wide.
    ///
    /// # Errors
    /// Where there are no values, too many, or some that do not fit.
    pub fn of(pattern: &Pattern, bits: u32, path: &str) -> Result<Values, Refusal> {
        let refuse = |what: String| Refusal::new(path, what);
        let listed = match pattern.choice.as_str() {
            "auto" if pattern.auto.as_ref().is_some_and(Value::is_object) => {
                return Err(refuse("netanvil has no DHCP client; give the address".into()));
            }
            "auto" => return Ok(Values::Auto),
            "generated" => {
                let is_bad = pattern.generated.as_deref() == Some("bad");
                return Ok(if is_bad { Values::Bad } else { Values::Auto });
            }
            "value" => vec![scalar(pattern.value.as_ref(), path)?],
            "custom" => vec![scalar(pattern.custom.as_ref(), path)?],
            "values" => {
                let values = pattern.values.iter().flatten();
                values.map(|value| scalar(Some(value), path)).collect::<Result<_, _>>()?
            }
            "increment" => counted(pattern.increment.as_ref(), bits, (path, true))?,
            "decrement" => counted(pattern.decrement.as_ref(), bits, (path, false))?,
            "random" => random(pattern.random.as_ref(), path)?,
            other => return Err(refuse(format!("netanvil does not support `{other}`"))),
        };
        if listed.is_empty() {
            return Err(refuse("there is no value; give one or more".into()));
        }
        if listed.len() > VALUES_MAX {
            return Err(refuse(format!(
                "{} values; at most {VALUES_MAX} are possible",
                listed.len()
            )));
        }
        match listed.iter().find(|value| bits < 128 && **value >> bits != 0) {
            Some(value) => Err(refuse(format!("{value} does not fit into {bits} bits"))),
            None => Ok(Values::Listed(listed)),
        }
    }
}

/// A number, a MAC address or an IP address, as a number.
fn scalar(value: Option<&Value>, path: &str) -> Result<u128, Refusal> {
    let number = value.and_then(|value| match value {
        Value::Number(number) => number.as_u64().map(u128::from),
        Value::String(text) => address(text).or_else(|| text.parse().ok()),
        _ => None,
    });
    number.ok_or_else(|| Refusal::new(path, "there is no value".into()))
}

fn address(text: &str) -> Option<u128> {
    let mac = || text.parse().ok().map(mac_number);
    let ipv4 = || text.parse::<Ipv4Addr>().ok().map(|ip| ip.to_bits().into());
    let ipv6 = || text.parse::<Ipv6Addr>().ok().map(Ipv6Addr::to_bits);
    ipv4().or_else(mac).or_else(ipv6)
}

/// A hardware address as a number of 48 bits.
pub fn mac_number(MacAddr(octets): MacAddr) -> u128 {
    octets.iter().fold(0, |number, octet| number << 8 | u128::from(*octet))
}

/// `count` values from `start`, up or down; beyond the last value of the field they begin anew.
fn counted(
    counter: Option<&Counter>,
    bits: u32,
    (path, up): (&str, bool),
) -> Result<Vec<u128>, Refusal> {
    let missing = || Refusal::new(path, "the counter is missing".into());
    let counter = counter.ok_or_else(missing)?;
    if counter.count as usize > VALUES_MAX {
        let what = format!("count is {}; at most {VALUES_MAX} is possible", counter.count);
        return Err(Refusal::new(path, what));
    }
    let (start, step) = (scalar(Some(&counter.start), path)?, scalar(Some(&counter.step), path)?);
    let mask = if bits >= 128 { u128::MAX } else { (1 << bits) - 1 };
    let value = |k: u32| {
        let distance = step.wrapping_mul(k.into());
        let value = if up { start.wrapping_add(distance) } else { start.wrapping_sub(distance) };
        value & mask
    };
    Ok((0..counter.count).map(value).collect())
}

fn random(random: Option<&RandomValues>, path: &str) -> Result<Vec<u128>, Refusal> {
    let random = random.ok_or_else(|| Refusal::new(path, "the range is missing".into()))?;
    let (least, most) = (scalar(Some(&random.min), path)?, scalar(Some(&random.max), path)?);
    if least > most {
        return Err(Refusal::new(path, format!("min ({least}) is above max ({most})")));
    }
    if random.count as usize > VALUES_MAX {
        let what = format!("count is {}; at most {VALUES_MAX} is possible", random.count);
        return Err(Refusal::new(path, what));
    }
    let mut dice = Xoshiro256PlusPlus::seed_from_u64(random.seed.into());
    let values = (0..random.count).map(|_| {
        let drawn = u128::from(dice.next_u64()) << 64 | u128::from(dice.next_u64());
        match (most - least).checked_add(1) {
            Some(range) => least + drawn % range,
            None => drawn,
        }
    });
    Ok(values.collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn of(pattern: Value, bits: u32) -> Result<Values, Refusal> {
        Values::of(&serde_json::from_value(pattern).unwrap(), bits, "field")
    }

    #[test]
    fn frame_n_has_value_n_mod_count() {
        let counting =
            json!({"choice": "increment", "increment": {"start": 65534, "step": 1, "count": 3}});
        assert_eq!(of(counting, 16).unwrap(), Values::Listed(vec![65_534, 65_535, 0]));
        let down = json!({"choice": "decrement",
            "decrement": {"start": "10.0.0.1", "step": "0.0.1.0", "count": 2}});
        let values = of(down, 32).unwrap();
        assert_eq!(values.of_frame(0), Some(0x0a00_0001));
        assert_eq!(values.of_frame(3), Some(0x09ff_ff01));
    }

    #[test]
    fn a_value_that_does_not_fit_is_refused() {
        let error = of(json!({"choice": "value", "value": 16}), 4).unwrap_err();
        assert_eq!(error.to_string(), "field: 16 does not fit into 4 bits");
        assert!(of(json!({"choice": "values", "values": []}), 4).is_err());
        assert!(
            of(json!({"choice": "increment", "increment": {"start": 0, "step": 1, "count": 0}}), 4)
                .is_err()
        );
    }

    #[test]
    fn random_values_are_within_their_range_and_the_same_for_a_seed() {
        let random = |seed| json!({"choice": "random", "random": {"min": 5, "max": 9, "seed": seed, "count": 200}});
        let Values::Listed(values) = of(random(1), 16).unwrap() else { panic!("listed") };
        assert!(values.iter().all(|value| (5..=9).contains(value)));
        assert!((5..=9).all(|value| values.contains(&value)));
        assert_eq!(of(random(1), 16), of(random(1), 16));
        assert_ne!(of(random(1), 16), of(random(2), 16));
        let all = json!({"choice": "random", "random": {"min": "::", "max":
            "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "seed": 1, "count": 2}});
        assert!(of(all, 128).is_ok());
    }
}
