/** Why a login of a person failed, and what helps, in two sentences.
 *  It must never hold a token, a code or a secret; texts of an authorization server are short and plain. */
import {
  AuthorizationServerMismatchError,
  InsecureTokenEndpointError,
  IssuerMismatchError,
  OAuthError,
  RegistrationRejectedError,
} from '@modelcontextprotocol/client';
import { describe } from '../connect-fault.ts';
import { AddressRefused } from './auth-fetch.ts';
import { LoginFault } from './login-fault.ts';
import { plainText } from './plain-text.ts';

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
      what: `The authorization server does not register this client (HTTP ${error.status}).`,
      how: register,
    };
  if (error instanceof OAuthError) return refusedLogin(error, place);
  if (error instanceof AuthorizationServerMismatchError || error instanceof IssuerMismatchError)
    return {
      what: 'The answer does not come from the authorization server that the login began at.',
      how: 'Do not log in there: somebody may be between. Ask the operator of the MCP server.',
    };
  if (error instanceof InsecureTokenEndpointError || error instanceof AddressRefused)
    return {
      what: sentence(plainText(error.message, 200)),
      how: 'Ask the operator of the MCP server to correct its metadata.',
    };
  if (error instanceof TypeError)
    return { what: `The authorization server cannot be reached: ${describe(error)}.`, how: AGAIN };
  return { what: unusable(error), how: register };
}

/** Of the MCP server itself: it says where to log in. */
export function unreachedServer(server: string, fault: string): LoginFailure {
  return {
    what: `The MCP server ${server} does not answer: ${plainText(fault, 200)}.`,
    how: `Start it, or correct mcpServers.${server}.url, and run the command again.`,
  };
}

/** What the SDK itself says is about the metadata. */
function unusable(error: unknown): string {
  const text = error instanceof Error ? plainText(error.message, 200) : 'an unknown fault';
  return `The login failed: ${text}.`;
}

function refusedLogin({ code, message }: OAuthError, place: string): LoginFailure {
  if (code === 'access_denied')
    return {
      what: 'The login was refused in the browser (access_denied).',
      how: 'Run the command again, and consent.',
    };
  const why = plainText(`${code}: ${message}`, 200);
  return {
    what: `The authorization server refused the login: ${why}.`,
    how: `Correct ${place}, and run the command again.`,
  };
}

function sentence(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;
}
