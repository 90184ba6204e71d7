/** A run that another program leads, on a real Redis: its model calls, tool calls and steps, through the seams of the model endpoint
 *  and of MCP. */
import { DirectiveRefused, problem } from '../../src/contract/problem.ts';
import type { BeginStepBody } from '../../src/contract/run/foreign-run.ts';
import type { ModelCall } from '../../src/features/model-endpoint/turns-of-run.ts';
import type { Principal } from '../../src/http/access/principal.ts';
import { foreignRunsOf } from '../../src/service/foreign-runs.ts';
import { openStore } from './store.ts';

export type Asked = readonly [name: string, args: Record<string, unknown>];
export type Message = Record<string, unknown>;
interface Sent {
  readonly headers?: Record<string, string>;
  readonly wire?: ModelCall['wire'];
  /** The answer comes from the record. */
  readonly isReplayed?: boolean;
  readonly more?: Record<string, unknown>;
}

export const TASK: readonly Message[] = [
  { role: 'system', content: 'You refund.' },
  { role: 'user', content: 'Refund order 4711.' },
];

/** The same name in other tests is another run: each has a prefix of its own. */
export async function openRuns(redisUrl: string) {
  const opened = await openStore(redisUrl);
  const log: object[] = [];
  const spent: string[] = [];
  const runs = foreignRunsOf(opened.store, {
    spend: async ({ id }) => {
      if (id === 'poor') throw new DirectiveRefused(problem('rate_limited'));
      spent.push(id);
    },
    mustEncrypt: (tenant) => tenant === 'sealed',
    warn: (fields) => log.push(fields),
  });
  const caller = (id: string, tenant = 'default', scopes = ['submit', 'read']) =>
    ({ id, name: id, tenant, scopes: new Set(scopes) }) as unknown as Principal;
  const call = (messages: readonly Message[], more: Record<string, unknown> = {}): ModelCall => {
    const members = { model: 'm', messages, ...more };
    return { wire: 'openai_chat', model: 'm', body: JSON.stringify(members), members, isStreamed: false };
  };
  /** A program's model call, answered with calls of tools. Returns its request. */
  async function turn(
    messages: readonly Message[],
    asks: readonly Asked[] = [],
    { headers = {}, more, wire = 'openai_chat', isReplayed = false }: Sent = {},
    principal: Principal | null = null,
  ): Promise<string> {
    const asked = { ...call(messages, more), wire };
    const target = await runs.turns.turnFor('order', asked, headers, principal, null);
    const toolCalls = asks.map(([name, args], at) => ({ id: `call_${at}`, name, arguments: args }));
    await runs.turns.answered('order', target, { toolCalls, usage: null, isReplayed });
    return target.requestId;
  }
  const find = async (
    [name, args]: Asked,
    { isOnce = true, allowsRepeat = false, pass = null as string | null, by = null as Principal | null } = {},
  ) => {
    const names = [`shop__${name}`, `shop.${name}`, name];
    const asked = { run: 'order', tool: `shop.${name}`, names, arguments: args, isOnce, allowsRepeat, pass };
    return runs.toolCalls.find(asked, by);
  };
  /** A call whose answer does not reach its caller. */
  const lost = async (...asked: Parameters<typeof find>): Promise<string> => (await find(...asked)).requestId;
  const tool = async (...[asked, options = {}]: Parameters<typeof find>): Promise<string> => {
    const requestId = await lost(asked, options);
    await runs.toolCalls.given('order', requestId, options.by ?? null);
    return requestId;
  };
  return {
    ...runs,
    log,
    spent,
    connection: opened.store.connection,
    /** The key of the one run. */
    state: async () =>
      String((await opened.store.connection.keys(`${opened.store.keys.prefix}:{foreign:*}:state`))[0]),
    call,
    caller,
    turn,
    find,
    lost,
    tool,
    step: async (body: BeginStepBody, by: Principal | null = null) => runs.calls.beginStep('order', body, by),
    [Symbol.asyncDispose]: async () => opened[Symbol.asyncDispose](),
  };
}

export const answer = (text: string): Message => ({ role: 'assistant', content: text });
