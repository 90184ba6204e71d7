// A request as the authorization server sees it: made anew from what a host or browser sent.
// Must never pass on a Host header, a forwarded address or a member that the server does not need.
import { Readable } from 'node:stream';
import type { IncomingMessage } from 'node:http';
import type { ApiRequest } from '../../http/app.ts';

export interface InnerRequest {
  /** Scheme, host and port of the service, by its configuration. */
  readonly publicUrl: string;
  /** Default: as it came. */
  readonly url?: string;
  readonly body?: string;
  /** Whether it begins a login: cookies of the one before are left out. Default: false. */
  readonly isFresh?: boolean;
}

/** Not `Origin`: the API has checked it, and the server would refuse each. */
const TAKEN = ['accept', 'content-type'];

export function innerRequest(
  request: ApiRequest,
  { publicUrl, url = request.url, body, isFresh = false }: InnerRequest,
): IncomingMessage {
  const { host, protocol } = new URL(publicUrl);
  const { headers } = request;
  const taken = TAKEN.flatMap((name) => (headers[name] === undefined ? [] : [[name, headers[name]]]));
  const bytes = Buffer.from(body ?? '');
  return Object.assign(Readable.from(bytes.length === 0 ? [] : [bytes], { objectMode: false }), {
    method: request.method,
    url,
    httpVersion: '1.1',
    socket: request.raw.socket,
    headers: {
      ...(Object.fromEntries(taken) as Record<string, string>),
      ...(!isFresh && headers.cookie !== undefined && { cookie: headers.cookie }),
      host,
      'x-forwarded-host': host,
      'x-forwarded-proto': protocol.slice(0, -1),
      ...(body !== undefined && { 'content-length': String(bytes.length) }),
    },
  }) as unknown as IncomingMessage;
}
