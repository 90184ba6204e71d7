/** Why a login of a person failed, and what helps, in two sentences.
 *  It must never hold a token, a code or a secret; texts of an authorization server are short and plain. */
import {
  AuthorizationServerMismatchError,
  InsecureTokenEndpointError,
  IssuerMismatchError,
  OAuthError,
  RegistrationRejectedError,
} from '@modelcontextprotocol/client';
import { ownMember } from '../../contract/json/json-object.ts';
import { describe } from '../connect-fault.ts';
import { AddressRefused } from './auth-fetch.ts';
import { LoginFault, plainText } from './login-fault.ts';

export interface LoginFailure {
  readonly what: string;
  readonly how: string;
}

const AGAIN = 'Run the command again.';

export function loginFailureOf(error: unknown, server: string): LoginFailure {
  const place = `mcpServers.${server}.auth`;
  const register = `Register a client there by hand, and set ${place}.client_id; or set ${place}.client_metadata_url.`;
  if (error instanceof LoginFault)
    return { what: sentence(error.message), how: `Correct ${place}, or ask its operator.` };
  if (error instanceof RegistrationRejectedError)
    return {
      what: `The authorization server does not register this client (HTTP ${error.status}${codeIn(error.body)}).`,
      how: error.status >= 500 ? AGAIN : register,
    };
  if (error instanceof OAuthError) return refusedLogin(error, place);
  if (error instanceof IssuerMismatchError && error.kind === 'metadata')
    return {
      what: `The metadata of the authorization server ${shown(error.expected)} names another issuer: ${shown(error.received)}.`,
      how: 'Ask the operator of the MCP server to name that issuer in both documents.',
    };
  if (error instanceof AuthorizationServerMismatchError || error instanceof IssuerMismatchError)
    return {
      what: 'The answer does not come from the authorization server that the login began at.',
      how: 'Do not log in there: the connection may be intercepted. Ask the operator of the MCP server.',
    };
  if (error instanceof InsecureTokenEndpointError || error instanceof AddressRefused)
    return {
      what: sentence(plainText(error.message, 200)),
      how: 'Ask the operator of the MCP server to correct its metadata.',
    };
  if (error instanceof TypeError)
    return { what: `The authorization server cannot be reached: ${describe(error)}.`, how: AGAIN };
  return unusable(error, { server, register });
}

function shown(text: string | undefined): string {
  return plainText(text ?? 'none', 100);
}

/** The code in the body of a refusal, as the end of a list; '' = there is none. */
function codeIn(body: string): string {
  const code = /"error"\s*:\s*"([a-z_]{1,40})"/.exec(body.slice(0, 2_000))?.[1];
  return code === undefined ? '' : `, ${code}`;
}

/** Failure of the MCP server itself, which names the authorization server. */
export function unreachedServer(server: string, fault: string): LoginFailure {
  return {
    what: `The MCP server ${server} does not answer: ${plainText(fault, 200)}.`,
    how: `Start it, or correct mcpServers.${server}.url, and run the command again.`,
  };
}

/** Errors of the SDK itself are about the metadata. */
function unusable(error: unknown, { server, register }: { server: string; register: string }): LoginFailure {
  const text = error instanceof Error ? plainText(error.message, 200) : 'an unknown fault';
  const what = `The login failed: ${text}.`;
  if (text.startsWith('Protected resource'))
    return { what, how: `Correct mcpServers.${server}.url to the address that the server names.` };
  if (text.startsWith('HTTP 5')) return { what, how: AGAIN };
  if (text.includes('dynamic client registration')) return { what, how: register };
  return { what, how: 'Ask the operator of the authorization server to correct its answers.' };
}

/** The part of the configuration that a refusal is about, by its code. */
const CORRECTIONS: Readonly<Record<string, string>> = {
  invalid_client: 'client_id and the secret or private key',
  unauthorized_client: 'client_id and grant',
  invalid_scope: 'scopes',
};
const PASSING: ReadonlySet<string> = new Set([
  'server_error',
  'temporarily_unavailable',
  'slow_down',
  'too_many_requests',
]);

function refusedLogin({ code, message }: OAuthError, place: string): LoginFailure {
  if (code === 'access_denied')
    return {
      what: 'The login was refused in the browser (access_denied).',
      how: 'Run the command again, and consent.',
    };
  const why = plainText(`${code}: ${message}`, 200);
  const part = ownMember(CORRECTIONS, code);
  return {
    what: `The authorization server refused the login: ${why}.`,
    how: PASSING.has(code)
      ? AGAIN
      : `Correct ${part === undefined ? place : `${part} of ${place}`}, and run the command again.`,
  };
}

function sentence(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;
}
