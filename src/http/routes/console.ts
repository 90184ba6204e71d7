/** GET /console: the page for people, from files that were built with the service.
 *  It must never send what a caller or the journal wrote: the page reads that over the API. */
import type { FastifyReply, FastifyRequest } from 'fastify';
import { problem } from '../../contract/problem.ts';
import type { App } from '../app.ts';
import { CONSOLE_INDEX, type ConsoleFile, type ConsoleFiles } from '../console-files.ts';
import { pagePolicy } from '../page-headers.ts';
import { replyWithProblem } from '../problem-reply.ts';
import { isTrustedOrigin } from '../trusted-origin.ts';

const ROOT = '/console';

/** Only what the service itself serves runs, and no text becomes markup or script. */
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
/**
 * Cache rule of the page and of files without a hash in their names: checked each time, and mostly answered with 304.
 */
const ASK_EACH_TIME = 'no-cache';

const NOT_BUILT =
  'The console is not built: `npm run build` in the folder of the service builds it; then start the service again. ' +
  'Everything else works: `adjutant --help`, /docs.\n';

const schema = { hide: true };

/** `files` null: they are not built, and the page says how that is done. */
export function consoleRoutes(app: App, files: ConsoleFiles | null): void {
  app.get(ROOT, { schema }, async (request, reply) =>
    reply.headers(headersOf(request)).redirect(`${ROOT}/`, 308),
  );
  app.get(`${ROOT}/*`, { schema }, async (request, reply) => {
    const path = (request.params as { '*': string })['*'];
    if (files === null)
      return reply.code(503).headers(headersOf(request)).type('text/plain; charset=utf-8').send(NOT_BUILT);
    const file = files.get(path) ?? (isAsset(path) ? undefined : files.get(CONSOLE_INDEX));
    return file === undefined ? notFound(reply, path) : send(request, reply, file);
  });
}

/** All other addresses are pages, which the page itself knows. */
function isAsset(path: string): boolean {
  return path.startsWith('assets/');
}

function notFound(reply: FastifyReply, path: string): FastifyReply {
  const detail = `${ROOT}/${path.slice(0, 200)} is not a file of this build of the console: reload the page.`;
  void reply.headers(headersOf(reply.request)).header('cache-control', 'no-store');
  return replyWithProblem(reply, { problem: problem('not_found', { detail }), retryAfterSeconds: null });
}

function send(request: FastifyRequest, reply: FastifyReply, file: ConsoleFile): FastifyReply {
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

function formOf(file: ConsoleFile, accepted: string): [body: Buffer, encoding: string | null] {
  const accepts = (name: string): boolean =>
    new RegExp(`(?:^|[, ])${name}(?!;q=0(?:\\.0*)?(?:,|$))`).test(accepted);
  if (file.br !== undefined && accepts('br')) return [file.br, 'br'];
  if (file.gzip !== undefined && accepts('gzip')) return [file.gzip, 'gzip'];
  return [file.plain, null];
}
