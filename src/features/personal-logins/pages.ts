// The pages of a login at a server: who signs in, for whom the login is stored, and how it ended.
// Must never show a text from outside as markup.
import { escaped, page } from '../host-login/page.ts';

/** Address of the page at which a caller logs in at a server. It holds no secret: each person who opens it stores a login of its own. */
export function loginUrl(publicUrl: string, server: string): string {
  return `${publicUrl}${PATH}/${encodeURIComponent(server)}`;
}

export const PATH = '/login/upstream';

export interface ShownServer {
  readonly name: string;
  readonly host: string;
  /** The address of the forms. */
  readonly action: string;
}

function heading({ name, host }: ShownServer): string {
  return `<h1>Log in at ${escaped(name)}</h1><p>The server is at <strong>${escaped(host)}</strong>.</p>`;
}

/** `issuer`: its name; null: people have keys alone. */
export function signInPage(server: ShownServer, issuer: string | null, fault: string | null): string {
  const { action } = server;
  const way =
    issuer === null
      ? ''
      : `<p><a href="${escaped(action)}/issuer">Sign in with ${escaped(issuer)}</a></p><p>Or with a key or token:</p>`;
  const warning = fault === null ? '' : `<p class="warning" role="alert">${escaped(fault)}</p>`;
  return page(
    'Sign in',
    `${heading(server)}<p>First sign in here as the caller of the call: the login is stored for that caller alone.</p>${warning}${way}<form method="post" action="${escaped(action)}"><label>API key or token<input type="password" name="key" required autocomplete="off" maxlength="16384"></label><button name="act" value="key">Sign in</button></form>`,
  );
}

export interface ConfirmPage {
  readonly server: ShownServer;
  readonly person: string;
  readonly id: string;
  readonly tenant: string;
  readonly proof: string;
  readonly hasLogin: boolean;
}

export function confirmPage({ server, person, id, tenant, proof, hasLogin }: ConfirmPage): string {
  const known = hasLogin ? '<p>A login is stored already; a new one replaces it.</p>' : '';
  const forget = hasLogin ? ' <button name="act" value="forget">Forget the login</button>' : '';
  return page(
    'Log in',
    `${heading(server)}<dl><dt>The login is stored for</dt><dd><strong>${escaped(person)}</strong> (${escaped(id)})</dd><dt>Tenant</dt><dd>${escaped(tenant)}</dd></dl><p class="warning">All calls and runs of this caller act at the server as the account that you log in with.</p>${known}<form method="post" action="${escaped(server.action)}"><input type="hidden" name="proof" value="${escaped(proof)}"><button name="act" value="begin">Continue to the server</button>${forget} <button name="act" value="leave">Sign in as someone else</button></form>`,
  );
}

export function onwardPage(url: string): string {
  return page(
    'To the server',
    `<p><a href="${escaped(url)}">Continue to the login of the server</a></p>`,
    `<meta http-equiv="refresh" content="0;url=${escaped(url)}">`,
  );
}

export function endPage(title: string, text: string): string {
  return page(title, `<h1>${escaped(title)}</h1><p>${escaped(text)}</p>`);
}
