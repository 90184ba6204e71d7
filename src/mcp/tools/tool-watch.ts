/** Keeps a session's tool list fresh: reads it again soon after the server reports a change, never twice at once.
 *  It must never end the session because a list could not be read: the old list still works. */
import { setTimeout as delay } from 'node:timers/promises';
import type { SchemaChecks } from '../../platform/json-schema/schema-checks.ts';
import type { KnownSecrets } from '../../contract/json/secret-text.ts';
import { describe } from '../connect-fault.ts';
import type { Logger } from '../../platform/telemetry/logger.ts';
import { LISTING_LIMITS } from '../transport/message-limits.ts';
import { reconnectDelayMs } from '../transport/reconnect-delay.ts';
import type { DeclaredOffers } from './server-offers.ts';
import type { Session } from '../session.ts';
import { type ToolList, createToolList } from './tool-list.ts';

export interface ToolWatch {
  /** Reads the list for the first time. Rejects when it cannot be read. */
  begin(): Promise<void>;
  /** The list seems to be another one by now: it is read again, at most every 30 s. Resolves when no reading is open. */
  doubted(): Promise<void>;
  stop(): void;
}

export interface ToolWatchOptions {
  readonly session: Session;
  readonly logger: Logger;
  readonly read: () => Promise<Pick<ToolList, 'ttlMs'>>;
  /** When a list is read again without a reason, by its `ttlMs`. Default: `rereadMs`. */
  readonly restMs?: (ttlMs: number) => number;
  /** The resources or prompts of the server have changed, too. */
  readonly offersChanged: () => void;
}

/** Servers announce several changes in a row; one reading covers them. Milliseconds. */
const GATHER_MS = 100;
/** However often a server announces changes, its list is read again no more often than this. Milliseconds. */
const BETWEEN_READINGS_MS = 1_000;
/** However many calls are refused for their tool or arguments, the list is read for them no more often than this. Milliseconds. */
const BETWEEN_DOUBTS_MS = 30_000;
const LIST_MS = 30_000;
/** Milliseconds. */
const REREAD_MS = { usual: 300_000, least: 30_000, most: 3_600_000 } as const;

/** A server without a session may be another one by now, and can announce nothing. */
export function rereadMs(ttlMs: number): number {
  return ttlMs > 0 ? Math.min(Math.max(ttlMs, REREAD_MS.least), REREAD_MS.most) : REREAD_MS.usual;
}

export interface ReadToolsOptions {
  readonly session: Session;
  readonly server: string;
  readonly previous: ToolList | null;
  readonly signal: AbortSignal;
  readonly logger: Logger;
  readonly schemas: SchemaChecks;
  /** Redacts what the server lists. */
  readonly hide: KnownSecrets['hideIn'];
  /** Default: nothing. */
  readonly offers?: DeclaredOffers;
}

/** Every page of the server's list, within its limits. Throws the errors of the SDK. */
export async function readTools({ session, signal, hide, ...rest }: ReadToolsOptions): Promise<ToolList> {
  const instructions = hide(session.client.getInstructions());
  if (session.client.getServerCapabilities()?.tools === undefined)
    return createToolList([], { ...rest, instructions });
  const late = AbortSignal.timeout(LISTING_LIMITS.maxMs);
  const options = {
    cacheMode: 'refresh',
    timeout: LIST_MS,
    signal: AbortSignal.any([signal, late]),
  } as const;
  try {
    const { tools, ttlMs } = await session.client.listTools(undefined, options);
    const holds = typeof ttlMs === 'number' ? { ttlMs } : {};
    return await createToolList(hide(tools), { ...rest, ...holds, instructions });
  } catch (error) {
    if (!late.aborted || signal.aborted) throw error;
    throw new Error(`listing them took longer than ${LISTING_LIMITS.maxMs} ms`, { cause: error });
  }
}

/** Watches from now on: a change that is announced together with the first list is a change of that list. */
export function watchTools(options: ToolWatchOptions): ToolWatch {
  const { session, logger, restMs: restOf = rereadMs } = options;
  const stopping = new AbortController();
  const { signal } = stopping;
  let hasBegun = false;
  let reading: Promise<void> | null = null;
  let again = false;
  let readAt = -Infinity;
  let doubtedAt = -Infinity;
  let ttlMs = 0;

  const readOnce = async (): Promise<void> => {
    ({ ttlMs } = await options.read());
  };
  const readAll = async (): Promise<void> => {
    do {
      const restMs = readAt + BETWEEN_READINGS_MS - performance.now();
      await delay(Math.max(GATHER_MS, restMs), undefined, { signal });
      again = false;
      readAt = performance.now();
      await readOnce();
    } while (again);
  };
  const changed = (): void => {
    again = true;
    if (!hasBegun || signal.aborted) return;
    reading ??= readAll()
      .catch((error: unknown) => {
        if (!signal.aborted)
          logger.warn({ reason: describe(error) }, 'MCP tool list could not be read again');
      })
      .finally(() => {
        reading = null;
      });
  };

  /** Rejects when the watch stops. */
  const keepFresh = async (): Promise<never> => {
    for (;;) {
      await delay(restOf(ttlMs), undefined, { signal, ref: false });
      changed();
    }
  };

  const offersChanged = (): void => {
    options.offersChanged();
    changed();
  };
  session.client.setNotificationHandler('notifications/tools/list_changed', changed);
  session.client.setNotificationHandler('notifications/resources/list_changed', offersChanged);
  session.client.setNotificationHandler('notifications/prompts/list_changed', offersChanged);
  if (session.era === 'modern') void subscribe(session, signal, changed, logger);
  return {
    async begin() {
      await readOnce();
      hasBegun = true;
      if (again) changed();
      void keepFresh().catch(() => {});
    },
    async doubted() {
      const now = performance.now();
      if (reading === null && now - doubtedAt >= BETWEEN_DOUBTS_MS) {
        doubtedAt = now;
        changed();
      }
      if (reading !== null) await reading;
    },
    stop: () => stopping.abort(),
  };
}

function announcedBy({
  client,
}: Session): Partial<Record<`${'tools' | 'resources' | 'prompts'}ListChanged`, true>> {
  const { tools, resources, prompts } = client.getServerCapabilities() ?? {};
  return {
    ...(tools?.listChanged === true ? { toolsListChanged: true } : {}),
    ...(resources?.listChanged === true ? { resourcesListChanged: true } : {}),
    ...(prompts?.listChanged === true ? { promptsListChanged: true } : {}),
  };
}

/** The modern protocol sends changes only to subscribers. */
async function subscribe(
  session: Session,
  signal: AbortSignal,
  changed: () => void,
  logger: Logger,
): Promise<void> {
  const filter = announcedBy(session);
  if (Object.keys(filter).length === 0) return;
  // Over a pipe the server subscribes this client before it answers the first list.
  const isInOrder = session.transportKind === 'stdio';
  for (let failures = 0; !signal.aborted; failures += 1) {
    try {
      const subscription = await session.client.listen(filter, { signal, timeout: LIST_MS });
      // Changes before a subscription are not announced.
      if (failures > 0 || !isInOrder) changed();
      if ((await subscription.closed) === 'local') return;
    } catch (error) {
      if (signal.aborted) return;
      logger.debug({ reason: describe(error) }, 'MCP server does not accept a subscription');
    }
    await delay(reconnectDelayMs(failures + 1, Math.random()), undefined, { signal }).catch(() => {});
  }
}
