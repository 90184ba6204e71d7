/** A journal on a real Redis for one test: own key prefix, own connection, directives ready to accept.
 *  It must never share keys with another test. */
import { randomUUID } from 'node:crypto';
import type { Directive } from '../../src/contract/directive.ts';
import { errorEnvelope } from '../../src/contract/error-envelope.ts';
import { errorResult, okResult, type Result } from '../../src/contract/result.ts';
import { toolExecSchema, type ToolExec } from '../../src/contract/work-directive.ts';
import { encodeEnvelope } from '../../src/journal/envelope.ts';
import { createJournal, DEFAULT_REQUEST_BYTES, type Acceptance } from '../../src/journal/journal.ts';
import { type KeySpace, keySpace } from '../../src/journal/keys.ts';
import { draftSignal } from '../../src/journal/signal-draft.ts';
import { terminalSignal } from '../../src/journal/terminal-signal.ts';
import { contentDigest } from '../../src/journal/content-digest.ts';
import { closeRedis, connectRedis, type RedisConnection } from '../../src/redis/connection.ts';
import { newTraceparent } from '../../src/telemetry/trace-context.ts';

export const RETENTION_MS = 60_000;

export function uniquePrefix(): string {
  return `t-${randomUUID().slice(0, 8)}`;
}

/** A complete `tool_exec`; `fields` override. */
export function toolCall(fields: Partial<ToolExec> = {}): ToolExec {
  const defaults = {
    type: 'tool_exec',
    id: randomUUID(),
    request_id: randomUUID(),
    tool_name: 'everything.echo',
  };
  return toolExecSchema.parse({ ...defaults, ...fields });
}

export function acceptance(directive: Directive, lane = 'tool.everything'): Acceptance {
  const deadlineMs = 'deadline_ms' in directive ? directive.deadline_ms : 900_000;
  const envelope = encodeEnvelope({ directive, lane, traceparent: newTraceparent() });
  return {
    id: directive.id,
    type: directive.type,
    digest: contentDigest(directive),
    lane,
    deadlineMs,
    envelope,
  };
}

export function originOf(directive: Directive) {
  return { requestId: directive.request_id, causationId: directive.id, traceparent: newTraceparent() };
}

export function endOf(directive: Directive, result: Result = okResult('done')) {
  return terminalSignal(directive, result, originOf(directive));
}

export function failureOf(directive: Directive, type: 'timeout' | 'network' = 'timeout') {
  return endOf(directive, errorResult(errorEnvelope(type, type)));
}

export function startedOf(directive: ToolExec) {
  const data = { call_id: directive.id, tool_name: directive.tool_name, arguments: {}, metadata: {} };
  return draftSignal('ai.tool.started', data, originOf(directive));
}

export function claimOf(directive: ToolExec, leaseMs = 10_000) {
  return {
    requestId: directive.request_id,
    id: directive.id,
    digest: contentDigest(directive),
    leaseMs,
    token: randomUUID(),
    started: startedOf(directive),
  };
}

/** What is due in the sweep index at an instant, without taking it. */
export async function dueAt(
  { connection, keys }: { connection: RedisConnection; keys: KeySpace },
  at: number,
) {
  const members = await connection.zrangebyscore(keys.sweep, '-inf', at);
  return members.map((member) => {
    const slash = member.indexOf('/');
    return { requestId: member.slice(0, slash), id: member.slice(slash + 1) };
  });
}

export async function openJournal(
  url: string,
  prefix = uniquePrefix(),
  requestBytes = DEFAULT_REQUEST_BYTES,
) {
  const connection = connectRedis(url, 'commands');
  const keys = keySpace(prefix);
  const journal = createJournal({ connection, keys, retentionMs: RETENTION_MS, requestBytes });
  await connection.ping();
  return { connection, keys, journal, [Symbol.asyncDispose]: () => closeRedis(connection) };
}
