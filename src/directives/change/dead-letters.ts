// Lists dead letters: directives that ended in an error, for operators. Never lists one whose record is gone.
import { ALL_TENANTS } from '../../contract/access/tenant-name.ts';
import { ownId, tenantOf } from '../../contract/access/tenant.ts';
import type { DeadLetter, DeadLetterFilter, DeadLetterPage } from '../../contract/directive/dead-letter.ts';
import type { Directive } from '../../contract/directive/directive.ts';
import { deliveryIn } from '../../contract/signal/webhook.ts';
import type { ErrorEnvelope } from '../../contract/error-envelope.ts';
import type { DeadEntry, DeadPlace } from '../../store/index/dead-letter-index.ts';
import { toolNameIn } from '../../contract/tool/tool-pattern.ts';
import { decodeEnvelope } from '../../store/request/envelope.ts';
import { groupDeadLetters } from './dead-letter-groups.ts';
import { createRedrive, type RedriveParts, scan } from './redrive.ts';

const DEFAULT_PAGE = 100;
const LARGEST_PAGE = 1_000;

export interface DeadLetterQuery extends DeadLetterFilter {
  /** Default: newest first. */
  order?: 'newest' | 'oldest' | undefined;
  after?: string;
  limit?: number;
  /** `*`: those of all tenants. */
  tenant?: string | undefined;
}

export type DeadLetters = ReturnType<typeof createDeadLetters>;

function nameOf(directive: Directive, lane: string | null): string | null {
  if ('tool_name' in directive) return toolNameIn(lane, directive.tool_name);
  return 'model' in directive ? (directive.model ?? directive.model_alias ?? null) : null;
}

export function createDeadLetters(parts: RedriveParts) {
  const { journal, dead } = parts;

  async function list(
    { order, after, limit = DEFAULT_PAGE, tenant: named, ...filter }: DeadLetterQuery,
    tenant: string,
  ): Promise<DeadLetterPage> {
    const isOfAll = named === ALL_TENANTS;
    const place = after === undefined ? null : placeIn(after);
    const last = place === null ? '' : tenantOf(place.requestId);
    const letters: DeadLetter[] = [];
    const most = Math.min(limit, LARGEST_PAGE);
    const total = await dead.size(isOfAll ? undefined : tenant);
    for (const owner of isOfAll ? await allTenants() : [tenant]) {
      if (isOfAll && owner < last) continue;
      const from = !isOfAll || owner === last ? place : null;
      for await (const entry of scan({ dead, tenant: owner }, filter, order ?? 'newest', from)) {
        const letter = await read(entry);
        if (letter) letters.push(isOfAll ? { tenant: owner, ...letter } : letter);
        if (letters.length >= most) return { dead_letters: letters, total, next: cursorOf(entry) };
      }
    }
    return { dead_letters: letters, total, next: null };
  }

  async function allTenants(): Promise<string[]> {
    return [...new Set(await dead.tenants())].toSorted();
  }

  async function* scanned(tenant: string): ReturnType<typeof scan> {
    const owners = tenant === ALL_TENANTS ? await allTenants() : [tenant];
    for (const owner of owners) yield* scan({ dead, tenant: owner }, {});
  }

  async function read(entry: DeadEntry): Promise<DeadLetter | null> {
    const { requestId, id } = entry;
    const [record, json] = await Promise.all([
      journal.directive(requestId, id),
      journal.envelope(requestId, id),
    ]);
    if (!record || json === null || record.terminal === null) return null;
    const signal = await journal.log.at(requestId, record.terminal);
    const { directive } = decodeEnvelope(json);
    const delivery = deliveryIn(directive);
    return {
      request_id: ownId(requestId),
      id,
      type: directive.type,
      lane: record.lane,
      name: delivery?.to ?? nameOf(directive, record.lane),
      ...(delivery && { about: { request_id: delivery.requestId, id: delivery.id } }),
      error: errorOf(signal?.data),
      attempts: record.fence - record.released,
      ended_at: new Date(record.endedAt ?? entry.endedAt).toISOString(),
    };
  }

  /** All of the tenant, by the id of their request as the tenant knows it. The index holds a bounded number. */
  async function byRequest(tenant: string): Promise<Map<string, DeadEntry[]>> {
    const found = new Map<string, DeadEntry[]>();
    for await (const entry of scan({ dead, tenant }, {})) {
      const id = ownId(entry.requestId);
      const others = found.get(id);
      if (others === undefined) found.set(id, [entry]);
      else others.push(entry);
    }
    return found;
  }

  return {
    list,
    byRequest,
    /** `tenant`: `*` for all. */
    groups: (tenant: string) => groupDeadLetters(scanned(tenant)),
    ...createRedrive(parts),
  };
}

function cursorOf({ endedAt, requestId, id }: DeadPlace): string {
  return `${endedAt}/${requestId}/${id}`;
}

function placeIn(cursor: string): DeadPlace {
  const [endedAt, requestId = '', id = ''] = cursor.split('/');
  return { endedAt: Number(endedAt), requestId, id };
}

function errorOf(data: unknown): ErrorEnvelope {
  const result = (data as { result?: { error?: ErrorEnvelope } } | undefined)?.result;
  return (
    result?.error ?? { type: 'internal_error', message: 'the signal is gone', details: {}, retryable: false }
  );
}
