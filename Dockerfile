# One image for every role; the command names the role.
# It must never run as root, nor hold a key or the sources.
# `deploy/pin-digests` renews the digest. A mirror or a stand-in: `--build-arg NODE_IMAGE=…`.
ARG NODE_IMAGE=node:24.21.0-slim@sha256:0e0ff40c39bc087845bfb27465a0df4ea419520094bc35842ff83dd8cbe6f9b6

FROM ${NODE_IMAGE} AS build
WORKDIR /app
COPY package.json package-lock.json ./
COPY client/package.json ./client/
COPY console/package.json ./console/
RUN npm ci --no-audit --no-fund
COPY tsconfig.json tsconfig.build.json *.md LICENSE ./
COPY scripts ./scripts
COPY src ./src
COPY client ./client
COPY console ./console
COPY examples ./examples
COPY docs ./docs
RUN npm run build

FROM ${NODE_IMAGE} AS dependencies
WORKDIR /app
COPY package.json package-lock.json ./
RUN npm ci --omit=dev --workspaces=false --no-audit --no-fund && npm cache clean --force
# The MCP servers of adjutant.json belong to a clone, not to the package.
RUN set -e; \
    for name in everything filesystem; do \
      package="@modelcontextprotocol/server-$name"; \
      version="$(node -p "require('./package.json').devDependencies['$package']")"; \
      npm install --prefix /app/demo --no-audit --no-fund "$package@$version"; \
      ln -s "/app/demo/node_modules/$package" "node_modules/$package"; \
    done; \
    npm cache clean --force
# More than half of what packages bring is for their development. Licenses stay.
RUN find node_modules demo -type f ! -iname 'licen[cs]e*' ! -iname 'notice*' \
      \( -name '*.map' -o -name '*.ts' -o -name '*.mts' -o -name '*.cts' -o -name '*.md' \) -delete

FROM ${NODE_IMAGE}
LABEL org.opencontainers.image.title="Adjutant" \
      org.opencontainers.image.licenses="Apache-2.0"
# A container is reached through its own address; what reaches it is decided outside.
# Node does not exit while it looks for a name: one that no server answers is given up after 2 s instead of 10 s.
ENV NODE_ENV=production \
    ADJUTANT_HOST=0.0.0.0 \
    RES_OPTIONS="timeout:1 attempts:2"
WORKDIR /app
COPY --from=dependencies /app/node_modules ./node_modules
COPY --from=dependencies /app/demo ./demo
COPY --from=build /app/dist ./dist
COPY package.json adjutant.json LICENSE ./
COPY scripts/*.mjs ./scripts/
COPY schemas ./schemas
COPY examples ./examples
# By number: `runAsNonRoot` of Kubernetes cannot check a name. It is the user `node` of the base image.
USER 1000
# The API, and the port on which the other roles have their health and metrics.
EXPOSE 7420 7421
HEALTHCHECK --interval=10s --timeout=3s --start-period=20s --retries=3 CMD ["node", "scripts/health.mjs"]
ENTRYPOINT ["node", "scripts/adjutant.mjs"]
CMD ["api"]
