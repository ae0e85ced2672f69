//! `report.html`: one page that needs nothing but itself. Its tables are those of the terminal,
//! its charts are drawn from the same values, and everything in it is escaped.

mod axis;
mod balance;
mod bars;
mod chart;
mod courses;
pub mod figures;
mod history;
mod ink;
mod mail;
mod matrix;
mod plots;
mod publication;
mod reproduction;
mod sections;
mod sources;
mod test_bed;
mod versus;

pub use history::history;
pub use reproduction::reproduction;
pub(crate) use versus::versus;

use crate::compare::{self, Comparison};
use crate::model::Report;
use crate::{PacketComposition, Publication, tables};
use maud::{DOCTYPE, Markup, PreEscaped, html};
use method::{TestKind, TrialRecord};

const STYLE: &str = include_str!("style.css");
/// Nothing from anywhere: what would be fetched by mistake is refused by the browser.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; img-src data:";

/// The run as a page.
pub fn render(report: &Report) -> String {
    let mut all = tables::of_outcomes(report);
    all.retain(|outcomes| outcomes.test != TestKind::SelfTest);
    let content = html! {
        (sections::head(report))
        main {
            (sections::summary(report, &all))
            (sections::caveats(report))
            @if let Some(started) = &report.started { (test_bed::test_bed(started, &report.trials)) }
            (sections::results(&all))
            @for composition in &report.compositions { (sections::composition(composition)) }
            (sections::trials(report))
            (balance::every(report))
            (sections::set_up(report))
            (sections::sources())
            (sections::clauses(report))
            (sections::every_trial(report))
        }
    };
    page(&format!("{} - benchmark report", report.device()), content)
}

/// A review to be printed, as a page; `reports` are the runs of its products, in the same order.
pub fn publication(of: &Publication, reports: &[Report]) -> String {
    page(&of.title, publication::publication(of, reports))
}

/// Of which packets a capture is composed, as a page.
pub fn composition(composition: &PacketComposition) -> String {
    let title = format!("Packet composition of {}", composition.place);
    let content = html! {
        header { p.kicker { "netanvil" } h1 { (title) } }
        main { (sections::composition(composition)) }
    };
    page(&title, content)
}

/// What a period brought, as the body of a mail.
pub fn digest(digest: &crate::history::Digest) -> String {
    mail::mail(&digest.title, &digest.facts, &tables::digest(digest))
}

/// Where the frames of a trial went, as part of a page with [`style`].
pub fn balance(record: &TrialRecord) -> String {
    balance::of_trial(record).into_string()
}

/// Which port stands on which network of the device, as part of a page with [`style`]; empty for a run that does not
/// tell.
pub fn test_bed(started: &method::RunStarted) -> String {
    test_bed::test_bed(started, &[]).into_string()
}

/// Two runs side by side, as a page.
pub fn comparison(comparison: &Comparison) -> String {
    let table = compare::to_table(comparison);
    let content = html! {
        header { p.kicker { "netanvil" } h1 { (table.heading) } }
        main { section.test {
            @for about in &table.about { p.about { (about) } }
            (sections::grid(&table))
        } }
    };
    page(&format!("{} and {}", comparison.a, comparison.b), content)
}

/// The style of every page here, for pages that show parts of them.
pub fn style() -> String {
    let dark = ink::Ink::dark_rules();
    format!("{STYLE}\n@media screen and (prefers-color-scheme: dark){{{dark}}}")
}

/// A page with this content, which fetches nothing.
fn page(title: &str, content: Markup) -> String {
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta http-equiv="Content-Security-Policy" content=(POLICY);
                meta name="viewport" content="width=device-width, initial-scale=1";
                link rel="icon" href="data:,";
                title { (title) }
                style { (PreEscaped(style())) }
            }
            body { (content) }
        }
    };
    page.into_string()
}
