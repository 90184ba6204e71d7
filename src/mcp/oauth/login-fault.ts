/** Why a server gets no token, in one line that names the command that helps.
 *  It must never hold a token, nor a text of an authorization server. */

import type { OAuthOptions } from '../server-options.ts';

export class LoginFault extends Error {
  override readonly name = 'LoginFault';
  /** `auth`: a login is needed. `network`: another attempt may help. */
  readonly type: 'auth' | 'network';

  /** Found without a request: a repeated check is cheap, and a login may come at any time. */
  readonly isLocal: boolean;

  constructor(type: 'auth' | 'network', message: string, { isLocal = false } = {}) {
    super(message);
    this.type = type;
    this.isLocal = isLocal;
  }
}

/** The SDK may wrap it. */
export function loginFaultIn(error: unknown): LoginFault | null {
  for (let cause = error, depth = 0; cause instanceof Error && depth < 5; cause = cause.cause, depth += 1)
    if (cause instanceof LoginFault) return cause;
  return null;
}

/** Scopes that a shell takes as they are; others are named by the person who types the command. */
const PLAIN_SCOPE = /^[A-Za-z0-9][A-Za-z0-9._:/-]*$/;
const MAX_SCOPE_CHARACTERS = 500;

/** Command for a login, to be typed; `scope` comes from a server and may be anything. */
export function loginCommand(server: string, scope = ''): string {
  const asked = scope.split(' ').filter((each) => each !== '');
  const plain = asked.every((each) => PLAIN_SCOPE.test(each)) && scope.length <= MAX_SCOPE_CHARACTERS;
  if (asked.length === 0) return `\`adjutant mcp login ${server}\``;
  return `\`adjutant mcp login ${server} --scope ${plain ? asked.join(' ') : '<scopes>'}\``;
}

/** Remedy for a refused token, as the end of a sentence; '' when no token is configured. */
export function deniedHint(server: string, grant: OAuthOptions['grant'] | undefined, scope = ''): string {
  if (grant === undefined) return '';
  if (grant === 'authorization_code') return `: run ${loginCommand(server, scope)}`;
  return `: correct mcpServers.${server}.auth${scope === '' ? '' : '.scopes'}`;
}

export function plainText(text: string, maxCharacters: number): string {
  const line = text
    .slice(0, maxCharacters * 4)
    .replaceAll(/[\p{C}\p{Z}\s]+/gu, ' ')
    .trim();
  return line.length <= maxCharacters ? line : `${line.slice(0, maxCharacters - 1)}…`;
}
