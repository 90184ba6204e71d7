/** A login at an MCP server in one line: as whom, at which issuer, for what, until when.
 *  It must never show more than the summary of a login has. */
import { oneLine } from './terminal.ts';

export interface ShownLogin {
  readonly issuer: string;
  readonly clientId: string;
  readonly account: string | null;
  readonly scope: string | null;
  /** Milliseconds since the epoch. */
  readonly expiresAt: number | null;
  readonly renewable: boolean;
}

export function loginLine({ issuer, clientId, account, scope, expiresAt, renewable }: ShownLogin): string {
  const who = account === null ? `as client ${oneLine(clientId, 100)}` : `as ${oneLine(account, 100)}`;
  const scopes = scope === null ? '' : `, for ${oneLine(scope, 200)}`;
  return `${who} at ${oneLine(issuer, 200)}${scopes}; ${untilText(expiresAt, renewable)}`;
}

function untilText(expiresAt: number | null, renewable: boolean): string {
  if (expiresAt === null) return 'without an end';
  const until = `until ${new Date(expiresAt).toISOString().slice(0, 19)}Z`;
  return renewable ? `${until}, then renewed by itself` : `${until}, then somebody must log in again`;
}
