/** Keeps a session's tool list fresh: reads it again soon after the server reports a change, never twice at once.
 *  It must never end the session because a list could not be read: the old list still works. */
import { setTimeout as delay } from 'node:timers/promises';
import type { SchemaChecks } from '../json-schema/schema-checks.ts';
import { describe } from './connect-fault.ts';
import type { Logger } from '../telemetry/logger.ts';
import { LISTING_LIMITS } from './message-limits.ts';
import { reconnectDelayMs } from './reconnect-delay.ts';
import type { DeclaredOffers } from './server-offers.ts';
import type { Session } from './session.ts';
import { type ToolList, createToolList } from './tool-list.ts';

export interface ToolWatch {
  /** Reads the list for the first time. Rejects when it cannot be read. */
  begin(): Promise<void>;
  changesRead(): Promise<void>;
  stop(): void;
}

export interface ToolWatchOptions {
  readonly session: Session;
  readonly logger: Logger;
  readonly read: () => Promise<void>;
  /** The resources or prompts of the server have changed, too. */
  readonly offersChanged: () => void;
}

/** Servers announce several changes in a row; one reading covers them. Milliseconds. */
const GATHER_MS = 100;
/** However often a server announces changes, its list is read again no more often than this. Milliseconds. */
const BETWEEN_READINGS_MS = 1_000;
const LIST_MS = 30_000;

export interface ReadToolsOptions {
  readonly session: Session;
  readonly server: string;
  readonly previous: ToolList | null;
  readonly signal: AbortSignal;
  readonly logger: Logger;
  readonly schemas: SchemaChecks;
  /** Default: nothing. */
  readonly offers?: DeclaredOffers;
}

/** Every page of the server's list, within its limits. Throws the errors of the SDK. */
export async function readTools({ session, signal, ...rest }: ReadToolsOptions): Promise<ToolList> {
  const instructions = session.client.getInstructions();
  if (session.client.getServerCapabilities()?.tools === undefined)
    return createToolList([], { ...rest, instructions });
  const late = AbortSignal.timeout(LISTING_LIMITS.maxMs);
  const options = {
    cacheMode: 'refresh',
    timeout: LIST_MS,
    signal: AbortSignal.any([signal, late]),
  } as const;
  try {
    const { tools } = await session.client.listTools(undefined, options);
    return await createToolList(tools, { ...rest, instructions });
  } catch (error) {
    if (!late.aborted || signal.aborted) throw error;
    throw new Error(`listing them took longer than ${LISTING_LIMITS.maxMs} ms`, { cause: error });
  }
}

/** Watches from now on: a change that is announced together with the first list is a change of that list. */
export function watchTools(options: ToolWatchOptions): ToolWatch {
  const { session, logger } = options;
  const stopping = new AbortController();
  const { signal } = stopping;
  let hasBegun = false;
  let reading: Promise<void> | null = null;
  let again = false;
  let readAt = -Infinity;

  const readAll = async (): Promise<void> => {
    do {
      const restMs = readAt + BETWEEN_READINGS_MS - performance.now();
      await delay(Math.max(GATHER_MS, restMs), undefined, { signal });
      again = false;
      readAt = performance.now();
      await options.read();
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
      await options.read();
      hasBegun = true;
      if (again) changed();
    },
    changesRead: async () => {
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
