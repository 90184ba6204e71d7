/** Headers that tell a browser what to do with an answer: what a page may load, and what is never guessed or kept.
 *  It must never let a page load from another service, nor be framed by one. */
import type { ApiReply, App } from './app.ts';

/** Directives of Content-Security-Policy: a page loads from this service alone, and no other page shows it. */
const PAGE_POLICY = {
  'default-src': "'none'",
  'script-src': "'self'",
  'style-src': "'self'",
  'img-src': "'self'",
  'media-src': "'none'",
  'font-src': "'self'",
  'connect-src': "'self'",
  'base-uri': "'none'",
  'form-action': "'self'",
  'frame-ancestors': "'none'",
};

/** With other directives, or others in their place. */
export function pagePolicy(own: Readonly<Record<string, string>>): string {
  return Object.entries({ ...PAGE_POLICY, ...own })
    .map(([name, sources]) => `${name} ${sources}`)
    .join('; ');
}

/** Call it before anything answers. Routes may replace a header. */
export function setAnswerHeaders(app: App): void {
  app.addHook('onRequest', (request, reply, done) => {
    void reply.header('x-content-type-options', 'nosniff');
    // Answers hold results and keys: no proxy or browser may keep them.
    if (request.url.startsWith('/v1/')) void reply.header('cache-control', 'no-store');
    done();
  });
}

/** Sets the headers that hooks gave to an answer which a route writes itself. */
export function keepHeaders(reply: ApiReply): void {
  for (const [name, value] of Object.entries(reply.getHeaders()))
    if (value !== undefined) reply.raw.setHeader(name, value);
}
