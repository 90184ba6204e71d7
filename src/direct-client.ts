// `adjutant/queue`: builds the direct client of a program that submits and follows, but executes nothing.
// Must never keep the process alive after `close`.
import { createRegistry } from './executors/registry.ts';
import { emitRequestError } from './executors/emit-request-error.ts';
import { emitToolError } from './executors/emit-tool-error.ts';
import type { DirectiveClient } from './contract/directive-client.ts';
import { createDeadLetterIndex } from './journal/dead-letter-index.ts';
import { createFollower } from './journal/follower.ts';
import { createJournal } from './journal/journal.ts';
import { keySpace } from './journal/keys.ts';
import { createSubscriber } from './journal/subscriber.ts';
import { createSweepIndex } from './journal/sweep-index.ts';
import { createToolCatalog } from './journal/tool-catalog.ts';
import { createCanceller } from './queue/cancel.ts';
import { createDeadLetters } from './queue/dead-letters.ts';
import { knownServers } from './queue/known-servers.ts';
import { createLanes } from './queue/lanes.ts';
import { createQueueClient } from './queue/queue-client.ts';
import { createSubmitter } from './queue/submit.ts';
import { closeRedis, connectRedis } from './redis.ts';

export interface DirectClientOptions {
  /** Forms as in `connectRedis`: standalone, TLS, `redis+sentinel://`, `redis+cluster://`. */
  redisUrl: string;
  /** The installation's key prefix. Default: `adjutant`. */
  prefix?: string;
  /** Servers that are known before a worker has published them. Default: none. */
  knownServers?: readonly string[];
  /** How long a closed request stays readable, milliseconds. Default: 86 400 000 (one day). */
  retentionMs?: number;
}

export const DEFAULT_RETENTION_MS = 86_400_000;

/** Resolves once Redis answers; rejects when it does not within the connection's own limits. */
export async function createDirectClient(options: DirectClientOptions): Promise<DirectiveClient> {
  const keys = keySpace(options.prefix);
  const connection = connectRedis(options.redisUrl, 'submit');
  const listening = connectRedis(options.redisUrl, 'subscriber');
  const journal = createJournal({
    connection,
    keys,
    retentionMs: options.retentionMs ?? DEFAULT_RETENTION_MS,
  });
  const subscriber = createSubscriber(listening, keys);
  const index = createSweepIndex(connection, keys);
  const lanes = createLanes(connection, keys.prefix);
  const catalog = createToolCatalog(connection, keys);
  const servers = knownServers(catalog, options.knownServers ?? []);
  const { executeImmediately } = createRegistry([emitToolError, emitRequestError]);
  const ordered = !connection.isCluster;
  const submitter = createSubmitter({ journal, index, lanes, servers, executeImmediately, ordered });
  const close = async (): Promise<void> => {
    index.flush();
    subscriber.close();
    await lanes.close();
    await Promise.all([closeRedis(connection), closeRedis(listening)]);
  };
  const canceller = createCanceller({ connection, keys, journal, index, lanes });
  const dead = createDeadLetterIndex(connection, keys);
  const deadLetters = createDeadLetters({ journal, dead, submitter });
  const follower = createFollower(journal, subscriber);
  return createQueueClient({
    journal,
    follower,
    subscriber,
    submitter,
    canceller,
    deadLetters,
    catalog,
    servers,
    lanes,
    close,
  });
}
