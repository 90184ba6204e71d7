/** GET /console and GET /docs: the pages for people, from files that were built with the service; GET / leads to the console.
 *  Never sends anything that a caller or the journal wrote: the console reads that over the API. */
import type { FastifyReply, FastifyRequest } from 'fastify';
import { problem } from '../../contract/problem.ts';
import type { App } from '../app.ts';
import { INDEX, type PageFile, type PageFiles } from '../page-files.ts';
import { pagePolicy } from '../page-headers.ts';
import { replyWithProblem } from '../problem-reply.ts';
import { isTrustedOrigin } from '../trusted-origin.ts';

/** Only files of the service itself run, and no text becomes markup or script. */
const POLICY = pagePolicy({
  'img-src': "'self' blob:",
  'media-src': 'blob:',
  'require-trusted-types-for': "'script'",
});

const HEADERS = {
  'content-security-policy': POLICY,
  'referrer-policy': 'no-referrer',
  'cross-origin-resource-policy': 'same-origin',
  vary: 'accept-encoding',
};

/** Where it does not trust the origin, a browser ignores the opener policy, and writes an error each time. */
function headersOf(request: FastifyRequest): Record<string, string> {
  if (!isTrustedOrigin(request)) return HEADERS;
  return { ...HEADERS, 'cross-origin-opener-policy': 'same-origin' };
}

const FOR_EVER = 'public, max-age=31536000, immutable';
/** Caching of a page and of a file without a hash in its name: a browser asks each time, and mostly gets 304. */
const ASK_EACH_TIME = 'no-cache';

const schema = { hide: true };

/** The pages of the documentation with their first sentences, for models. */
const LLMS = 'llms.txt';

interface Pages {
  readonly root: '/console' | '/docs';
  readonly title: string;
  /** null: they are not built, and the answer says how to build them. */
  readonly files: PageFiles | null;
  /** The file of an address below the root; undefined: there is none. */
  readonly fileOf: (files: PageFiles, path: string) => PageFile | undefined;
}

export function consoleRoutes(app: App, files: PageFiles | null): void {
  app.get('/', { schema }, async (request, reply) =>
    reply.headers(headersOf(request)).redirect('/console/', 302),
  );
  pageRoutes(app, {
    root: '/console',
    title: 'The console',
    files,
    // The console itself knows every address that is not an asset.
    fileOf: (all, path) => all.get(path) ?? (path.startsWith('assets/') ? undefined : all.get(INDEX)),
  });
}

/** The reference of the API below `/docs/api` is not of these files: openapi.ts serves it. */
export function docsRoutes(app: App, files: PageFiles | null): void {
  pageRoutes(app, {
    root: '/docs',
    title: 'The documentation',
    files,
    fileOf: (all, path) =>
      all.get(path === '' ? INDEX : path) ?? all.get(`${path.replace(/\.md$/, '')}.html`),
  });
  app.get(`/${LLMS}`, { schema }, async (request, reply) => {
    const file = files?.get(LLMS);
    return file === undefined ? notFound(reply, `/${LLMS}`) : send(request, reply, file);
  });
}

function pageRoutes(app: App, { root, title, files, fileOf }: Pages): void {
  app.get(root, { schema }, async (request, reply) =>
    reply.headers(headersOf(request)).redirect(`${root}/`, 308),
  );
  app.get(`${root}/*`, { schema }, async (request, reply) => {
    const path = (request.params as { '*': string })['*'];
    if (files === null)
      return reply
        .code(503)
        .headers(headersOf(request))
        .type('text/plain; charset=utf-8')
        .send(notBuilt(title));
    const file = fileOf(files, path);
    return file === undefined ? notFound(reply, `${root}/${path}`) : send(request, reply, file);
  });
}

function notBuilt(title: string): string {
  return (
    `${title} is not built: \`npm run build\` in the folder of the service builds it; then start the service again. ` +
    'Everything else works: `adjutant --help`, /docs/api.\n'
  );
}

function notFound(reply: FastifyReply, path: string): FastifyReply {
  const detail = `${path.slice(0, 200)} is not a page of this version: reload the page, or begin at /docs/ or /console/.`;
  void reply.headers(headersOf(reply.request)).header('cache-control', 'no-store');
  return replyWithProblem(reply, { problem: problem('not_found', { detail }), retryAfterSeconds: null });
}

function send(request: FastifyRequest, reply: FastifyReply, file: PageFile): FastifyReply {
  const { type, isHashed, etag } = file;
  const { headers } = request;
  void reply.headers(headersOf(request)).header('etag', etag);
  void reply.header('cache-control', isHashed ? FOR_EVER : ASK_EACH_TIME);
  if (namesTag(headers['if-none-match'], etag)) return reply.code(304).send();
  const [body, encoding] = formOf(file, headers['accept-encoding'] ?? '');
  if (encoding !== null) void reply.header('content-encoding', encoding);
  return reply.type(type).send(body);
}

/** A proxy that compresses anew marks the tag as weak. */
function namesTag(header: string | undefined, etag: string): boolean {
  return (header ?? '').split(',').some((each) => each.trim().replace(/^W\//, '') === etag);
}

function formOf(file: PageFile, accepted: string): [body: Buffer, encoding: string | null] {
  const gzip = /(?:^|[, ])gzip(?!;q=0(?:\.0*)?(?:,|$))/.test(accepted) ? file.gzip() : null;
  return gzip === null ? [file.plain, null] : [gzip, 'gzip'];
}
