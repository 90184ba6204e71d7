/** A login at an MCP server in one line: as whom, at which issuer, for what, until when.
 *  It must never show more than the listing of servers has. */
import type { ServerLogin } from '../contract/tool-listing.ts';
import { oneLine } from './terminal.ts';

export function loginLine(login: ServerLogin): string {
  const { issuer, client_id: client, account, scope } = login;
  const who = account === undefined ? `as client ${oneLine(client, 100)}` : `as ${oneLine(account, 100)}`;
  const scopes = scope === undefined ? '' : `, for ${oneLine(scope, 200)}`;
  return `${who} at ${oneLine(issuer, 200)}${scopes}; ${untilText(login)}`;
}

function untilText({ expires_at: expiresAt, renewable }: ServerLogin): string {
  if (expiresAt === undefined) return 'without an end';
  const until = `until ${expiresAt.slice(0, 19)}Z`;
  return renewable ? `${until}, then renewed by itself` : `${until}, then somebody must log in again`;
}
