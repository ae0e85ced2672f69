//! What a sender finds: the entries of its sources, directory by directory, each in order of names.

use super::beneath::{self, Beneath};
use super::claims::{Claim, Claims};
use super::control::{Links, Patterns, Sparse};
use super::format::{Attributes, MAX_TARGET_BYTES, UNKNOWN_SIZE};
use super::names::{self, Name};
use super::patterns::{Exclusion, Glob};
use super::tally::Tally;
use nix::fcntl::readlinkat;
use nix::sys::stat::{FileStat, SFlag};
use nix::unistd::{Whence, lseek};
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

/// What an entry is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Kind {
    /// A directory.
    Directory,
    /// A file of so many bytes.
    File(u64),
    /// A link that says this.
    Link(Vec<u8>),
}

/// Something that is to be copied.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Entry {
    /// What it is called in the stream.
    pub name: Vec<u8>,
    /// Which directory of sources it is in.
    pub root: usize,
    /// Where in that.
    pub path: Vec<u8>,
    /// Time and mode.
    pub attributes: Attributes,
    /// What it is.
    pub kind: Kind,
}

/// Something that was found.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Found {
    /// It is to be copied.
    Entry(Entry),
    /// It is not.
    Refused {
        /// What it would have been called.
        name: Vec<u8>,
        /// Why.
        reason: String,
    },
}

/// What is copied of what is found.
#[derive(Clone, Debug)]
pub struct Choice {
    /// What is left out.
    pub excluded: Exclusion,
    links: Links,
    sparse: Sparse,
}

impl Choice {
    /// An error names the pattern that is none.
    pub fn new(patterns: &Patterns, links: Links, sparse: Sparse) -> Result<Choice, String> {
        Ok(Choice { excluded: Exclusion::new(patterns)?, links, sparse })
    }
}

/// A source: in which directory it is, and what of that is copied, the last first.
#[derive(Debug)]
struct Source {
    root: usize,
    first: Vec<Vec<u8>>,
}

/// A directory that is being walked.
#[derive(Debug)]
struct Level {
    root: usize,
    path: Vec<u8>,
    /// Of the directory, in the stream.
    name: Vec<u8>,
    /// The last comes first.
    left: Vec<Vec<u8>>,
}

/// Walks sources.
#[derive(Debug)]
pub struct Walk {
    /// The directories of sources, each open.
    tops: Vec<Beneath>,
    sources: Vec<Source>,
    /// Those of `tops` that hold directories in them open: in which the search is, and of which a file was read last.
    walking: usize,
    reading: usize,
    levels: Vec<Level>,
    next_source: usize,
    choice: Choice,
    claims: Claims,
}

/// The paths that a path with globs stands for; itself if there is such a thing or it has none.
pub fn expand(path: &Path) -> Result<Vec<PathBuf>, String> {
    let bytes = path.as_os_str().as_bytes();
    let has_glob = |part: &[u8]| part.iter().any(|byte| b"*?[{".contains(byte));
    if !has_glob(bytes) || path.symlink_metadata().is_ok() {
        return Ok(vec![path.to_owned()]);
    }
    let wrong = |why: String| format!("{}: {why}", names::shown(bytes));
    let start = if bytes.starts_with(b"/") { PathBuf::from("/") } else { PathBuf::new() };
    let mut found = vec![start];
    for part in bytes.split(|byte| *byte == b'/').filter(|part| !part.is_empty()) {
        if !has_glob(part) {
            found.iter_mut().for_each(|path| path.push(OsStr::from_bytes(part)));
            found.retain(|path| path.symlink_metadata().is_ok());
            continue;
        }
        let text = str::from_utf8(part).map_err(|_| wrong("a glob is UTF-8".to_owned()))?;
        let glob = Glob::new(text).map_err(wrong)?;
        let mut next = Vec::new();
        for directory in found {
            let listed = if directory.as_os_str().is_empty() { Path::new(".") } else { &directory };
            let Ok(entries) = std::fs::read_dir(listed) else { continue };
            let names = entries.filter_map(|entry| Some(entry.ok()?.file_name()));
            let hidden = |name: &OsStr| name.as_bytes().starts_with(b".") && part[0] != b'.';
            let matches = |name: &OsStr| glob.matches(name.as_bytes()) && !hidden(name);
            let mut names: Vec<_> = names.filter(|name| matches(name)).collect();
            names.sort_unstable();
            next.extend(names.into_iter().map(|name| directory.join(name)));
        }
        found = next;
    }
    match found.is_empty() {
        true => Err(wrong("nothing matches".to_owned())),
        false if bytes.ends_with(b"/") => Ok(found
            .into_iter()
            .map(|path| {
                let mut bytes = path.into_os_string().into_vec();
                bytes.push(b'/');
                PathBuf::from(std::ffi::OsString::from_vec(bytes))
            })
            .collect()),
        false => Ok(found),
    }
}

/// The directory that a source is in, and its name there; an empty name for what stands for all that is
/// in it: a path that ends with a slash, `.` or `..`.
pub fn first_name(path: &Path) -> (PathBuf, Vec<u8>) {
    let bytes = path.as_os_str().as_bytes();
    let (directory, name) = names::split(bytes);
    if matches!(name, b"" | b"." | b"..") {
        return (path.to_owned(), Vec::new());
    }
    let directory = match (directory, bytes.starts_with(b"/")) {
        ([], true) => Path::new("/"),
        ([], false) => Path::new("."),
        _ => Path::new(OsStr::from_bytes(directory)),
    };
    (directory.to_owned(), name.to_vec())
}

impl Walk {
    /// Of these paths, with globs.
    pub fn new(paths: &[PathBuf], choice: Choice) -> Result<Walk, String> {
        let (mut tops, mut known) = (Vec::new(), BTreeMap::new());
        let mut sources = Vec::new();
        for path in paths {
            for path in expand(path)? {
                let (directory, first) = first_name(&path);
                let cannot = |error: io::Error| {
                    format!("cannot read {}: {error}", names::shown(path.as_os_str().as_bytes()))
                };
                // Many sources are in one directory, which is opened once.
                let root = match known.get(&directory) {
                    Some(root) => *root,
                    None => {
                        tops.push(Beneath::open(&directory).map_err(cannot)?);
                        known.insert(directory, tops.len() - 1);
                        tops.len() - 1
                    }
                };
                let directory = tops[root].directory(b"").map_err(cannot)?;
                let first = match first.is_empty() {
                    true => reversed(beneath::list(&directory).map_err(cannot)?),
                    false if beneath::look(&directory, &first).map_err(cannot)?.is_none() => {
                        return Err(cannot(io::ErrorKind::NotFound.into()));
                    }
                    false => vec![first],
                };
                sources.push(Source { root, first });
            }
        }
        let claims = Claims::new(sources.iter().flat_map(|source| &source.first));
        let (walking, reading, levels) = (0, 0, Vec::new());
        Ok(Walk { tops, sources, walking, reading, levels, next_source: 0, choice, claims })
    }

    /// A file that was found, to read.
    pub fn open(&mut self, root: usize, path: &[u8]) -> io::Result<std::fs::File> {
        let before = std::mem::replace(&mut self.reading, root);
        self.let_go(before);
        self.tops.get_mut(root).ok_or(io::ErrorKind::NotFound)?.read(path)
    }

    /// Lets go of what a directory of sources holds open, unless somebody is still in it.
    fn let_go(&mut self, root: usize) {
        if root != self.walking
            && root != self.reading
            && let Some(top) = self.tops.get_mut(root)
        {
            top.let_go();
        }
    }

    /// The next thing that is found; None at the end.
    pub fn next(&mut self, tally: &Tally) -> Option<Found> {
        loop {
            let Some(level) = self.levels.last_mut() else {
                self.begin_source()?;
                continue;
            };
            let Some(name) = level.left.pop() else {
                self.levels.pop();
                continue;
            };
            let (root, path) = (level.root, join(&level.path, &name));
            let full = join(&level.name, &name);
            if names::is_temporary(&name) {
                tally.temporary_file();
                continue;
            }
            if let Some(found) = self.consider(root, path, full, tally) {
                return Some(found);
            }
        }
    }

    fn begin_source(&mut self) -> Option<()> {
        let source = self.sources.get_mut(self.next_source)?;
        self.next_source += 1;
        let (root, left) = (source.root, std::mem::take(&mut source.first));
        let before = std::mem::replace(&mut self.walking, root);
        self.let_go(before);
        self.levels.push(Level { root, path: Vec::new(), name: Vec::new(), left });
        Some(())
    }

    /// Whether something is copied, and what it is.
    fn consider(
        &mut self,
        root: usize,
        path: Vec<u8>,
        name: Vec<u8>,
        tally: &Tally,
    ) -> Option<Found> {
        let refused = |reason: String| Some(Found::Refused { name: name.clone(), reason });
        let (directory, own) = names::split(&path);
        let at = match self.tops[root].directory(directory) {
            Ok(at) => at,
            Err(error) => return refused(error.to_string()),
        };
        let stat = match beneath::look(&at, own) {
            Ok(Some(stat)) => stat,
            Ok(None) => return refused("vanished".to_owned()),
            Err(error) => return refused(error.to_string()),
        };
        let kind = beneath::kind(&stat);
        if self.choice.excluded.covers(&name, kind == SFlag::S_IFDIR) {
            tally.excluded();
            return None;
        }
        let checked = match Name::new(&name) {
            Ok(checked) => checked,
            Err(error) => return refused(format!("its name {error}")),
        };
        let kind = match self.kind(&at, own, &checked, &stat) {
            Ok(kind) => kind,
            Err(reason) => return refused(reason),
        };
        match self.claims.claim(&checked, &stat) {
            Claim::Free => {}
            Claim::Again => return None,
            Claim::Taken => return refused("a source before this one has this name".to_owned()),
        }
        if kind == Kind::Directory
            && let Err(error) = self.descend(root, &path, &name)
        {
            return refused(error.to_string());
        }
        if stat.st_mode & 0o7000 != 0 && kind != Kind::Directory {
            tally.special_mode();
        }
        let attributes = beneath::attributes(&stat);
        Some(Found::Entry(Entry { name, root, path, attributes, kind }))
    }

    fn kind(
        &self,
        at: &OwnedFd,
        own: &[u8],
        name: &Name<'_>,
        stat: &FileStat,
    ) -> Result<Kind, String> {
        let size = stat.st_size.max(0) as u64;
        match beneath::kind(stat) {
            SFlag::S_IFDIR => Ok(Kind::Directory),
            SFlag::S_IFREG if self.choice.sparse == Sparse::Refuse && is_sparse(at, own, stat) => {
                Err("it has holes (--sparse fill sends them as zeros)".to_owned())
            }
            SFlag::S_IFREG if size == UNKNOWN_SIZE => Err("too large".to_owned()),
            SFlag::S_IFREG => Ok(Kind::File(size)),
            SFlag::S_IFLNK if self.choice.links == Links::Refuse => {
                Err("it is a symbolic link (--links refuse)".to_owned())
            }
            SFlag::S_IFLNK => {
                let target = readlinkat(at, own).map_err(|errno| errno.desc().to_owned())?;
                let target = target.into_vec();
                if self.choice.links == Links::Within && !names::stays_within(name, &target) {
                    let shown = names::shown(&target);
                    return Err(format!(
                        "the link leads out, or up behind a name: {shown} (--links any keeps it)"
                    ));
                }
                match target.len() <= MAX_TARGET_BYTES && !target.is_empty() {
                    true => Ok(Kind::Link(target)),
                    false => Err("the target of the link is too long".to_owned()),
                }
            }
            SFlag::S_IFIFO => Err("it is a FIFO".to_owned()),
            SFlag::S_IFSOCK => Err("it is a socket".to_owned()),
            SFlag::S_IFCHR | SFlag::S_IFBLK => Err("it is a device".to_owned()),
            _ => Err("it is neither file nor directory nor link".to_owned()),
        }
    }

    fn descend(&mut self, root: usize, path: &[u8], name: &[u8]) -> io::Result<()> {
        let at = self.tops[root].directory(path)?;
        let left = reversed(beneath::list(&at)?);
        self.levels.push(Level { root, path: path.to_vec(), name: name.to_vec(), left });
        Ok(())
    }
}

/// Whether a file has holes. File systems that compress take less than a file's size too; only they are asked.
fn is_sparse(at: &OwnedFd, own: &[u8], stat: &FileStat) -> bool {
    if stat.st_blocks.saturating_mul(512) >= stat.st_size {
        return false;
    }
    let flags = nix::fcntl::OFlag::O_NONBLOCK;
    let Ok(file) = beneath::open_at(at, own, flags, nix::sys::stat::Mode::empty()) else {
        return false;
    };
    lseek(&file, 0, Whence::SeekHole).is_ok_and(|hole| hole < stat.st_size)
}

fn join(directory: &[u8], name: &[u8]) -> Vec<u8> {
    match directory.is_empty() {
        true => name.to_vec(),
        false => [directory, b"/", name].concat(),
    }
}

fn reversed(mut names: Vec<Vec<u8>>) -> Vec<Vec<u8>> {
    names.reverse();
    names
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::symlink;

    fn walked(paths: &[PathBuf], exclude: &[&str], include: &[&str], links: Links) -> Vec<String> {
        let texts = |some: &[&str]| some.iter().map(|text| (*text).to_owned()).collect();
        let patterns = Patterns { exclude: texts(exclude), include: texts(include) };
        let choice = Choice::new(&patterns, links, Sparse::Refuse).unwrap();
        let mut walk = Walk::new(paths, choice).unwrap();
        let (tally, _) = Tally::new(false);
        let mut all = Vec::new();
        while let Some(found) = walk.next(&tally) {
            all.push(match found {
                Found::Entry(entry) => String::from_utf8(entry.name).unwrap(),
                Found::Refused { name, .. } => format!("!{}", String::from_utf8(name).unwrap()),
            });
        }
        all
    }

    fn tree() -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        let top = folder.path().join("t");
        fs::create_dir_all(top.join("a/deep")).unwrap();
        fs::create_dir(top.join("target")).unwrap();
        for file in ["a/1.rs", "a/2.o", "a/deep/3.rs", "b.rs", "target/x.rs", "line\nfeed"] {
            fs::write(top.join(file), file).unwrap();
        }
        symlink("a/1.rs", top.join("in")).unwrap();
        symlink("/etc/passwd", top.join("out")).unwrap();
        nix::unistd::mkfifo(&top.join("pipe"), nix::sys::stat::Mode::S_IRWXU).unwrap();
        let holes = fs::File::create(top.join("holes")).unwrap();
        holes.set_len(1 << 20).unwrap();
        folder
    }

    #[test]
    fn everything_is_found_in_order_and_what_cannot_be_copied_is_refused() {
        let folder = tree();
        let all = walked(&[folder.path().join("t")], &[], &[], Links::Within);
        let expected = [
            "t",
            "t/a",
            "t/a/1.rs",
            "t/a/2.o",
            "t/a/deep",
            "t/a/deep/3.rs",
            "t/b.rs",
            "!t/holes",
            "t/in",
            "!t/line\nfeed",
            "!t/out",
            "!t/pipe",
            "t/target",
            "t/target/x.rs",
        ];
        assert_eq!(all, expected);
        let inside = walked(&[folder.path().join("t/")], &[], &[], Links::Any);
        assert!(inside.contains(&"out".to_owned()) && inside[0] == "a", "{inside:?}");
        let none = walked(&[folder.path().join("t")], &[], &[], Links::Refuse);
        assert!(none.contains(&"!t/in".to_owned()));
    }

    #[test]
    fn patterns_are_those_of_gitignore_and_what_is_included_is_not_left_out() {
        let folder = tree();
        let walked = |exclude: &[&str], include: &[&str]| {
            let all = walked(&[folder.path().join("t")], exclude, include, Links::Within);
            all.into_iter().filter(|name| name.ends_with(".rs") || name.ends_with(".o")).collect()
        };
        let all: Vec<String> = walked(&["target/", "*.o"], &[]);
        assert_eq!(all, ["t/a/1.rs", "t/a/deep/3.rs", "t/b.rs"]);
        assert_eq!(walked(&["*"], &["*/", "*.rs"]).len(), 4);
        assert_eq!(walked(&["/t/a"], &[]), ["t/b.rs", "t/target/x.rs"]);
        assert_eq!(walked(&["t/a/**/3.rs"], &[]).len(), 4);
        assert_eq!(walked(&["a/**/3.rs"], &[]).len(), 5, "a slash within anchors it");
        for wrong in ["", " ", "!x", "#x"] {
            let patterns = Patterns { exclude: vec![wrong.to_owned()], include: vec![] };
            let error = Choice::new(&patterns, Links::Any, Sparse::Fill).unwrap_err();
            assert!(error.contains("no pattern"), "{error}");
        }
    }

    /// Nothing is copied over what another source has sent; what is named twice is copied once.
    #[test]
    fn a_name_of_two_sources_is_the_first_ones() {
        let folder = tempfile::tempdir().unwrap();
        for file in ["a/x", "b/x", "a/d/1", "b/d/1", "b/d/2", "a/n", "b/n/1"] {
            let path = folder.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, file).unwrap();
        }
        let copied = |paths: &[&str]| {
            let paths: Vec<_> = paths.iter().map(|path| folder.path().join(path)).collect();
            walked(&paths, &[], &[], Links::Within)
        };
        assert_eq!(copied(&["a/x", "b/x"]), ["x", "!x"]);
        let both = ["d", "d/1", "n", "x", "d", "!d/1", "d/2", "!n", "!x"];
        assert_eq!(copied(&["a/", "b/"]), both);
        assert_eq!(copied(&["a/x", "a/?", "b/d"])[..], ["x", "d", "d/1", "n", "d", "!d/1", "d/2"]);
        assert_eq!(copied(&["a", "a/.."])[..5], ["a", "a/d", "a/d/1", "a/n", "a/x"]);
        assert_eq!(copied(&["a", "a/.."]).len(), 5 + 7);
    }

    /// However many sources there are.
    #[test]
    fn a_directory_of_sources_is_opened_once() {
        let folder = tree();
        let choice = Choice::new(&Patterns::default(), Links::Any, Sparse::Fill).unwrap();
        let paths = ["t/*", "t/b.rs", "t/a/*", "t/[a-c]*"].map(|path| folder.path().join(path));
        let mut walk = Walk::new(&paths, choice).unwrap();
        assert_eq!((walk.tops.len(), walk.sources.len()), (2, 8 + 1 + 3 + 2));
        let (tally, _) = Tally::new(false);
        while let Some(found) = walk.next(&tally) {
            if let Found::Entry(Entry { root, path, kind: Kind::File(_), .. }) = found {
                walk.open(root, &path).unwrap();
            }
        }
    }

    #[test]
    fn globs_are_expanded_where_no_such_file_is() {
        let folder = tree();
        let names = |glob: &str| -> Vec<String> {
            let found = expand(&folder.path().join(glob)).unwrap();
            let own = found.iter().map(|path| path.strip_prefix(folder.path()).unwrap());
            own.map(|path| path.to_str().unwrap().to_owned()).collect()
        };
        assert_eq!(names("t/a/*.rs"), ["t/a/1.rs"]);
        assert_eq!(names("t/*/*.rs"), ["t/a/1.rs", "t/target/x.rs"]);
        let all_in = expand(&folder.path().join("?/")).unwrap();
        assert!(all_in.len() == 1 && all_in[0].as_os_str().as_bytes().ends_with(b"/t/"));
        fs::write(folder.path().join("[x]"), "").unwrap();
        assert_eq!(names("[x]"), ["[x]"], "it is there");
        assert!(expand(&folder.path().join("*.none")).unwrap_err().contains("nothing matches"));
    }

    #[test]
    fn sources_are_named_as_rsync_names_them() {
        let named = |path: &str| {
            let (directory, name) = first_name(Path::new(path));
            (directory.to_str().unwrap().to_owned(), String::from_utf8(name).unwrap())
        };
        let pair = |a: &str, b: &str| (a.to_owned(), b.to_owned());
        assert_eq!(named("a/b"), pair("a", "b"));
        assert_eq!(named("b"), pair(".", "b"));
        assert_eq!(named("/b"), pair("/", "b"));
        assert_eq!(named("a/b/"), pair("a/b/", ""));
        for all in [".", "..", "/", "a/.", "a/.."] {
            assert_eq!(named(all), pair(all, ""));
        }
    }
}
