//! Ways to tell another site of a visitor, one host each: markup, style, script, workers and the end of a page.

/// The kind in the report, the host's first label, and the markup. `HOST` in it is the host with its port.
pub type Way = (&'static str, &'static str, &'static str);

pub const MARKUP: &[Way] = &[
    ("image", "srcset", r#"<img srcset="http://HOST/1.png 1x, http://HOST/2.png 2x" alt="">"#),
    (
        "image",
        "picture",
        r#"<picture><source srcset="http://HOST/a.png"><img src="/own.png" alt=""></picture>"#,
    ),
    ("image", "button", r#"<input type="image" src="http://HOST/b.png" alt="">"#),
    (
        "image",
        "lazy",
        r#"<img loading="lazy" width="9" height="9" src="http://HOST/l.png" alt="">"#,
    ),
    ("image", "poster", r#"<video poster="http://HOST/p.png"></video>"#),
    (
        "image",
        "drawn",
        r#"<svg width="9" height="9"><image href="http://HOST/i.png" width="9" height="9"/></svg>"#,
    ),
    (
        "image",
        "filtered",
        r##"<svg width="9" height="9"><filter id="f"><feImage href="http://HOST/f.png"/></filter>
        <rect width="9" height="9" filter="url(#f)"/></svg>"##,
    ),
    ("media", "audio", r#"<audio src="http://HOST/a.mp3" preload="auto"></audio>"#),
    ("media", "source", r#"<video preload="auto"><source src="http://HOST/v.webm"></video>"#),
    (
        "media",
        "track",
        r#"<video crossorigin src="/own.webm"><track default kind="captions" src="http://HOST/t.vtt"></video>"#,
    ),
    ("object", "embed", r#"<embed src="http://HOST/e.svg" type="image/svg+xml">"#),
    (
        "frame",
        "framed",
        r#"<iframe srcdoc="&lt;iframe src='http://HOST/'&gt;&lt;/iframe&gt;"></iframe>"#,
    ),
    ("image", "srcdoc", r#"<iframe srcdoc="&lt;img src='http://HOST/i.png'&gt;"></iframe>"#),
    ("image", "datadoc", r#"<iframe src="data:text/html,<img src='http://HOST/i.png'>"></iframe>"#),
    (
        "image",
        "sandboxed",
        r#"<iframe sandbox srcdoc="&lt;img src='http://HOST/i.png'&gt;"></iframe>"#,
    ),
    ("image", "nested", r#"<iframe src="/nested"></iframe>"#),
    ("frame", "refreshed", r#"<iframe src="/refreshed"></iframe>"#),
    (
        "frame",
        "submitted",
        r#"<iframe name="to"></iframe><form id="f1" target="to" method="post"
        action="http://HOST/f"></form><script>f1.submit()</script>"#,
    ),
    ("script", "module", r#"<script type="module" src="http://HOST/m.js"></script>"#),
    ("script", "imported", r#"<script type="module">import "http://HOST/m.js"</script>"#),
    ("script", "dynamic", r#"<script>import("http://HOST/d.js").catch(() => {})</script>"#),
    ("script", "deferred", r#"<script defer src="http://HOST/d.js"></script>"#),
    ("style", "printed", r#"<link rel="stylesheet" media="print" href="http://HOST/p.css">"#),
    ("style", "import", r#"<style>@import url("http://HOST/i.css");</style>"#),
    ("style", "chained", r#"<link rel="stylesheet" href="/chained.css">"#),
    ("image", "background", r#"<div style="background:url(http://HOST/b.png)">Text</div>"#),
    (
        "image",
        "bullet",
        r#"<ul><li style="list-style-image:url(http://HOST/b.png)">Text</li></ul>"#,
    ),
    (
        "image",
        "border",
        r#"<p style="border:3px solid;border-image:url(http://HOST/b.png) 3">Text</p>"#,
    ),
    (
        "image",
        "content",
        r#"<style>.c::before{content:url(http://HOST/c.png)}</style><p class="c">Text</p>"#,
    ),
    ("image", "masked", r#"<p style="mask-image:url(http://HOST/m.png)">Text</p>"#),
    (
        "image",
        "cursor",
        r#"<style>html,body{min-height:100%;cursor:url(http://HOST/c.png),auto}</style>"#,
    ),
    (
        "image",
        "shadowed",
        r#"<div><template shadowrootmode="open"><style>:host{background:url(http://HOST/s.png)}
        </style></template></div>"#,
    ),
    (
        "preload",
        "preloadfont",
        r#"<link rel="preload" as="font" crossorigin href="http://HOST/f.woff2">"#,
    ),
    (
        "preload",
        "preloadfetch",
        r#"<link rel="preload" as="fetch" crossorigin href="http://HOST/f.txt">"#,
    ),
    ("preload", "modulepreload", r#"<link rel="modulepreload" href="http://HOST/m.js">"#),
    ("preconnect", "connectcors", r#"<link rel="preconnect" crossorigin href="http://HOST">"#),
    (
        "prefetch",
        "later",
        r#"<script>const l = document.createElement("link"); l.rel = "prefetch";
        l.href = "http://HOST/l"; document.head.append(l)</script>"#,
    ),
    ("image", "icon", r#"<link rel="icon" href="http://HOST/icon.png">"#),
    ("other", "manifest", r#"<link rel="manifest" href="http://HOST/app.webmanifest">"#),
];

pub const SCRIPTS: &[Way] = &[
    ("fetch", "opaque", r#"fetch("http://HOST/f", {mode: "no-cors"})"#),
    ("fetch", "posted", r#"fetch("http://HOST/f", {method: "POST", body: "x", mode: "no-cors"})"#),
    ("fetch", "preflighted", r#"fetch("http://HOST/f", {method: "PUT"}).catch(() => {})"#),
    (
        "beacon",
        "hidden",
        r#"addEventListener("visibilitychange", () => document.hidden && navigator.sendBeacon("http://HOST/b"))"#,
    ),
    (
        "fetch",
        "kept",
        r#"addEventListener("pagehide", () => fetch("http://HOST/k", {keepalive: true, mode: "no-cors"}))"#,
    ),
    (
        "beacon",
        "keptpost",
        r#"addEventListener("pagehide", () => fetch("http://HOST/k", {keepalive: true, method: "POST", body: "x", mode: "no-cors"}))"#,
    ),
    (
        "beacon",
        "unloaded",
        r#"addEventListener("unload", () => navigator.sendBeacon("http://HOST/u", "x"))"#,
    ),
    (
        "beacon",
        "framed",
        r#"const e = document.createElement("iframe"); document.body.append(e);
        e.contentWindow.addEventListener("pagehide", () => navigator.sendBeacon("http://HOST/f"))"#,
    ),
    ("image", "idle", r#"requestIdleCallback(() => { new Image().src = "http://HOST/i.png" })"#),
    ("image", "last", r#"setTimeout(() => { new Image().src = "http://HOST/i.png" }, 800)"#),
    ("image", "own-redirect", r#"new Image().src = "/redirect-image""#),
    ("fetch", "fetch-redirect", r#"fetch("/redirect-fetch", {mode: "no-cors"})"#),
    ("script", "written", r#"document.write('<script src="http://HOST/w.js"></' + 'script>')"#),
    (
        "script",
        "appended",
        r#"const s = document.createElement("script"); s.src = "http://HOST/a.js"; document.head.append(s)"#,
    ),
    ("font", "face", r#"new FontFace("G", "url(http://HOST/g.woff2)").load().catch(() => {})"#),
    (
        "image",
        "sheet",
        r#"const c = new CSSStyleSheet(); c.replaceSync("html{background:url(http://HOST/c.png)}");
        document.adoptedStyleSheets.push(c)"#,
    ),
    ("media", "player", r#"new Audio("http://HOST/a.mp3").load()"#),
    (
        "fetch",
        "emptyframe",
        r#"const w = document.createElement("iframe"); document.body.append(w);
        w.contentWindow.fetch("http://HOST/w", {mode: "no-cors"})"#,
    ),
    (
        "image",
        "blobframe",
        r#"const b = document.createElement("iframe"); b.src = URL.createObjectURL(
        new Blob(["<img src=http://HOST/b.png>"], {type: "text/html"})); document.body.append(b)"#,
    ),
    (
        "fetch",
        "blobworker",
        r#"new Worker(URL.createObjectURL(new Blob(
        ["fetch('http://HOST/b', {mode: 'no-cors'})"])))"#,
    ),
    (
        "fetch",
        "nestedworker",
        r#"new Worker(URL.createObjectURL(new Blob([`new Worker(URL.createObjectURL(new Blob(
        ["fetch('http://HOST/n', {mode: 'no-cors'})"])))`])))"#,
    ),
    ("fetch", "sharedworker", r#"new SharedWorker("/shared.js")"#),
    (
        "script",
        "workerscript",
        r#"new Worker(URL.createObjectURL(new Blob(["importScripts('http://HOST/i.js')"])))"#,
    ),
    (
        "websocket",
        "workersocket",
        r#"new Worker(URL.createObjectURL(new Blob(["new WebSocket('ws://HOST/')"])))"#,
    ),
    ("fetch", "serviceworker", r#"navigator.serviceWorker.register("/service.js")"#),
    (
        "script",
        "serviceimport",
        r#"navigator.serviceWorker.register("/importing.js", {scope: "/other/"}).catch(() => {})"#,
    ),
    (
        "fetch",
        "moved",
        r#"addEventListener("mousemove", () => fetch("http://HOST/m", {mode: "no-cors"}), {once: true})"#,
    ),
    (
        "fetch",
        "scrolled",
        r#"addEventListener("scroll", () => fetch("http://HOST/s", {mode: "no-cors"}), {once: true})"#,
    ),
    (
        "fetch",
        "watched",
        r#"const p = document.createElement("p"); p.style.marginTop = "4000px"; document.body.append(p);
        new IntersectionObserver(([seen]) => seen.isIntersecting && fetch("http://HOST/w", {mode: "no-cors"})).observe(p)"#,
    ),
    (
        "webrtc",
        "stun",
        r#"const r = new RTCPeerConnection({iceServers: [{urls: "stun:HOST"}]});
        r.createDataChannel("c"); r.createOffer().then((offer) => r.setLocalDescription(offer))"#,
    ),
    ("report", "csp", r#"new Image().src = "/refused/r.png""#),
    (
        "preconnect",
        "connecting",
        r#"const k = document.createElement("link"); k.rel = "preconnect";
        k.href = "http://HOST"; document.head.append(k)"#,
    ),
    (
        "prefetch",
        "speculated",
        r#"const q = document.createElement("script"); q.type = "speculationrules";
        q.textContent = '{"prefetch": [{"source": "list", "urls": ["http://HOST/p"], "eagerness": "immediate"}]}';
        document.head.append(q)"#,
    ),
    (
        "frame",
        "located",
        r#"const t = document.createElement("iframe"); document.body.append(t);
        t.contentWindow.location = "http://HOST/t""#,
    ),
    (
        "fetch",
        "streamed",
        r#"WebAssembly.compileStreaming(fetch("http://HOST/w.wasm")).catch(() => {})"#,
    ),
    (
        "eventsource",
        "workerevents",
        r#"new Worker(URL.createObjectURL(new Blob(["new EventSource('http://HOST/a.events')"])))"#,
    ),
    (
        "eventsource",
        "eventframe",
        r#"document.querySelector("iframe").contentWindow.eval("new EventSource('http://HOST/a.events')")"#,
    ),
];

/// Markup that names another site without asking it.
pub const QUIET: &[&str] = &[
    r#"<noscript><img src="http://quiet.localhost:PORT/n.png" alt=""></noscript>"#,
    r#"<template><img src="http://quiet.localhost:PORT/t.png" alt=""></template>"#,
    r#"<a href="http://quiet.localhost:PORT/a">Link</a>"#,
    r#"<link rel="canonical" href="http://quiet.localhost:PORT/c">"#,
    r#"<link rel="alternate" hreflang="de" href="http://quiet.localhost:PORT/de">"#,
    r#"<link rel="next" href="http://quiet.localhost:PORT/2">"#,
    r#"<link rel="dns-prefetch" href="http://quiet.localhost:PORT">"#,
    r#"<video preload="none" src="http://quiet.localhost:PORT/v.mp4"></video>"#,
    r#"<script type="text/plain" src="http://quiet.localhost:PORT/s.js"></script>"#,
    r#"<iframe data-src="http://quiet.localhost:PORT/f"></iframe>"#,
    r#"<!-- <img src="http://quiet.localhost:PORT/c.png"> -->"#,
    r#"<div hidden><iframe loading="lazy" src="about:blank"></iframe></div>"#,
    r#"<form action="http://quiet.localhost:PORT/form"><button>Send</button></form>"#,
    r#"<script>window.name = "http://quiet.localhost:PORT/"; new URL("http://quiet.localhost:PORT/")</script>"#,
];

/// Requests that the page's own policy stops, so that nothing is sent.
pub const REFUSED: &[&str] = &[
    r#"<img src="http://quiet.localhost:PORT/i.png" alt="">"#,
    r#"<script src="http://quiet.localhost:PORT/s.js"></script>"#,
    r#"<link rel="stylesheet" href="http://quiet.localhost:PORT/s.css">"#,
    r#"<script>fetch("http://quiet.localhost:PORT/f").catch(() => {})</script>"#,
    r#"<script>navigator.sendBeacon("http://quiet.localhost:PORT/b")</script>"#,
    r#"<script>try { new WebSocket("ws://quiet.localhost:PORT/") } catch {}</script>"#,
    r#"<script>new Image().src = "/away.png"</script>"#,
];
