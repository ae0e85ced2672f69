//! Colours: told apart by people who see colours differently (Okabe and Ito's set), never the
//! only sign of anything, and of two themes.

use plotters::style::RGBColor;

/// A colour by what it stands for. Drawn charts carry the light theme's value in their
/// attributes; the style sheet maps it to the reader's theme.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Ink {
    Text,
    Axis,
    Grid,
    Theoretical,
    Tester,
    Device,
    NoLoss,
    Loss,
    Invalid,
    /// Of one of several like series.
    Series(usize),
}

/// (light, dark), for [`Ink::Series`]; none of them orange, which is the tester's.
const SERIES: [(u32, u32); 8] = [
    (0x0072B3, 0x56B4E8),
    (0x009E74, 0x2CC79C),
    (0xB0508A, 0xE18ABF),
    (0x6A3D9A, 0xB9A0E8),
    (0x3F3F46, 0xD4D4D8),
    (0x8C7500, 0xF0D541),
    (0x2EA3D5, 0x9AD6F7),
    (0x5C4033, 0xB9998A),
];

impl Ink {
    /// Red, green, blue in the light and in the dark theme. The light values differ from each
    /// other, since a chart's lines are told apart by them.
    const fn themes(self) -> (u32, u32) {
        match self {
            Ink::Text => (0x1F2329, 0xE4E7EB),
            Ink::Axis => (0x8B939E, 0x7B8490),
            Ink::Grid => (0xE3E6EA, 0x30363D),
            Ink::Theoretical => (0x6B7280, 0x9CA3AF),
            Ink::Tester => (0xC2570B, 0xFF9A56),
            Ink::Device => (0x0B5FA6, 0x58A6FF),
            Ink::NoLoss => (0x0B7F5C, 0x3FCF9E),
            Ink::Loss => (0xB7791F, 0xF0B94A),
            Ink::Invalid => (0xB3261E, 0xFF7B72),
            Ink::Series(number) => SERIES[number % SERIES.len()],
        }
    }

    /// For the plotting library.
    pub fn rgb(self) -> RGBColor {
        let [_, red, green, blue] = self.themes().0.to_be_bytes();
        RGBColor(red, green, blue)
    }

    /// As the plotting library writes it into the drawing.
    pub fn light(self) -> String {
        format!("#{:06X}", self.themes().0)
    }

    fn all() -> impl Iterator<Item = Ink> {
        let named = [Ink::Text, Ink::Axis, Ink::Grid, Ink::Theoretical, Ink::Tester, Ink::Device];
        let verdicts = [Ink::NoLoss, Ink::Loss, Ink::Invalid];
        named.into_iter().chain(verdicts).chain((0..SERIES.len()).map(Ink::Series))
    }

    /// Rules that give drawings the dark theme's colours, to stand within its media query.
    pub fn dark_rules() -> String {
        let rule = |ink: Ink| {
            let (light, dark) = (ink.light(), ink.themes().1);
            format!(
                ".plot [stroke=\"{light}\"]{{stroke:#{dark:06X}}}\
                 .plot [fill=\"{light}\"]{{fill:#{dark:06X}}}\n"
            )
        };
        Ink::all().map(rule).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_inks_are_drawn_alike() {
        let mut drawn: Vec<String> = Ink::all().map(Ink::light).collect();
        let count = drawn.len();
        drawn.sort();
        drawn.dedup();
        assert_eq!(drawn.len(), count);
    }

    /// Lines of the theory, of the tester and of the device share a chart, in both themes.
    #[test]
    fn no_device_is_drawn_like_the_tester_or_the_theory() {
        let apart = |a: u32, b: u32| {
            let channel = |shift: u32| f64::from(a >> shift & 0xff) - f64::from(b >> shift & 0xff);
            [0, 8, 16].map(channel).iter().map(|by| by * by).sum::<f64>().sqrt()
        };
        for other in [Ink::Tester, Ink::Theoretical].map(Ink::themes) {
            for series in SERIES {
                let (light, dark) = (apart(series.0, other.0), apart(series.1, other.1));
                assert!(light > 55.0 && dark > 40.0, "{series:06X?} and {other:06X?}");
            }
        }
    }
}
