/** Whether a browser trusts the origin of a page: HTTPS, or this machine.
 *  It must never decide what a caller may do. */
import type { FastifyRequest } from 'fastify';
import { isLoopback } from './allowed-host.ts';
import { isHttps } from './session-cookie.ts';

/** Browsers send `Sec-Fetch-Mode` only where they trust the origin; older ones never. */
export function isTrustedOrigin(request: FastifyRequest): boolean {
  return request.headers['sec-fetch-mode'] !== undefined || isHttps(request) || isLocal(request.hostname);
}

/** Whether a name is local, by the name alone, as browsers decide it. */
function isLocal(name: string): boolean {
  return isLoopback(name.replace(/^\[|\]$/g, '')) || name.toLowerCase().endsWith('.localhost');
}
