/** Directives of tests, and what the journal is given about them: to be accepted, claimed, ended.
 *  It must never touch Redis but to read. */
import { randomUUID } from 'node:crypto';
import type { Directive } from '../../src/contract/directive/directive.ts';
import { errorEnvelope } from '../../src/contract/error-envelope.ts';
import { errorResult, okResult, type Result } from '../../src/contract/result.ts';
import { toolExecSchema, type ToolExec } from '../../src/contract/directive/work-directive.ts';
import { encodeEnvelope } from '../../src/store/request/envelope.ts';
import type { Acceptance } from '../../src/store/request/journal.ts';
import type { KeySpace } from '../../src/store/keys.ts';
import { draftSignal } from '../../src/store/log/signal-draft.ts';
import { terminalSignal } from '../../src/store/log/terminal-signal.ts';
import { contentDigest } from '../../src/store/request/content-digest.ts';
import type { RedisConnection } from '../../src/platform/redis/connection.ts';
import { jobDataOf, jobOptionsOf } from '../../src/queue/job.ts';
import { newTraceparent } from '../../src/platform/telemetry/traces/trace-context.ts';

export const RETENTION_MS = 60_000;

/** That of the server `test`. */
export const LANE = 'tool.test';

export function uniquePrefix(): string {
  return `t-${randomUUID().slice(0, 8)}`;
}

/** A complete `tool_exec`; `fields` override. */
export function toolCall(fields: Partial<ToolExec> = {}): ToolExec {
  const defaults = {
    type: 'tool_exec',
    id: randomUUID(),
    request_id: randomUUID(),
    tool_name: 'test.echo',
  };
  return toolExecSchema.parse({ ...defaults, ...fields });
}

export function acceptance(directive: Directive, lane = LANE): Acceptance {
  const deadlineMs = 'deadline_ms' in directive ? directive.deadline_ms : 900_000;
  const envelope = { directive, lane, traceparent: newTraceparent() };
  const digest = contentDigest(directive);
  const data = jobDataOf(envelope, { digest, lane });
  return {
    id: directive.id,
    type: directive.type,
    digest,
    lane,
    deadlineMs,
    envelope: encodeEnvelope(envelope),
    job: { data, options: jobOptionsOf(data) },
  };
}

/** Its job in a lane, without its body. */
export function jobOf(directive: Directive) {
  return { request_id: directive.request_id, id: directive.id, digest: contentDigest(directive) };
}

export function originOf(directive: Directive) {
  return { requestId: directive.request_id, causationId: directive.id, traceparent: newTraceparent() };
}

export function endOf(directive: Directive, result: Result = okResult('done')) {
  return terminalSignal(directive, result, originOf(directive));
}

export function failureOf(directive: Directive, type: 'timeout' | 'network' | 'cancelled' = 'timeout') {
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
