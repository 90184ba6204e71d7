// Joins notices of ends with the stores of a process, and deliveries with its configuration. Never loses a notice for a
// busy receiver: it waits, as long as the ended work is kept.
import type { Config } from '../config/config.ts';
import type { WebhookEndpoint } from '../config/webhooks.ts';
import { webhookLane } from '../store/catalog/route.ts';
import { runView } from '../agents/core/run-view.ts';
import { createRunEnds } from '../agents/turn/run-end.ts';
import { createRunStore } from '../agents/turn/run-store.ts';
import type { DirectiveDefinition } from '../worker/executors/definition.ts';
import type { Registry } from '../worker/executors/registry.ts';
import { type Receiver, webhookSend, type WebhookSend } from '../worker/executors/webhook-send.ts';
import { createGoneReceivers } from '../store/access/gone-receivers.ts';
import { type Capacity, createCapacity } from '../directives/capacity.ts';
import { noticeRef } from '../directives/sweep/notice.ts';
import { createNotifier, type Notify } from '../directives/sweep/notify.ts';
import { createSubmitter } from '../directives/submit.ts';
import { version } from '../version.ts';
import type { ServedLane } from '../worker/worker.ts';
import { preparerOn } from './preparer.ts';
import { openAsksOf } from './search.ts';
import type { Store } from './store.ts';

/** Deliveries that wait for one endpoint, and for all addresses of callers. */
const MOST_TO_ENDPOINT = 10_000;
const MOST_TO_CALLERS = 100_000;

/** Notifies on the first store of the process, for the ends that each of them records. */
export function notifierOn(stores: readonly Store[], registry: Registry, config: Config): Notify | undefined {
  const [first] = stores;
  if (first === undefined) return undefined;
  const notify = notifyOn(first, registry, config);
  for (const { queue } of stores)
    queue.notices.answerWith(async (requestId, id) => {
      const { kind } = await notify(requestId, id);
      if (kind === 'notified') first.records.index.forget(noticeRef(requestId, id));
    });
  return notify;
}

function notifyOn(store: Store, registry: Registry, config: Config): Notify {
  const { records, queue, endNotices } = store;
  const { journal, runs, index } = records;
  const submitter = createSubmitter({
    ...store,
    ...queue,
    journal,
    index,
    preparer: preparerOn(store, registry, config),
    capacity: roomFor(queue),
    argumentsBytes: Infinity,
    requestBytes: config.limits.request_bytes,
  });
  return createNotifier({
    journal,
    submitter,
    endNotices,
    runEnd: createRunEnds(runs, createRunStore(runs), runView),
    openAsks: openAsksOf(store),
    runTrace: runs.traceparent,
  });
}

/** Accepted notices need no further capacity: only a receiver that is down has a bound. */
function roomFor({ lanes, gated }: Store['queue']): Capacity {
  return createCapacity({
    queued: async (lane) => (await lanes.queued(lane)) + (await gated.waiting(lane)),
    index: { size: async () => 0 },
    maxQueuedIn: (lane) => (lane === webhookLane(null) ? MOST_TO_CALLERS : MOST_TO_ENDPOINT),
    maxOpen: null,
    memory: { require: async () => {} },
  });
}

/** The lanes of the endpoints, and that of callers' addresses. */
export function webhookLanes({ webhooks, deliversTo }: Config): ServedLane[] {
  const { endpoints, callers_may_give_urls: callers } = webhooks;
  const all = [
    ...[...endpoints].map(([name, { concurrency }]) => ({ name: webhookLane(name), concurrency })),
    ...(callers === undefined ? [] : [{ name: webhookLane(null), concurrency: callers.concurrency }]),
  ];
  return all
    .filter(({ name }) => deliversTo === undefined || deliversTo.has(name))
    .map((lane) => ({ ...lane, globalConcurrency: null, rate: null, mayRepeat: true }));
}

/** Receivers; [] where none is notified. */
export function webhookDefinitions({ connection, keys }: Store, config: Config): DirectiveDefinition[] {
  if (webhookLanes(config).length === 0) return [];
  return [
    webhookSend({
      receiverOf: (directive) => receiverOf(config, directive),
      gone: createGoneReceivers(connection, keys),
      userAgent: `adjutant/${version}`,
    }),
  ];
}

function receiverOf({ webhooks }: Config, { endpoint, url }: WebhookSend): Receiver | null {
  const { endpoints, callers_may_give_urls: callers } = webhooks;
  if (endpoint !== undefined) return fromEndpoint(endpoints.get(endpoint));
  if (url === undefined || callers === undefined) return null;
  const { secrets, timeout_ms: timeoutMs, private_addresses: privateAddresses } = callers;
  return { url, secrets, headers: {}, timeoutMs, privateAddresses };
}

function fromEndpoint(endpoint: WebhookEndpoint | undefined): Receiver | null {
  if (endpoint === undefined) return null;
  const { url, secrets, headers, timeout_ms: timeoutMs, private_addresses: privateAddresses } = endpoint;
  return { url, secrets, headers, timeoutMs, privateAddresses };
}
