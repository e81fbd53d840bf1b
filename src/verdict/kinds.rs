use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::browser::devtools::Cause;
use crate::browser::net_log::Request;

#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    Document,
    Frame,
    Script,
    Style,
    Font,
    Image,
    Media,
    Object,
    Fetch,
    Beacon,
    Ping,
    EventSource,
    WebSocket,
    Worker,
    Prefetch,
    Preload,
    Preconnect,
    WebRtc,
    Report,
    Other,
    Cookie,
    Storage,
}

impl Kind {
    pub fn name(self) -> &'static str {
        match self {
            Self::Document => "document",
            Self::Frame => "frame",
            Self::Script => "script",
            Self::Style => "style",
            Self::Font => "font",
            Self::Image => "image",
            Self::Media => "media",
            Self::Object => "object",
            Self::Fetch => "fetch",
            Self::Beacon => "beacon",
            Self::Ping => "ping",
            Self::EventSource => "eventsource",
            Self::WebSocket => "websocket",
            Self::Worker => "worker",
            Self::Prefetch => "prefetch",
            Self::Preload => "preload",
            Self::Preconnect => "preconnect",
            Self::WebRtc => "webrtc",
            Self::Report => "report",
            Self::Other => "other",
            Self::Cookie => "cookie",
            Self::Storage => "storage",
        }
    }

    pub const ALL: [Self; 22] = [
        Self::Document,
        Self::Frame,
        Self::Script,
        Self::Style,
        Self::Font,
        Self::Image,
        Self::Media,
        Self::Object,
        Self::Fetch,
        Self::Beacon,
        Self::Ping,
        Self::EventSource,
        Self::WebSocket,
        Self::Worker,
        Self::Prefetch,
        Self::Preload,
        Self::Preconnect,
        Self::WebRtc,
        Self::Report,
        Self::Other,
        Self::Cookie,
        Self::Storage,
    ];

    /// The kind of a request: by its headers, then by the type that DevTools reports, then by its `Accept` header.
    pub fn of(request: &Request, cause: Option<&Cause>, is_object: bool, is_worker: bool) -> Self {
        let content = request.header("content-type").unwrap_or_default();
        if request.url.starts_with("ws") {
            return Self::WebSocket;
        }
        if content.starts_with("application/reports+json") || content.contains("csp-report") {
            return Self::Report;
        }
        if content.starts_with("text/ping") || request.header("ping-to").is_some() {
            return Self::Ping;
        }
        if request.header("sec-purpose").is_some_and(|purpose| purpose.starts_with("prefetch")) {
            return Self::Prefetch;
        }
        if request.destination == "main frame" {
            return Self::Document;
        }
        if is_object {
            return Self::Object;
        }
        match cause {
            Some(cause) if cause.is_preload => return Self::Preload,
            _ if is_worker => return Self::Worker,
            _ => {}
        }
        let named = request.header("sec-fetch-dest").and_then(Self::of_destination);
        let typed = cause.and_then(|cause| Self::of_resource(&cause.resource));
        if request.destination == "subframe" {
            return named.filter(|kind| *kind == Self::Object).unwrap_or(Self::Frame);
        }
        // DevTools does not report requests that a page sends while it unloads.
        let is_last = cause.is_none() && request.method == "POST";
        let sent = is_last.then_some(Self::Beacon);
        let any = cause.is_none() && request.header("accept") == Some("*/*");
        let fetched = any.then_some(Self::Fetch);
        typed.or(named).or(sent).or(fetched).unwrap_or_else(|| Self::of_accepted(request))
    }

    fn of_resource(resource: &str) -> Option<Self> {
        Some(match resource {
            "Document" => Self::Frame,
            "Stylesheet" => Self::Style,
            "Image" => Self::Image,
            "Media" | "TextTrack" => Self::Media,
            "Font" => Self::Font,
            "Script" => Self::Script,
            "XHR" | "Fetch" => Self::Fetch,
            "Prefetch" => Self::Prefetch,
            "EventSource" => Self::EventSource,
            "WebSocket" => Self::WebSocket,
            "Ping" => Self::Beacon,
            "CSPViolationReport" => Self::Report,
            _ => return None,
        })
    }

    fn of_destination(destination: &str) -> Option<Self> {
        Some(match destination {
            "document" => Self::Document,
            "iframe" | "frame" | "fencedframe" => Self::Frame,
            "script" => Self::Script,
            "style" => Self::Style,
            "font" => Self::Font,
            "image" => Self::Image,
            "audio" | "video" | "track" => Self::Media,
            "object" | "embed" => Self::Object,
            "worker" | "sharedworker" | "serviceworker" | "audioworklet" | "paintworklet" => {
                Self::Worker
            }
            "report" => Self::Report,
            _ => return None,
        })
    }

    fn of_accepted(request: &Request) -> Self {
        let accepted = request.header("accept").unwrap_or_default();
        let kinds = [
            ("text/event-stream", Self::EventSource),
            ("text/css", Self::Style),
            ("text/html", Self::Frame),
            ("image/", Self::Image),
        ];
        let found = kinds.into_iter().find(|(start, _)| accepted.starts_with(start));
        found.map_or(Self::Other, |(_, kind)| kind)
    }
}
