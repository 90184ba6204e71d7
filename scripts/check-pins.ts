/** Checks that everything an installation fetches is fixed by its content: every package by an integrity, every image by a digest.
 *  It must not ask a registry: `deploy/pin-digests --check` does. */
import { globSync, readFileSync } from 'node:fs';

interface LockEntry {
  readonly integrity?: string;
  readonly link?: boolean;
}

/** Published images whose digest has not been read from their registry yet: `deploy/pin-digests` writes it. */
const WITHOUT_DIGEST = ['cr.jaegertracing.io/jaegertracing/jaeger:2.13.0'];
/** An image is named as a default that a variable may replace, or in a `FROM` of its own. */
const IMAGE = /^(?:ARG NODE_IMAGE=|\s+image: \$\{[A-Z]+_IMAGE:-)([^\s}]+)\}?$/gm;
const LITERAL = /^(?:FROM (?!\$\{NODE_IMAGE\})|\s+image: (?!\$\{|adjutant$))(.+)$/gm;
const DIGEST = /@sha256:[0-9a-f]{64}$/;

function packagesWithoutIntegrity(): string[] {
  const { packages } = JSON.parse(readFileSync('package-lock.json', 'utf8')) as {
    packages: Record<string, LockEntry>;
  };
  return (
    Object.entries(packages)
      // The clone itself and its workspaces have none.
      .filter(
        ([path, { integrity, link }]) =>
          path.includes('node_modules/') && link !== true && integrity === undefined,
      )
      .map(
        ([path]) => `package-lock.json: ${path} has no integrity, so that npm ci takes whatever it is sent`,
      )
  );
}

function imagesWithoutDigest(file: string): string[] {
  const text = readFileSync(file, 'utf8');
  const literals = [...text.matchAll(LITERAL)].map(([, image]) => `${file}: ${image} is not a variable`);
  const images = [...text.matchAll(IMAGE)].map(([, image = '']) => image);
  return [
    ...literals,
    ...images
      .filter((image) => !DIGEST.test(image) && !WITHOUT_DIGEST.includes(image))
      .map((image) => `${file}: ${image} has no digest; deploy/pin-digests writes it`),
  ];
}

const files = ['Dockerfile', 'docker-compose.yml', ...globSync('deploy/*/docker-compose.yml')];
const faults = [...packagesWithoutIntegrity(), ...files.flatMap(imagesWithoutDigest)];
for (const fault of faults) console.error(fault);
process.exitCode = faults.length === 0 ? 0 : 1;
