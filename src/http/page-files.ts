/** Built pages as they are served, the console and the documentation: files read once, and compressed when a browser first asks for them.
 *  Never reads a file whose name came with a request. */
import { createHash } from 'node:crypto';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { extname, join, sep } from 'node:path';
import { brotliDecompressSync, constants, gzipSync } from 'node:zlib';

/** A built asset carries a hash in its name, and never changes. */
const HASHED = /^assets\/.+-[\w-]{8,}\.\w+$/;
const MOST_BYTES = 32 * 1024 * 1024;
const LEAST_COMPRESSED_BYTES = 512;
const COMPRESSED = /^text\/|svg/;

const TYPES: Readonly<Record<string, string>> = {
  '.css': 'text/css; charset=utf-8',
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.png': 'image/png',
  '.svg': 'image/svg+xml',
  '.txt': 'text/plain; charset=utf-8',
  '.woff2': 'font/woff2',
};

export interface PageFile {
  readonly type: string;
  readonly isHashed: boolean;
  readonly etag: string;
  readonly plain: Buffer;
  /** The file compressed; null: it does not gain. */
  gzip(): Buffer | null;
}

/** Files by their path within the folder, such as `assets/index-….js`. */
export type PageFiles = ReadonlyMap<string, PageFile>;

export const INDEX = 'index.html';

/** The texts of a folder of the package: a compressed object of JSON, by their paths. */
export const PACKED_PAGES = 'pages.json.br';

/** null: the folder is not built, or not whole. */
export function readPages(folder: string): PageFiles | null {
  const files = new Map<string, PageFile>();
  for (const [path, plain] of bodiesOf(folder)) {
    const type = TYPES[extname(path)];
    if (type === undefined) continue;
    const etag = `"${createHash('sha256').update(plain).digest('base64url').slice(0, 27)}"`;
    files.set(path, { type, isHashed: HASHED.test(path), etag, plain, gzip: compressedOnce(type, plain) });
  }
  return files.has(INDEX) ? files : null;
}

/** Pictures and fonts are compressed already, and small files do not gain. */
function compressedOnce(type: string, plain: Buffer): () => Buffer | null {
  let made: Buffer | null = null;
  if (plain.length < LEAST_COMPRESSED_BYTES || !COMPRESSED.test(type)) return () => null;
  return () => (made ??= gzipSync(plain, { level: constants.Z_BEST_COMPRESSION }));
}

/** Empty where the folder is missing, or far larger than any build. */
function bodiesOf(folder: string): Map<string, Buffer> {
  const bodies = packedIn(folder);
  let bytes = 0;
  for (const entry of globSync('**/*.{html,js,css,png,svg,txt,woff2}', { cwd: folder })) {
    const body = readFileSync(join(folder, entry));
    bytes += body.length;
    if (bytes > MOST_BYTES) return new Map();
    bodies.set(entry.split(sep).join('/'), body);
  }
  return bodies;
}

function packedIn(folder: string): Map<string, Buffer> {
  const file = join(folder, PACKED_PAGES);
  if (!existsSync(file)) return new Map();
  const packed = brotliDecompressSync(readFileSync(file), { maxOutputLength: MOST_BYTES });
  const texts = Object.entries(JSON.parse(packed.toString()) as Record<string, string>);
  return new Map(texts.map(([path, text]) => [path, Buffer.from(text)]));
}
