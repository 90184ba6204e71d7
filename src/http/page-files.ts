/** Built pages as they are served, the console and the documentation: files read once, each in the forms that a browser accepts.
 *  Never reads a file whose name came with a request. */
import { createHash } from 'node:crypto';
import { globSync, readFileSync } from 'node:fs';
import { extname, join, sep } from 'node:path';

/** A built asset carries a hash in its name, and never changes. */
const HASHED = /^assets\/.+-[\w-]{8,}\.\w+$/;
const MOST_BYTES = 32 * 1024 * 1024;

const TYPES: Readonly<Record<string, string>> = {
  '.css': 'text/css; charset=utf-8',
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.png': 'image/png',
  '.svg': 'image/svg+xml',
  '.woff2': 'font/woff2',
};

export interface PageFile {
  readonly type: string;
  readonly isHashed: boolean;
  readonly etag: string;
  readonly plain: Buffer;
  /** Absent: there is no such form. */
  readonly br?: Buffer;
  readonly gzip?: Buffer;
}

/** Files by their path within the folder, such as `assets/index-….js`. */
export type PageFiles = ReadonlyMap<string, PageFile>;

export const INDEX = 'index.html';

/** null: the folder is not built, or not whole. */
export function readPages(folder: string): PageFiles | null {
  const bodies = bodiesOf(folder);
  const files = new Map<string, PageFile>();
  for (const [path, plain] of bodies) {
    const type = TYPES[extname(path)];
    if (type === undefined) continue;
    const br = bodies.get(`${path}.br`);
    const gzip = bodies.get(`${path}.gz`);
    const etag = `"${createHash('sha256').update(plain).digest('base64url').slice(0, 27)}"`;
    const forms = { plain, ...(br && { br }), ...(gzip && { gzip }) };
    files.set(path, { type, isHashed: HASHED.test(path), etag, ...forms });
  }
  return files.has(INDEX) ? files : null;
}

/** Empty where the folder is missing, or far larger than any build. */
function bodiesOf(folder: string): Map<string, Buffer> {
  const bodies = new Map<string, Buffer>();
  let bytes = 0;
  for (const entry of globSync('**/*.{html,js,css,png,svg,woff2,br,gz}', { cwd: folder })) {
    const body = readFileSync(join(folder, entry));
    bytes += body.length;
    if (bytes > MOST_BYTES) return new Map();
    bodies.set(entry.split(sep).join('/'), body);
  }
  return bodies;
}
