// Recorded calls, and their replay against rules: in the order and at the times of the record, with counters that begin at zero.
// Never asks a service, nor takes a line that is malformed for a call.
import { readFileSync, statSync } from 'node:fs';
import { setImmediate } from 'node:timers/promises';
import * as z from 'zod';
import { DEFAULT_TENANT } from '../../contract/access/tenant.ts';
import type { DirectiveClient } from '../../contract/directive/directive-client.ts';
import type { Directive } from '../../contract/directive/directive.ts';
import { identifierSchema, instantSchema } from '../../contract/identifiers.ts';
import { fieldErrors } from '../../contract/json/field-error.ts';
import { findJsonHazard } from '../../contract/json/json-guard.ts';
import { isObject } from '../../contract/json/json-object.ts';
import { redact } from '../../contract/json/redaction.ts';
import { DEFAULT_ALIASES, type ModelTable, resolveModels } from '../../contract/model/model-name.ts';
import { COUNTERS, type PolicySettings, type RuledCall, type Ruling } from '../../contract/policy/policy.ts';
import type { DirectiveSummary, RequestView } from '../../contract/request/request-view.ts';
import type { Data } from '../../platform/expression/expression.ts';
import { callOf, dataOf } from './call-data.ts';
import { type CountedUse, decideCall, type PolicyCounters } from './counters.ts';
import { DENY_ALL, joinRules } from './joined-rules.ts';
import { compileRules } from './rules.ts';

const decisionSchema = z.enum(['allow', 'deny', 'ask']);

/** Schema of a line of a file of recorded calls. */
export const recordedCallSchema = z.strictObject({
  request_id: identifierSchema.describe('Id of the request.'),
  id: identifierSchema.describe('Id of the directive.'),
  at: instantSchema.describe('Instant (UTC) of the decision.'),
  lane: z.string().min(1).max(256).describe('Lane of the directive.'),
  directive: z
    .looseObject({ type: z.string().min(1).max(128) })
    .describe('Directive as accepted, with secrets redacted by their names.'),
  tenant: z.string().max(32).default(DEFAULT_TENANT).describe('Tenant of the request. Default: `default`.'),
  caller: z.string().max(512).default('').describe('Id of the API key. Default: none.'),
  agent: z.string().max(256).default('').describe('Agent of the run that made the call. Default: none.'),
  decision: decisionSchema.describe('Decision of the record.'),
  rule: z.string().max(256).nullable().describe('Rule that decided; null: none.'),
  made: z.boolean().default(true).describe('Whether an approved call was made. Default: true.'),
});

export type RecordedCall = z.infer<typeof recordedCallSchema>;

/** Why a file holds no recorded calls. */
export class CallFileFault extends Error {
  override readonly name = 'CallFileFault';
}

const LARGEST_FILE_BYTES = 67_108_864;
const MOST_CALLS = 100_000;

/** @throws `CallFileFault` with the line. */
export function readCalls(file: string): RecordedCall[] {
  const { size } = statSync(file);
  if (size > LARGEST_FILE_BYTES)
    throw new CallFileFault(`${file} has ${size} bytes, at most ${LARGEST_FILE_BYTES}`);
  const lines = readFileSync(file, 'utf8').split('\n', MOST_CALLS + 2);
  if (lines.at(-1) === '') lines.pop();
  if (lines.length > MOST_CALLS) throw new CallFileFault(`${file} has more than ${MOST_CALLS} lines`);
  return lines.map((line, at) => callIn(line, `${file}:${at + 1}`));
}

function callIn(line: string, place: string): RecordedCall {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch {
    throw new CallFileFault(`${place} is no recorded call: the line is not JSON`);
  }
  const hazard = findJsonHazard(value);
  if (hazard !== null)
    throw new CallFileFault(`${place} is no recorded call: ${hazard.path} ${hazard.message}`);
  const parsed = recordedCallSchema.safeParse(value);
  if (parsed.success) return parsed.data;
  const [first] = fieldErrors(parsed.error);
  throw new CallFileFault(
    `${place} is no recorded call: ${`${first?.path ?? ''} ${first?.message ?? 'is invalid'}`.trim()}`,
  );
}

export interface ReplayedCall {
  readonly call: RecordedCall;
  readonly ruling: Ruling;
  /** Paths that the deciding rule reads, with their values at that moment; undefined: absent. */
  readonly read: readonly (readonly [path: string, value: Data | undefined])[];
  /** Whether the decision differs from that of the record. */
  readonly differs: boolean;
}

/** Rules of a replay. */
export interface ReplayedRules {
  /** Those of the configuration. */
  readonly operators: PolicySettings;
  /** Policies that tenants have added, by tenant; `settings`: null: it cannot be read. */
  readonly tenants: ReadonlyMap<
    string,
    readonly { readonly name: string; readonly settings: PolicySettings | null }[]
  >;
  /** Models of the configuration, by alias. */
  readonly aliases: ReadonlyMap<string, readonly string[]>;
}

/** Rules of a tenant may take 50 ms for a decision: an interrupt waits for so many decisions at most. */
const REST_EVERY = 20;

/** Rejects with the reason of `signal`. */
export async function replayCalls(
  calls: readonly RecordedCall[],
  { operators, tenants, aliases }: ReplayedRules,
  signal?: AbortSignal,
): Promise<ReplayedCall[]> {
  const own = compileRules(operators);
  const joined = new Map(
    [...tenants].map(([tenant, policies]) => {
      const compiled = policies.map(({ name, settings }) => {
        const rules = settings === null ? DENY_ALL : compileRules(settings);
        return { tenant, name, rules };
      });
      return [tenant, joinRules(own, compiled)];
    }),
  );
  const counters = memoryCounters();
  const table = { aliases: new Map([...DEFAULT_ALIASES, ...aliases]), providers: new Map() };
  const replayed: ReplayedCall[] = [];
  for (const call of calls.toSorted((a, b) => Date.parse(a.at) - Date.parse(b.at))) {
    if (replayed.length % REST_EVERY === 0) await setImmediate();
    signal?.throwIfAborted();
    const ruled = ruledCall(call, table);
    const rules = joined.get(call.tenant) ?? own;
    counters.begin(ruled.at, call.made);
    const ruling = await decideCall({ rules, counters }, ruled, `${call.request_id}/${call.id}`);
    const paths = ruling.rule === null ? [] : rules.readsOf(ruling.rule);
    const data = dataOf(ruled, ruled.models[0] ?? '');
    const read = paths.map((path) => {
      const counter = path.startsWith(`${COUNTERS}.`) ? path.slice(COUNTERS.length + 1) : null;
      return [path, counter === null ? valueAt(data, path) : counters.seen().get(counter)] as const;
    });
    replayed.push({ call, ruling, read, differs: ruling.decision !== call.decision });
  }
  return replayed;
}

/** A recorded call as its rules see it. */
function ruledCall(call: RecordedCall, table: ModelTable): RuledCall {
  const { directive, tenant, caller, agent } = call;
  const { model, model_alias } = directive as { model?: string; model_alias?: string };
  const isModel = directive.type.startsWith('llm_');
  const resolved = isModel ? resolveModels({ model, model_alias }, table) : null;
  const models = resolved?.ok === true ? resolved.models.map(({ name }) => name) : [model ?? ''];
  const identified = { ...directive, request_id: call.request_id, id: call.id } as Directive;
  const facts = { models: isModel ? models : [], tenant, caller, agent, at: Date.parse(call.at) };
  return callOf(identified, call.lane, facts);
}

const DAY_MS = 86_400_000;

interface MemoryCounters extends Pick<PolicyCounters, 'decide'> {
  /** `isMade`: an approved call counts; else a person denied it, and it gives back what it had added. */
  begin(at: number, isMade: boolean): void;
  /** Values that the last call found. */
  seen(): ReadonlyMap<string, number>;
}

/** Counters as the scripts of Redis keep them, of one process. */
function memoryCounters(): MemoryCounters {
  const sums = new Map<string, number>();
  let now = { at: 0, isMade: true };
  let values = new Map<string, number>();
  const keyOf = ({ name, scope, daily }: CountedUse): string =>
    JSON.stringify([name, scope, daily ? Math.floor(now.at / DAY_MS) : null]);

  return {
    begin(at, isMade) {
      now = { at, isMade };
      values = new Map();
    },
    seen: () => values,
    async decide(_member, uses, decision) {
      values = new Map(uses.map((use) => [use.name, sums.get(keyOf(use)) ?? 0]));
      const ruling = decision(values);
      const counts = ruling.decision === 'allow' || (ruling.decision === 'ask' && now.isMade);
      for (const use of counts ? uses : [])
        if (use.amount > 0) sums.set(keyOf(use), (sums.get(keyOf(use)) ?? 0) + use.amount);
      return ruling;
    },
  };
}

/** Reads only what the data own: objects are maps. */
function valueAt(data: Readonly<Record<string, Data>>, path: string): Data | undefined {
  const [first = '', ...rest] = path.split('.');
  let value: Data | undefined = Object.hasOwn(data, first) ? data[first] : undefined;
  for (const name of rest) {
    if (value instanceof Map) value = (value as ReadonlyMap<string, Data>).get(name);
    else value = Array.isArray(value) ? (value as Data[])[Number(name)] : undefined;
  }
  return value;
}

/** Records the calls of a request that its worker has claimed. */
export async function* recordCalls(
  client: Pick<DirectiveClient, 'request' | 'directive' | 'signals'>,
  requestId: string,
  tenant: string,
): AsyncGenerator<RecordedCall> {
  const view = await client.request(requestId);
  if (view === null) return;
  const decided = await decisionsOf(client, view);
  for (const summary of view.directives) {
    const decision = decided.get(summary.id);
    const at = decision?.at ?? summary.started_at;
    if (at === null || !isRuled(summary)) continue;
    const read = await client.directive(requestId, summary.id);
    if (read === null) continue;
    const error = errorTypeOf(read.result?.data);
    yield {
      request_id: requestId,
      id: summary.id,
      at,
      lane: summary.lane ?? '',
      directive: redact(read.directive as never) as RecordedCall['directive'],
      tenant,
      caller: '',
      agent: view.run?.agent ?? '',
      decision: decision?.decision ?? 'allow',
      rule: decision?.rule ?? null,
      made: error !== 'denied' && error !== 'approval_expired',
    };
  }
}

function errorTypeOf(data: unknown): unknown {
  const result = isObject(data) ? data['result'] : undefined;
  const error = isObject(result) ? result['error'] : undefined;
  return isObject(error) ? error['type'] : undefined;
}

/** Rules decide about no directive that ends as it is accepted, and about no delivery of a webhook. */
function isRuled({ lane }: DirectiveSummary): boolean {
  return lane !== null && !lane.startsWith('webhook.');
}

type Decided = Pick<RecordedCall, 'at' | 'decision' | 'rule'>;

async function decisionsOf(
  client: Pick<DirectiveClient, 'signals'>,
  { request_id: requestId }: RequestView,
): Promise<Map<string, Decided>> {
  const decided = new Map<string, Decided>();
  for await (const { type, time, data } of client.signals(requestId, { follow: false })) {
    // The record names the models of the directive.
    if (type !== 'directive.policy_decided' || data.models !== undefined) continue;
    decided.set(data.call_id, { at: time, decision: data.decision, rule: data.rule });
  }
  return decided;
}
