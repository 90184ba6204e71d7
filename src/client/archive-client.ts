/** The archive of a service over HTTP.
 *  It must never take an incomplete archive for a whole one. */
import { archivePath } from '../contract/api-path.ts';
import type { ArchiveClient, ArchiveLine } from '../contract/request/archive.ts';
import { ServiceUnavailable } from '../contract/problem.ts';
import { createExchanger } from './exchange.ts';
import type { PlainClientOptions } from './plain-client.ts';

/**
 * Creates a client that reads archived requests over HTTP.
 * @param options `baseUrl` of the service, `apiKey` with the scope `read` where keys are required, and `fetch`
 * (default: the global one).
 * @returns The client; `lines` yields the lines of the newest version.
 * @throws `DirectiveRefused` with `not_found` where the archive does not hold the request; `ServiceUnavailable` where
 * the archive is incomplete or the service does not answer.
 * @example
 * ```ts
 * import { createArchiveClient } from 'adjutant/client';
 * const archive = createArchiveClient({ baseUrl: 'http://127.0.0.1:7420' });
 * for await (const line of archive.lines('request-1')) console.log(line.kind);
 * ```
 */
export function createArchiveClient(
  options: Pick<PlainClientOptions, 'baseUrl' | 'apiKey' | 'fetch'>,
): ArchiveClient {
  const exchanger = createExchanger(options.baseUrl, options.fetch, options.apiKey);
  return {
    async *lines(requestId) {
      const { body } = await exchanger.open({ path: archivePath(requestId) });
      let last: ArchiveLine | undefined;
      for await (const text of linesOf(body)) {
        // The service is ours, so its shape is trusted.
        last = JSON.parse(text) as ArchiveLine;
        yield last;
      }
      if (last?.kind !== 'end') throw new ServiceUnavailable('The archive of the request is incomplete.');
    },
  };
}

/** A last line without an end is not whole, and left out. */
async function* linesOf(body: ReadableStream<Uint8Array> | null): AsyncGenerator<string> {
  if (body === null) return;
  const pieces: string[] = [];
  const decoder = new TextDecoder();
  const reader = body.getReader();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      const [first = '', ...others] = decoder.decode(value, { stream: true }).split('\n');
      pieces.push(first);
      for (const other of others) {
        yield pieces.splice(0).join('');
        pieces.push(other);
      }
    }
  } finally {
    await reader.cancel().catch(() => {});
  }
}
