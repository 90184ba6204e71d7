// The pages of a login: plain HTML without scripts, in which every text from outside is escaped.
// Must never show a host's text as markup, nor be framed.
import { createHash } from 'node:crypto';
import type { ApiReply } from '../../http/app.ts';
import { pagePolicy } from '../../http/page-headers.ts';

const STYLE = `
:root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif; }
html { background: Canvas; color: CanvasText; }
body { max-width: 34rem; margin: 3rem auto; padding: 0 1rem; overflow-wrap: anywhere; }
h1 { font-size: 1.3rem; }
dt { font-weight: 600; margin-top: .6rem; }
dd { margin: 0; }
input, button { font: inherit; padding: .5rem .8rem; }
input { width: 100%; box-sizing: border-box; margin: .3rem 0 .8rem; }
.warning { border-left: 4px solid #b45309; padding-left: .8rem; }
`;

/** A form may only go to this service: the way to the host is a page of its own, not the answer to the form. */
export const PAGE_HEADERS: Readonly<Record<string, string>> = {
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy': pagePolicy({
    'script-src': "'none'",
    'style-src': `'sha256-${createHash('sha256').update(STYLE).digest('base64')}'`,
    'img-src': "'none'",
    'font-src': "'none'",
    'connect-src': "'none'",
  }),
  'x-frame-options': 'DENY',
  'cache-control': 'no-store',
  // A form's Origin is sent to this service alone; a host never sees the address of the page.
  'referrer-policy': 'same-origin',
};

export function answer(reply: ApiReply, html: string, status = 200): ApiReply {
  return reply.code(status).headers(PAGE_HEADERS).serializer(String).send(html);
}

const ESCAPES: ReadonlyMap<string, string> = new Map([
  ['&', '&amp;'],
  ['<', '&lt;'],
  ['>', '&gt;'],
  ['"', '&quot;'],
  ["'", '&#39;'],
]);

export function escaped(text: string): string {
  return text.replaceAll(/[&<>"']/g, (each) => ESCAPES.get(each) ?? '');
}

export function page(title: string, body: string, head = ''): string {
  return `<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">${head}<title>${escaped(title)} · Adjutant</title><style>${STYLE}</style></head><body><main>${body}</main></body></html>`;
}

export interface ShownHost {
  readonly name: string;
  /** The client's address, where it describes itself by a document. */
  readonly document: string | null;
  readonly redirect: string;
}

/** Where the browser goes afterwards: the part that tells who gets the code. */
function shownTarget(redirect: string): string {
  const { protocol, host, hostname } = new URL(redirect);
  const isLocal = /^(localhost|127\.0\.0\.1|\[::1\])$/.test(hostname);
  if (protocol === 'http:' && isLocal) return 'a program on this computer';
  return protocol === 'https:' ? host : `the program that opens ${protocol} addresses`;
}

function hostPart({ name, document, redirect }: ShownHost): string {
  const described =
    document === null
      ? 'It registered itself: its name is not verified.'
      : `It is described at ${escaped(document)}.`;
  return `<dt>Host</dt><dd>“${escaped(name)}”<br>${described}</dd><dt>Sends you back to</dt><dd><strong>${escaped(shownTarget(redirect))}</strong></dd>`;
}

export interface SignInPage {
  readonly host: ShownHost;
  /** The address of the forms. */
  readonly action: string;
  /** The issuer's name; null: people have keys alone. */
  readonly issuer: string | null;
  readonly fault: string | null;
}

export function signInPage({ host, action, issuer, fault }: SignInPage): string {
  const issuerPart =
    issuer === null
      ? ''
      : `<p><a href="${escaped(action)}/issuer">Sign in with ${escaped(issuer)}</a></p><p>Or with a key:</p>`;
  const faultPart = fault === null ? '' : `<p class="warning" role="alert">${escaped(fault)}</p>`;
  return page(
    'Sign in',
    `<h1>A host asks for access to your tools</h1><dl>${hostPart(host)}</dl>${faultPart}${issuerPart}<form method="post" action="${escaped(action)}"><label>API key<input type="password" name="key" required autocomplete="off" maxlength="512"></label><button name="act" value="key">Sign in</button> <button name="act" value="deny" formnovalidate>Cancel</button></form>`,
  );
}

export interface ConsentPage {
  readonly host: ShownHost;
  readonly action: string;
  readonly proof: string;
  readonly person: string;
  readonly tenant: string;
  readonly scopes: readonly string[];
  readonly tools: string;
  /** When the login ends at the latest. */
  readonly until: string;
}

const MEANINGS: ReadonlyMap<string, string> = new Map([
  ['read', 'read requests, results and tools'],
  ['submit', 'call tools and start agents'],
  ['cancel', 'cancel calls and runs'],
  ['decide', 'approve calls and answer questions'],
  ['redrive', 'repeat work that has failed'],
]);

export function consentPage(shown: ConsentPage): string {
  const { host, action, proof, person, tenant, scopes, tools, until } = shown;
  const rights = scopes.map(
    (scope) => `<li><code>${escaped(scope)}</code>: ${MEANINGS.get(scope) ?? ''}</li>`,
  );
  return page(
    'Allow access',
    `<h1>Allow this host to use your tools?</h1><dl>${hostPart(host)}<dt>You are</dt><dd>${escaped(person)}</dd><dt>Tenant</dt><dd>${escaped(tenant)}</dd><dt>It may</dt><dd><ul>${rights.join('')}</ul></dd><dt>Tools</dt><dd>${escaped(tools)}</dd><dt>Until</dt><dd>${escaped(until)}, or until the host signs out</dd></dl><p class="warning">Allow it only if you have just asked this host to connect.</p><form method="post" action="${escaped(action)}"><input type="hidden" name="proof" value="${escaped(proof)}"><button name="act" value="allow">Allow</button> <button name="act" value="deny">Deny</button></form>`,
  );
}

export function errorPage(text: string): string {
  return page(
    'Login failed',
    `<h1>This login cannot go on</h1><p>${escaped(text)}</p><p>Begin it again in the host.</p>`,
  );
}

/** Leads on by itself: a redirect after a form would have to be allowed to every address of every host. */
export function onwardPage(url: string): string {
  return page(
    'Back to the host',
    `<p><a href="${escaped(url)}">Continue to the host</a></p>`,
    `<meta http-equiv="refresh" content="0;url=${escaped(url)}">`,
  );
}
