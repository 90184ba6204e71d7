/** Another tenant that attacks all the while: too many bytes and members, searches without end, the ids of the others.
 *  It must never leave work behind: everything that it asks for has to be refused. */
import { setTimeout as delay } from 'node:timers/promises';
import { chanceOf } from './random.ts';
import type { System } from './system.ts';
import { exchange } from './transport.ts';

export interface HostileTenant {
  /** Resolves with what it was given and should not have been, once `minutes` are over. */
  judge(): Promise<string[]>;
  line(): string;
}

const PAUSE_MS = { min: 100, max: 600 };
const SCOPES = ['submit', 'read', 'cancel', 'decide', 'redrive', 'admin'];
const wide = Object.fromEntries(Array.from({ length: 60_000 }, (_, index) => [`k${index}`, 0]));
const CLIENT = { name: 'hostile', version: '1' };
const INITIALIZE = {
  jsonrpc: '2.0',
  id: 1,
  method: 'initialize',
  params: { protocolVersion: '2025-06-18', clientInfo: CLIENT, capabilities: { experimental: { wide } } },
};

interface Attempt {
  readonly method: 'GET' | 'POST';
  readonly path: string;
  readonly body?: unknown;
  /** An answer of 2xx is a violation. */
  readonly refused: boolean;
}

/** `known`: the id of a request of another tenant; null: there is none yet. */
function attemptsOn(known: string | null): Attempt[] {
  const foreign =
    known === null
      ? []
      : [
          { method: 'GET', path: `/v1/requests/${known}`, refused: true } as const,
          { method: 'GET', path: `/v1/requests/${known}/signals?limit=1000`, refused: true } as const,
          { method: 'POST', path: `/v1/requests/${known}/cancel`, body: {}, refused: true } as const,
        ];
  const call = {
    type: 'tool_exec',
    tool_name: 'alpha.read',
    arguments: { ...wide, more: [wide, wide, wide, wide] },
  };
  return [
    ...foreign,
    { method: 'POST', path: '/v1/session', body: wide, refused: true },
    { method: 'POST', path: '/v1/directives', body: call, refused: true },
    { method: 'POST', path: '/mcp', body: INITIALIZE, refused: false },
    { method: 'GET', path: '/v1/requests?q=nothinghasthisword', refused: false },
  ];
}

export function startHostileTenant(
  seed: string,
  { apiUrls: apis }: System,
  { minutes, known }: { readonly minutes: number; readonly known: () => Iterable<string> },
): HostileTenant {
  const until = Date.now() + minutes * 60_000;
  const chance = chanceOf(`${seed}/hostile-tenant`);
  const violations: string[] = [];
  const answers = new Map<string, number>();

  async function attack(key: string): Promise<void> {
    const ids = [...known()];
    const attempt = chance.pick(attemptsOn(ids.length === 0 ? null : chance.pick(ids)));
    const { method, path, body, refused } = attempt;
    const headers = { authorization: `Bearer ${key}`, accept: 'application/json, text/event-stream' };
    const { status } = await exchange(chance.pick(apis), method, path, { body, headers });
    answers.set(String(status), (answers.get(String(status)) ?? 0) + 1);
    if (refused && typeof status === 'number' && status < 300)
      violations.push(`the hostile tenant was answered with ${status} at ${method} ${path}`);
  }

  const work = (async (): Promise<void> => {
    let key: string | null = null;
    for (; Date.now() < until; await delay(chance.between(PAUSE_MS.min, PAUSE_MS.max))) {
      key ??= await makeKey(chance.pick(apis));
      if (key !== null) await attack(key);
    }
    if (answers.size === 0) violations.push('the hostile tenant got no answer at all');
  })();

  return {
    async judge() {
      await work;
      return violations;
    },
    line: () => `hostile tenant: ${[...answers].map(([status, count]) => `${count}×${status}`).join(' ')}`,
  };
}

async function makeKey(api: string): Promise<string | null> {
  const body = { name: 'hostile', tenant: 'hostile', scopes: SCOPES };
  const { status, body: made } = await exchange(api, 'POST', '/v1/keys', { body });
  return status === 200 || status === 201 ? (made as { key: string }).key : null;
}
