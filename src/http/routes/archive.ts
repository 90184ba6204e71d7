/** GET /v1/requests/{r}/archive: a request as it was archived, as lines of JSON.
 *  It must never hold a whole one, nor one of another tenant. */
import type { Readable } from 'node:stream';
import type { ArchiveLine } from '../../contract/request/archive.ts';
import type { DirectiveClient } from '../../contract/directive/directive-client.ts';
import { DirectiveRefused, problem } from '../../contract/problem.ts';
import type { App } from '../app.ts';
import { serve } from '../served-operation.ts';
import type { StreamPlaces } from './signals.ts';

/** The archived request by the caller's own id; null: the archive holds none. */
export type ArchiveOf = (requestId: string) => Promise<Readable | null>;

export interface ArchiveRouteOptions {
  readonly client: Pick<DirectiveClient, 'request'>;
  /** null: nothing is archived. */
  readonly archiveOf: ArchiveOf | null;
  readonly places: StreamPlaces;
}

export function archiveRoutes(app: App, { client, archiveOf, places }: ArchiveRouteOptions): void {
  serve(app, 'archive', async (request, reply) => {
    const { params } = request;
    if (archiveOf === null) throw absent('This service archives nothing: `archive` is not configured.');
    // A download that is not read keeps a file, or a connection, open.
    places.take(request, reply.raw);
    const lines = await archiveOf(params.request_id);
    if (lines === null) throw await notStored(client, params.request_id);
    // The lines as they are stored: each is as the schema says.
    return reply.header('content-type', 'application/jsonl').send(lines as unknown as ArchiveLine);
  });
}

/** The error for a request that the journal knows and the archive does not hold. */
async function notStored(
  client: Pick<DirectiveClient, 'request'>,
  requestId: string,
): Promise<DirectiveRefused> {
  const known = await client.request(requestId);
  if (known === null) return absent(`The archive holds no request ${requestId}.`);
  return known.status === 'open'
    ? absent(`Request ${requestId} is still open: it is archived when it has closed.`)
    : absent(`Request ${requestId} has closed, and is not stored in the archive yet.`);
}

function absent(detail: string): DirectiveRefused {
  return new DirectiveRefused(problem('not_found', { detail }));
}
