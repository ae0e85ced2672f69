//! What the documents ask for, clause by clause, as data: one file a document, a table of records in
//! each. [`judge`] says of a result which clauses it meets and where it departs
//! from them; whether a result conforms follows from that and from nothing else.

mod campaigns;
mod evidence;
mod facts;
mod mlrsearch;
mod rfc1242;
mod rfc2544;
mod rfc2889;
mod rfc3918;
mod rfc4814;
mod rfc5180;
mod rfc6201;
mod rfc8219;
mod rfc9004;
mod ruling;
#[cfg(test)]
mod tests;

pub use evidence::{BroadcastShare, Evidence, Queries, Updates};
pub use facts::{Facts, LossGraph, Stated};
pub use ruling::{Judged, Level, Ruling, Verdict};

use crate::{Destinations, Outcome, Profile, SuiteConfig, TestKind, Topology, TrialConfig};
use traffic::size::SizePattern;

/// A clause of a document that concerns a test.
#[derive(Clone, Copy, Debug)]
pub struct Clause {
    /// Such as `RFC 2544`.
    pub document: &'static str,
    /// Such as `26.1`; `5.x.2` for the part 2 of each test's section. Empty where there are no sections.
    pub section: &'static str,
    /// How binding it is.
    pub level: Level,
    /// What it asks for, in short.
    pub words: &'static str,
    /// It asks for further runs beside this one, and is not held against a result.
    pub is_of_series: bool,
    /// Which tests it concerns.
    pub concerns: fn(TestKind) -> bool,
    rule: Rule,
}

/// How a clause is judged.
#[derive(Clone, Copy, Debug)]
enum Rule {
    /// By all that is known of the result.
    Of(fn(&Basis<'_>) -> Ruling),
    /// By how a trial is run.
    Trial(fn(&TrialConfig) -> Ruling),
    /// The tester never knows, or never can.
    Always(Verdict, &'static str),
}

/// What a result is judged by.
#[derive(Clone, Copy, Debug)]
pub struct Basis<'a> {
    /// Which test.
    pub test: TestKind,
    /// What was to be done.
    pub config: &'a SuiteConfig,
    /// Every frame size of the run.
    pub sizes: &'a [SizePattern],
    /// To whom frames of this result went; the run's own may be both.
    pub destinations: Destinations,
    /// Who has which address.
    pub topology: &'a Topology,
    /// What was done.
    pub facts: &'a Facts,
}

impl Clause {
    const fn new(
        (document, section): (&'static str, &'static str),
        level: Level,
        words: &'static str,
        concerns: fn(TestKind) -> bool,
        rule: Rule,
    ) -> Self {
        Clause { document, section, level, words, is_of_series: false, concerns, rule }
    }
    /// The same, asking for further runs.
    const fn of_series(self) -> Self {
        Clause { is_of_series: true, ..self }
    }

    /// Its section for a test: `5.x.2` is `5.1.2` for a test of section 5.1.
    pub fn section_of(&self, test: TestKind) -> String {
        let TestKind::Chassis(test) = test else { return self.section.into() };
        let own = test.section().rsplit(' ').next().unwrap_or_default();
        self.section.replace("5.x", own)
    }

    fn judged(&self, test: TestKind, ruling: Ruling) -> Judged {
        Judged {
            document: self.document.into(),
            section: self.section_of(test),
            level: self.level,
            words: self.words.into(),
            is_of_series: self.is_of_series,
            verdict: ruling.verdict,
            why: ruling.why,
        }
    }
}

/// Every clause, document by document.
pub fn all() -> impl Iterator<Item = &'static Clause> {
    let documents: [&[Clause]; 12] = [
        rfc1242::CLAUSES,
        rfc2544::CLAUSES,
        rfc9004::CLAUSES,
        rfc6201::CLAUSES,
        rfc8219::CLAUSES,
        rfc5180::CLAUSES,
        rfc4814::CLAUSES,
        mlrsearch::CLAUSES,
        rfc2889::CLAUSES,
        rfc3918::CLAUSES,
        campaigns::HARVARD,
        campaigns::MANY_PORTS,
    ];
    documents.into_iter().flatten()
}

/// The clauses that concern a test.
pub fn of_test(test: TestKind) -> impl Iterator<Item = &'static Clause> {
    all().filter(move |clause| (clause.concerns)(test))
}

/// Every clause that concerns the test, judged.
pub fn judge(of: &Basis<'_>) -> Vec<Judged> {
    let ruling = |clause: &Clause| match clause.rule {
        Rule::Of(rule) => rule(of),
        Rule::Trial(rule) => rule(&of.config.trial),
        Rule::Always(verdict, why) => Ruling { verdict, why: why.into() },
    };
    judged(of.test, of.facts, ruling)
}

/// What a test that came to nothing does not say, it cannot say.
fn judged(test: TestKind, facts: &Facts, ruling: impl Fn(&Clause) -> Ruling) -> Vec<Judged> {
    let of = |clause: &Clause| match (ruling(clause), &facts.not_measured) {
        (ruling, Some(why))
            if ruling.verdict == Verdict::NotChecked
                && !matches!(clause.rule, Rule::Always(..)) =>
        {
            Ruling::not_applicable(format!("no result: {why}"))
        }
        (ruling, _) => ruling,
    };
    of_test(test).map(|clause| clause.judged(test, of(clause))).collect()
}

/// The departures of a result from its documents, in words; empty where it conforms.
fn departures(clauses: &[Judged], profile: Profile) -> Vec<String> {
    let mut found: Vec<String> = clauses.iter().filter_map(Judged::departure).collect();
    let about = match profile {
        Profile::Rfc => None,
        Profile::Minutes => Some("minutes profile: trials of seconds, not for publication"),
        Profile::Quick => Some("quick profile: for a first look, not for publication"),
    };
    if !found.is_empty() {
        found.extend(about.map(str::to_owned));
    }
    found
}

/// Puts into an outcome which clauses it meets, and its departures.
pub(crate) fn annex(
    outcome: &mut Outcome,
    (config, sizes, destinations): (&SuiteConfig, &[SizePattern], Destinations),
    topology: &Topology,
) {
    let stated = facts::Stated::of(outcome);
    let facts = Facts { stated, ..std::mem::take(&mut outcome.facts) };
    let facts = &facts.of_no_more();
    let test = outcome.test;
    let clauses = judge(&Basis { test, config, sizes, destinations, topology, facts });
    outcome.conditions.deviations = departures(&clauses, config.profile);
    outcome.conditions.clauses = clauses;
}

/// Every clause as a page of Markdown: `docs/clauses.md`.
pub fn as_markdown() -> String {
    let mut text = String::from(
        "# Clauses\n\nWhat each document asks for of the tests that netanvil has. Every result is judged \
         by the clauses that\nconcern its test; the report prints the verdicts as an annex. A clause of a \
         *series* asks for further runs beside a\nresult and is not held against it. `5.x` stands for the \
         section of the test. Checked by a test of `netanvil-method`,\nwhich also writes it anew.\n",
    );
    let mut document = "";
    for clause in all() {
        if clause.document != document {
            document = clause.document;
            text += &format!("\n## {document}\n\n| section | level | clause |\n|---|---|---|\n");
        }
        let series = if clause.is_of_series { " (series)" } else { "" };
        text += &format!("| {} | {}{series} | {} |\n", clause.section, clause.level, clause.words);
    }
    text
}
