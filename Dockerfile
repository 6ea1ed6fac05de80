# Vitrine in a container; docs/operate/deployment.md has the steps.
#
#   docker build --tag vitrine .
#   docker run --rm --publish 127.0.0.1:3000:3000 vitrine

# Another base image: --build-arg NODE_IMAGE=…
ARG NODE_IMAGE=node:24-trixie-slim@sha256:50c3b2f6988dfc307b86e5301d69611af31f4789bdf232863b07d3b02fe55ae0

# Build the server and the browser files, with the development packages. Both first stages run on the machine that builds,
# whatever it builds for, and the last one runs no command. So an image for another processor needs no emulation:
#
#   docker buildx build --platform linux/amd64,linux/arm64 --tag REGISTRY/vitrine --push .
FROM --platform=${BUILDPLATFORM} ${NODE_IMAGE} AS build
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
RUN --mount=type=cache,target=/root/.npm npm ci --ignore-scripts
COPY tsconfig.json ./
COPY scripts scripts
COPY views views
COPY public public
COPY src src
RUN npm run build && find dist '(' -name '*.map' -o -name package-lock.json -o -name '.*-stamp' ')' -delete

# Packages of the server, with the native ones of the target. This Node has SQLite, so it does not need the package for it.
FROM --platform=${BUILDPLATFORM} ${NODE_IMAGE} AS packages
ARG TARGETARCH
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
RUN --mount=type=cache,target=/root/.npm \
  npm ci --omit=dev --ignore-scripts --os=linux --libc=glibc --cpu=$(echo "$TARGETARCH" | sed s/amd64/x64/) \
  && rm -r node_modules/@photostructure
# Of the group 0, in which OpenShift runs any user. COPY keeps the mode of folders inside the copied one.
RUN mkdir --parents /app/volume/data && chmod g=u /app/volume/data

FROM ${NODE_IMAGE}
LABEL org.opencontainers.image.title="Vitrine" \
      org.opencontainers.image.description="Where-to-buy boxes and deal grids, rendered on the server from a product catalog" \
      org.opencontainers.image.licenses="MIT"
WORKDIR /app
COPY package.json LICENSE compose.yaml ./
COPY deploy deploy
COPY --from=packages /app/node_modules node_modules
COPY views views
COPY --from=build /app/public public
COPY --from=build /app/dist dist

# The only writable folder. It is also the current one, so that imports can write rejected rows there.
COPY --from=packages --chown=1000:0 /app/volume /
WORKDIR /data

# The user "node" by its number, so that an orchestrator can check that it is not root.
USER 1000:1000

# The heap of each thread in MB, for the memory limit of docs/operate/health-and-metrics.md.
ENV NODE_ENV=production \
    NODE_OPTIONS=--max-old-space-size=256 \
    VITRINE_HOST=0.0.0.0 \
    VITRINE_PORT=3000 \
    VITRINE_DATABASE_URL=sqlite:/data/vitrine.db \
    VITRINE_CATALOG_DATABASE_URL=sqlite:/data/catalog.db
EXPOSE 3000

HEALTHCHECK --interval=10s --timeout=3s --start-period=30s --retries=3 \
  CMD ["node", "-e", "fetch('http://127.0.0.1:' + (process.env.VITRINE_PORT || process.env.PORT || '3000').trim() + '/healthz').then((r) => process.exit(r.ok ? 0 : 1), () => process.exit(1))"]

# Node is process 1 and receives the signals: SIGTERM stops it within 10 s, SIGHUP reads the key file again.
ENTRYPOINT ["node", "/app/dist/main.js"]
CMD ["serve"]
