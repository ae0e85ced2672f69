//! Who may ask.
//!
//! A web page from elsewhere runs in a browser on this host and can send requests to it. It cannot choose the
//! `Host` that the browser sends (which defeats names that are made to resolve to this host) nor hide its
//! `Origin`; both are checked for every request. Beyond loopback each request also needs the token, as `Bearer` or,
//! from the page, as a cookie that no other site can have sent.

use crate::Shared;
use crate::refusal::Refusal;
use axum::extract::{Request, State};
use axum::http::header::{AUTHORIZATION, COOKIE, HOST, ORIGIN, WWW_AUTHENTICATE};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use std::fs::File;
use std::io::{self, Read};
use std::net::{IpAddr, SocketAddr};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

const COOKIE_NAME: &str = "netanvil";
/// A shorter token could be guessed.
const TOKEN_LEAST: usize = 16;
/// What a browser needs to ask for the token.
const OPEN_PATHS: [&str; 4] = ["/", "/page.css", "/page.js", "/api/login"];
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; connect-src 'self'; \
                      img-src data:; base-uri 'none'; form-action 'self'; frame-ancestors 'none'";

/// A secret that clients must know. Only its digest is kept, so that comparing takes the same time always.
#[derive(Debug, Clone)]
pub struct Token(blake3::Hash);

/// A file holds no token.
#[derive(Debug, thiserror::Error)]
pub enum TokenError {
    /// It cannot be read.
    #[error("cannot read {}: {detail}", file.display())]
    Unreadable {
        /// Which.
        file: PathBuf,
        /// Why.
        detail: String,
    },
    /// Others can read it.
    #[error("{} can be read by other users (mode {mode:03o})", file.display())]
    Public {
        /// Which.
        file: PathBuf,
        /// Its permissions.
        mode: u32,
    },
    /// It can be guessed.
    #[error("{} holds {length} characters; a token has at least {TOKEN_LEAST}", file.display())]
    Short {
        /// Which.
        file: PathBuf,
        /// Without blanks at its ends.
        length: usize,
    },
}

impl Token {
    /// Reads a file that its owner alone can read.
    ///
    /// # Errors
    /// If it cannot be read, others can read it, or it holds too little.
    pub fn read(file: &Path) -> Result<Token, TokenError> {
        let unreadable = |error: io::Error| TokenError::Unreadable {
            file: file.to_owned(),
            detail: error.to_string(),
        };
        let mode = std::fs::metadata(file).map_err(unreadable)?.permissions().mode() & 0o777;
        if mode & 0o077 != 0 {
            return Err(TokenError::Public { file: file.to_owned(), mode });
        }
        let text = std::fs::read_to_string(file).map_err(unreadable)?;
        let token = text.trim();
        match token.chars().count() {
            length if length < TOKEN_LEAST => {
                Err(TokenError::Short { file: file.to_owned(), length })
            }
            _ => Ok(Token::new(token)),
        }
    }

    fn new(secret: &str) -> Token {
        Token(blake3::hash(secret.as_bytes()))
    }

    fn is(&self, given: &str) -> bool {
        self.0 == blake3::hash(given.as_bytes())
    }
}

/// Who may ask.
pub struct Access {
    token: Option<Token>,
    /// What a page that knows the token is known by from then on.
    session: Option<(Token, HeaderValue)>,
    /// The port of the address, where only names of this host are taken.
    loopback: Option<u16>,
    scheme: &'static str,
}

impl Access {
    pub fn new(address: SocketAddr, token: Option<Token>, tls: bool) -> io::Result<Self> {
        let scheme = if tls { "https" } else { "http" };
        let session = match token {
            None => None,
            Some(_) => Some(session(tls)?),
        };
        let loopback = address.ip().is_loopback().then_some(address.port());
        Ok(Access { token, session, loopback, scheme })
    }

    /// The cookie for a page that knows the token.
    pub fn login(&self, given: &str) -> Result<Option<HeaderValue>, Refusal> {
        match &self.token {
            Some(token) if !token.is(given) => {
                Err(Refusal::new(StatusCode::UNAUTHORIZED, "wrong token")
                    .help("it is the content of the file that --token-file names"))
            }
            _ => Ok(self.session.as_ref().map(|(_, cookie)| cookie.clone())),
        }
    }

    fn check(&self, request: &Request) -> Result<(), Refusal> {
        let headers = request.headers();
        let host = self.host(request)?;
        self.check_origin(headers, &host)?;
        let is_elsewhere = |site| ["cross-site", "same-site"].contains(&site);
        let is_visit =
            request.method() == Method::GET && text(headers, "sec-fetch-mode") == Some("navigate");
        if text(headers, "sec-fetch-site").is_some_and(is_elsewhere) && !is_visit {
            return Err(elsewhere("another site"));
        }
        let is_open = OPEN_PATHS.contains(&request.uri().path());
        if is_open || self.knows_token(headers) {
            return Ok(());
        }
        let what = if headers.contains_key(AUTHORIZATION) { "wrong token" } else { "no token" };
        Err(Refusal::new(StatusCode::UNAUTHORIZED, what)
            .help("send `Authorization: Bearer TOKEN` with the content of the file that --token-file names"))
    }

    /// The name by which the client knows this host.
    fn host(&self, request: &Request) -> Result<String, Refusal> {
        let host = text(request.headers(), HOST.as_str()).map(str::to_owned);
        let host = host.or_else(|| request.uri().authority().map(ToString::to_string));
        let host = host.ok_or_else(|| Refusal::bad("the request has no Host"))?;
        let Some(port) = self.loopback else { return Ok(host) };
        let (name, given) = match host.rsplit_once(':') {
            Some((name, given)) if !given.ends_with(']') => (name, given.parse().ok()),
            _ => (host.as_str(), Some(if self.scheme == "https" { 443 } else { 80 })),
        };
        let bare = name.trim_start_matches('[').trim_end_matches(']');
        let is_loopback = bare.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback());
        match (is_loopback || name.eq_ignore_ascii_case("localhost")) && given == Some(port) {
            true => Ok(host),
            false => Err(Refusal::new(
                StatusCode::FORBIDDEN,
                format!("{host:?} is no name of this server"),
            )
            .help(format!("ask localhost:{port} or 127.0.0.1:{port}"))),
        }
    }

    fn check_origin(&self, headers: &HeaderMap, host: &str) -> Result<(), Refusal> {
        let mut origins = headers.get_all(ORIGIN).iter();
        let own = format!("{}://{host}", self.scheme);
        match origins.all(|origin| origin.as_bytes().eq_ignore_ascii_case(own.as_bytes())) {
            true => Ok(()),
            false => Err(elsewhere(text(headers, "origin").unwrap_or("an unreadable origin"))),
        }
    }

    fn knows_token(&self, headers: &HeaderMap) -> bool {
        let Some(token) = &self.token else { return true };
        let bearer = text(headers, AUTHORIZATION.as_str()).and_then(|value| value.split_once(' '));
        if let Some((scheme, given)) = bearer {
            return scheme.eq_ignore_ascii_case("bearer") && token.is(given.trim());
        }
        let cookies = headers.get_all(COOKIE).iter().filter_map(|value| value.to_str().ok());
        let mut pairs =
            cookies.flat_map(|all| all.split(';')).filter_map(|one| one.trim().split_once('='));
        let session = self.session.as_ref().map(|(session, _)| session);
        pairs.any(|(name, value)| {
            name == COOKIE_NAME && session.is_some_and(|known| known.is(value))
        })
    }
}

fn elsewhere(origin: &str) -> Refusal {
    Refusal::new(StatusCode::FORBIDDEN, format!("a page of {origin} may not drive this server"))
        .help("open the address that `netanvil serve` printed")
}

fn text<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name)?.to_str().ok()
}

/// A random name for the time of this process, as a cookie that scripts and other sites cannot use.
fn session(tls: bool) -> io::Result<(Token, HeaderValue)> {
    let mut bytes = [0; 32];
    File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    let secret = blake3::hash(&bytes).to_hex();
    let secure = if tls { "; Secure" } else { "" };
    let cookie = format!("{COOKIE_NAME}={secret}; Path=/; HttpOnly; SameSite=Strict{secure}");
    let cookie = HeaderValue::try_from(cookie).map_err(io::Error::other)?;
    Ok((Token::new(&secret), cookie))
}

/// Stands before every route.
pub async fn guard(State(shared): State<Arc<Shared>>, request: Request, next: Next) -> Response {
    let mut response = match shared.access.check(&request) {
        Ok(()) => next.run(request).await,
        Err(refusal) => refusal.into_response(),
    };
    let is_unknown = response.status() == StatusCode::UNAUTHORIZED;
    let headers = response.headers_mut();
    if is_unknown {
        headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    }
    for (name, value) in [
        (header::CACHE_CONTROL, "no-store"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::X_FRAME_OPTIONS, "DENY"),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::CONTENT_SECURITY_POLICY, POLICY),
    ] {
        headers.entry(name).or_insert(HeaderValue::from_static(value));
    }
    response
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::body::Body;

    const TOKEN: &str = "correct horse battery";

    fn access(address: &str, token: bool) -> Access {
        Access::new(address.parse().unwrap(), token.then(|| Token::new(TOKEN)), token).unwrap()
    }

    fn status(access: &Access, path: &str, headers: &[(&str, &str)]) -> u16 {
        let request =
            headers.iter().fold(Request::get(path), |r, (name, value)| r.header(*name, *value));
        let checked = access.check(&request.body(Body::empty()).unwrap());
        checked.map_or_else(|refusal| refusal.into_response().status().as_u16(), |()| 200)
    }

    #[test]
    fn only_names_of_this_host_are_taken_on_loopback() {
        let access = access("127.0.0.1:2544", false);
        for good in
            ["127.0.0.1:2544", "localhost:2544", "LOCALHOST:2544", "[::1]:2544", "127.1.2.3:2544"]
        {
            assert_eq!(status(&access, "/api/state", &[("host", good)]), 200, "{good}");
        }
        for bad in [
            "evil.example:2544",
            "localhost:80",
            "localhost",
            "127.0.0.1.evil.example:2544",
            "198.18.0.1:2544",
            ":2544",
            "",
        ] {
            assert_eq!(status(&access, "/api/state", &[("host", bad)]), 403, "{bad}");
        }
        assert_eq!(status(&access, "/api/state", &[]), 400);
    }

    #[test]
    fn pages_from_elsewhere_are_refused_whatever_they_ask() {
        let access = access("127.0.0.1:2544", false);
        let with = |more: &[(&'static str, &'static str)]| {
            let mut headers = vec![("host", "localhost:2544")];
            headers.extend(more);
            status(&access, "/api/state", &headers)
        };
        assert_eq!(with(&[("origin", "http://localhost:2544")]), 200);
        // Another port is another origin, and so is another name of the same host.
        for bad in [
            "http://localhost:80",
            "http://127.0.0.1:2544",
            "https://localhost:2544",
            "null",
            "http://evil.example",
        ] {
            assert_eq!(with(&[("origin", bad)]), 403, "{bad}");
        }
        assert_eq!(
            with(&[("origin", "http://localhost:2544"), ("origin", "http://evil.example")]),
            403
        );
        assert_eq!(with(&[("sec-fetch-site", "cross-site"), ("sec-fetch-mode", "no-cors")]), 403);
        assert_eq!(with(&[("sec-fetch-site", "same-site"), ("sec-fetch-mode", "cors")]), 403);
        assert_eq!(with(&[("sec-fetch-site", "cross-site"), ("sec-fetch-mode", "navigate")]), 200);
        assert_eq!(with(&[("sec-fetch-site", "same-origin"), ("sec-fetch-mode", "cors")]), 200);
    }

    #[test]
    fn the_token_opens_and_nothing_else_does() {
        let access = access("198.18.0.1:443", true);
        let host = ("host", "lab.example");
        let ask = |more: &[(&'static str, &str)]| {
            let headers: Vec<(&str, &str)> =
                [host].into_iter().chain(more.iter().copied()).collect();
            status(&access, "/api/state", &headers)
        };
        assert_eq!(ask(&[]), 401);
        assert_eq!(ask(&[("authorization", "Bearer correct horse battery")]), 200);
        for bad in [
            "Bearer",
            "Bearer ",
            "Bearer wrong horse battery",
            "Basic correct horse battery",
            "correct horse battery",
        ] {
            assert_eq!(ask(&[("authorization", bad)]), 401, "{bad}");
        }
        let cookie = access.login(TOKEN).unwrap().unwrap();
        let cookie = cookie.to_str().unwrap();
        for word in ["HttpOnly", "SameSite=Strict", "Secure"] {
            assert!(cookie.contains(word), "{cookie}");
        }
        let pair = cookie.split(';').next().unwrap();
        assert_eq!(ask(&[("cookie", &format!("a=b; {pair}"))]), 200);
        assert_eq!(ask(&[("cookie", "netanvil=0")]), 401);
        assert_eq!(ask(&[("cookie", &format!("netanvil={TOKEN}"))]), 401);
        assert!(access.login("wrong").is_err());
        // The page itself tells nothing.
        assert_eq!(status(&access, "/", &[host]), 200);
        assert_eq!(status(&access, "/metrics", &[host]), 401);
    }

    #[test]
    fn a_token_is_long_and_its_owners_alone() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("token");
        std::fs::write(&file, format!("  {TOKEN}\n")).unwrap();
        let set =
            |mode| std::fs::set_permissions(&file, std::fs::Permissions::from_mode(mode)).unwrap();
        set(0o640);
        assert!(matches!(Token::read(&file), Err(TokenError::Public { mode: 0o640, .. })));
        set(0o600);
        assert!(Token::read(&file).unwrap().is(TOKEN));
        std::fs::write(&file, "short\n").unwrap();
        assert!(matches!(Token::read(&file), Err(TokenError::Short { length: 5, .. })));
        assert!(matches!(
            Token::read(&folder.path().join("none")),
            Err(TokenError::Unreadable { .. })
        ));
    }
}
