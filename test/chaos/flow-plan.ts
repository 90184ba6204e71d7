/** Limits, turns and priorities under chaos: what each limit allows, and which calls are under which.
 *  It must never depend on what the service answers. */
import type { Chance } from './random.ts';

export interface Rate {
  readonly max: number;
  readonly per_ms: number;
}

export interface PlannedLimit {
  /** The lane's server; a limit holds in one lane. */
  readonly server: 'alpha' | 'beta';
  readonly concurrency?: number;
  readonly rate?: Rate;
}

/** Servers of both are processes of their worker, so that the tool knows whose call it is. */
export const LIMITS = {
  queue: { server: 'alpha', concurrency: 1 },
  long: { server: 'alpha', concurrency: 2 },
  paced: { server: 'alpha', rate: { max: 4, per_ms: 10_000 } },
  'pair-0': { server: 'alpha', concurrency: 2 },
  'pair-1': { server: 'alpha', concurrency: 2 },
  'pair-2': { server: 'alpha', concurrency: 3 },
  busy: { server: 'alpha', rate: { max: 12, per_ms: 8_000 } },
  'account-0': { server: 'beta', concurrency: 2 },
  'account-1': { server: 'beta', concurrency: 2 },
} as const satisfies Readonly<Record<string, PlannedLimit>>;

export type LimitName = keyof typeof LIMITS;

const ACCOUNTED = 'accounted';
const BACKGROUND = 'background';

/** Of the configuration: `account-…` are limits of the rule, and no caller names them. */
export const FLOW = {
  lanes: ['tool.beta'],
  rules: {
    'per-account': {
      match: { lane: 'tool.beta', tag: ACCOUNTED },
      concurrency: { by: 'arguments.account', limit: LIMITS['account-0'].concurrency },
    },
    background: { match: { tag: BACKGROUND }, priority: 0 },
  },
};

/** What a call takes with it. */
export interface PlannedFlow {
  readonly server?: 'alpha' | 'beta';
  readonly args: Readonly<Record<string, unknown>>;
  readonly fields: Readonly<Record<string, unknown>>;
  /** A rule fixes its priority. */
  readonly isFixed: boolean;
}

/** The fields of a directive under limits of its own. */
export function limitFields(names: readonly LimitName[]): Record<string, unknown> {
  const fields: Record<string, unknown> = {};
  for (const key of names) {
    const limit: PlannedLimit = LIMITS[key];
    if (limit.concurrency !== undefined) fields['concurrency'] = { key, limit: limit.concurrency };
    if (limit.rate !== undefined) fields['rate'] = { key, ...limit.rate };
  }
  return fields;
}

/** Under the rule's limit of an account. */
export function accountFlow(account: LimitName, tags: readonly string[] = []) {
  return {
    server: LIMITS[account].server,
    args: { limits: [account], account },
    fields: { metadata: { tags: [ACCOUNTED, ...tags] } },
  };
}

/** null: as most calls, it asks for none of it. */
export function planFlow(chance: Chance): PlannedFlow | null {
  const shape = chance.weighted({ none: 70, pair: 8, both: 5, account: 6, turn: 7, background: 4 });
  const pair = chance.pick(['pair-0', 'pair-1', 'pair-2'] as const);
  const turn = {
    ...(chance.percent(50) ? { priority: chance.between(0, 9) } : {}),
    ...(chance.percent(50) ? { fairness_key: `turn-${chance.between(0, 3)}` } : {}),
  };
  const own = (names: readonly LimitName[]): PlannedFlow => ({
    server: 'alpha',
    args: { limits: names },
    fields: { ...limitFields(names), ...turn },
    isFixed: false,
  });
  switch (shape) {
    case 'none':
      return null;
    case 'pair':
      return own([pair]);
    case 'both':
      return own([pair, 'busy']);
    case 'account':
    case 'background': {
      const isFixed = shape === 'background';
      const account = accountFlow(
        chance.pick(['account-0', 'account-1'] as const),
        isFixed ? [BACKGROUND] : [],
      );
      return { ...account, fields: { ...account.fields, ...turn }, isFixed };
    }
    case 'turn':
      return { args: {}, fields: { priority: 4, ...turn }, isFixed: false };
  }
}
