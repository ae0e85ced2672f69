//! The tables, in SQL that both databases read: TEXT, BIGINT and DOUBLE PRECISION mean the same to them.

/// Which migrations were made.
pub const VERSIONS: &str =
    "CREATE TABLE IF NOT EXISTS netanvil_schema (version BIGINT PRIMARY KEY);";

/// One after the other; one that was released is never changed.
pub const MIGRATIONS: &[&str] = &[
    "
CREATE TABLE netanvil_run (
    digest TEXT PRIMARY KEY,
    campaign TEXT,
    job TEXT,
    repetition BIGINT NOT NULL,
    device TEXT NOT NULL,
    device_in_words TEXT NOT NULL,
    configuration TEXT NOT NULL,
    program TEXT NOT NULL,
    host TEXT NOT NULL,
    kernel TEXT NOT NULL,
    started TEXT NOT NULL,
    started_unix_s BIGINT NOT NULL,
    method_digest TEXT NOT NULL,
    device_digest TEXT NOT NULL,
    environment TEXT NOT NULL,
    folder TEXT NOT NULL,
    notices TEXT NOT NULL,
    UNIQUE (campaign, job)
);
CREATE INDEX netanvil_run_started ON netanvil_run (started_unix_s);
CREATE TABLE netanvil_series (
    id TEXT PRIMARY KEY,
    device TEXT NOT NULL,
    configuration TEXT NOT NULL,
    test TEXT NOT NULL,
    frame_size TEXT NOT NULL,
    conditions TEXT NOT NULL,
    figure TEXT NOT NULL,
    unit TEXT NOT NULL
);
CREATE INDEX netanvil_series_words ON netanvil_series (device, test, figure);
CREATE TABLE netanvil_figure (
    run TEXT NOT NULL REFERENCES netanvil_run (digest) ON DELETE CASCADE,
    ordinal BIGINT NOT NULL,
    series TEXT NOT NULL REFERENCES netanvil_series (id),
    value DOUBLE PRECISION,
    relation TEXT NOT NULL,
    low DOUBLE PRECISION,
    high DOUBLE PRECISION,
    basis TEXT NOT NULL,
    reason TEXT NOT NULL,
    invalid TEXT NOT NULL,
    deviations TEXT NOT NULL,
    theoretical_fps DOUBLE PRECISION NOT NULL,
    tester_fps DOUBLE PRECISION,
    PRIMARY KEY (run, ordinal)
);
CREATE INDEX netanvil_figure_series ON netanvil_figure (series, run);
",
    "
CREATE TABLE netanvil_changes (
    series TEXT PRIMARY KEY REFERENCES netanvil_series (id) ON DELETE CASCADE,
    digest TEXT NOT NULL,
    places TEXT NOT NULL
);
",
];

pub const INSERT_RUN: &str = "\
INSERT INTO netanvil_run (digest, campaign, job, repetition, device, device_in_words, configuration, program, host,
    kernel, started, started_unix_s, method_digest, device_digest, environment, folder, notices)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17)
ON CONFLICT DO NOTHING";

pub const INSERT_SERIES: &str = "\
INSERT INTO netanvil_series (id, device, configuration, test, frame_size, conditions, figure, unit)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT DO NOTHING";

pub const INSERT_FIGURE: &str = "\
INSERT INTO netanvil_figure (run, ordinal, series, value, relation, low, high, basis, reason, invalid, deviations,
    theoretical_fps, tester_fps)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)";

pub const SERIES: &str = "\
SELECT s.id, s.device, s.configuration, s.test, s.frame_size, s.conditions, s.figure, s.unit
FROM netanvil_series s";

/// Sizes by their number: 64, 128, 1518, then mixes.
pub const SERIES_ORDER: &str = "
ORDER BY s.device, s.configuration, s.test, s.conditions, LENGTH(s.frame_size), s.frame_size, s.figure, s.id";

pub const POINTS: &str = "\
SELECT r.digest, r.started, r.started_unix_s, r.program, r.kernel, r.host, r.method_digest, r.device_digest,
    r.folder, f.value, f.relation, f.low, f.high, f.invalid, f.reason
FROM netanvil_figure f JOIN netanvil_run r ON r.digest = f.run
WHERE f.series = $1 ORDER BY r.started_unix_s, r.repetition, r.digest";

pub const CHANGES: &str = "SELECT places FROM netanvil_changes WHERE series = $1 AND digest = $2";

pub const KEEP_CHANGES: &str = "\
INSERT INTO netanvil_changes (series, digest, places) VALUES ($1, $2, $3)
ON CONFLICT (series) DO UPDATE SET digest = EXCLUDED.digest, places = EXCLUDED.places";
