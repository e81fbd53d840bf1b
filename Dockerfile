# The service in a container: port 8000, an unprivileged user, and no writes to its root. A volume at
# /var/lib/assent contains the file of LOG_STATE.
#
#   docker build -t assent .
#   docker build -t assent-chromium --build-arg WITH_CHROMIUM=1 .     with a browser that watches sites
#
# compose.yaml runs it with PostgreSQL and a proxy; see docs/operating.md.

FROM rust:1-bookworm AS builder
# Go builds the bundler of the browser scripts.
RUN apt-get update \
    && apt-get install --yes --no-install-recommends golang-go \
    && rm -rf /var/lib/apt/lists/*
WORKDIR /source

# The libraries are built first, with an empty program: this layer is reused until they or .cargo change.
COPY .cargo .cargo
COPY Cargo.toml Cargo.lock ./
RUN mkdir src \
    && echo 'fn main() {}' | tee src/main.rs > build.rs \
    && touch src/lib.rs \
    && cargo build --release --locked

COPY .sqlx .sqlx
COPY assets assets
COPY migrations migrations
COPY scripts-src scripts-src
COPY templates templates
COPY build.rs ./
COPY docs/tag.md docs/webhooks.md docs/
COPY skills skills
COPY src src
# Cargo compares modification times, and these files may be older than the empty program that was just built.
RUN touch build.rs src/main.rs src/lib.rs \
    && cargo build --release --locked

FROM debian:bookworm-slim
RUN useradd --system --uid 10001 --no-create-home --home-dir /nonexistent --shell /usr/sbin/nologin assent \
    && install --directory --owner=10001 --group=10001 --mode=0700 /var/lib/assent
# 1 adds a browser, and fonts with the letters of the 39 languages of the popup.
ARG WITH_CHROMIUM=0
RUN if [ "$WITH_CHROMIUM" = 1 ]; then \
        apt-get update \
        && apt-get install --yes --no-install-recommends chromium fonts-noto-core fonts-noto-cjk \
        && rm -rf /var/lib/apt/lists/*; \
    fi
COPY --from=builder /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/
COPY --from=builder /source/target/release/assent /usr/local/bin/
WORKDIR /srv/assent
COPY Rocket.toml ./

ENV ROCKET_ADDRESS=0.0.0.0
USER 10001:10001
EXPOSE 8000
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s CMD ["assent", "healthcheck"]
ENTRYPOINT ["assent"]
CMD ["serve"]
