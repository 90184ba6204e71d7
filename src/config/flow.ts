// Flow control: which lanes take turns, the shares of tenants, and the rules that hold whatever a caller says.
// Must never accept a rule that limits nothing, nor more limits on one directive than a gate counts.
import * as z from 'zod';
import {
  concurrencyLimitSchema,
  type FlowMatch,
  type FlowRule,
  type FlowSettings,
  MOST_RULE_LIMITS,
  prioritySchema,
  rateMaxSchema,
  ratePerMsSchema,
} from '../contract/directive/flow.ts';
import { LONGEST_TAG, tagSchema } from '../contract/directive/tags.ts';
import { tenantSchema } from '../contract/access/tenant-name.ts';
import { byName } from './names.ts';
import { notes } from './notes.ts';

const MOST_RULES = 32;
const MOST_LANES = 64;
const MOST_WEIGHTS = 1_000;
const MOST_PATHS = 4;

const lanePattern = z
  .string()
  .regex(
    /^(?:\*|(?:tool|llm|custom)\.[A-Za-z0-9_.*-]{1,128})$/,
    'must be a lane, as in tool.crm or llm.openai, or a pattern, as in tool.* or *',
  );

/** Fields of the directives that this service knows; a user's own type has others. */
const ROOTS: ReadonlySet<string> = new Set(
  'tenant lane type fairness_key metadata tool_name server arguments context model model_alias'.split(' '),
);

const pathSchema = z
  .string()
  .regex(
    /^[^.\p{Cc}]{1,64}(?:\.[^.\p{Cc}]{1,64}){0,7}$/u,
    'must be tenant, lane, or the path of a field, as in arguments.account',
  );

const bySchema = z
  .union([pathSchema, z.array(pathSchema).min(1).max(MOST_PATHS)])
  .transform((by) => (typeof by === 'string' ? [by] : by))
  .optional()
  .register(notes, {
    description:
      'The path of a field, as in `arguments.account` or `tenant`, or up to 4: the same values share the limit. What has no text, number or boolean there is not limited.',
    fallback: 'all that it fits share the limit',
  });

const concurrencySchema = z.strictObject({
  by: bySchema,
  limit: concurrencyLimitSchema.register(notes, { description: 'At once, in one lane.', unit: 'calls' }),
});

const rateSchema = z.strictObject({
  by: bySchema,
  max: rateMaxSchema.register(notes, {
    description: 'Calls that begin within `per_ms`, in one lane.',
    unit: 'calls',
  }),
  per_ms: ratePerMsSchema.register(notes, { description: 'The time that `max` is for.', unit: 'ms' }),
});

const ANY = 'any';

const matchSchema = z
  .strictObject({
    tenant: tenantSchema.optional().register(notes, {
      description: 'Directives of this tenant.',
      fallback: ANY,
    }),
    type: z
      .string()
      .regex(/^[A-Za-z][A-Za-z0-9_.-]{0,63}$/, 'must be a directive type, as in tool_exec')
      .optional()
      .register(notes, {
        description: 'Directives of this type, as in `tool_exec`, or of a custom type.',
        fallback: ANY,
      }),
    lane: lanePattern.optional().register(notes, {
      description: 'Directives of this lane, or of all that the pattern fits.',
      special: '`*` in it is a wildcard',
      fallback: ANY,
    }),
    tool: z.string().min(1).max(256).optional().register(notes, {
      description: 'Calls of this tool, with or without its server, as in `crm.update` or `update`.',
      special: '`*` in it is a wildcard',
      fallback: ANY,
    }),
    tag: tagSchema.optional().register(notes, {
      description: `Directives with this among their \`metadata.tags\` (up to ${LONGEST_TAG} characters).`,
      fallback: ANY,
    }),
  })
  .prefault({})
  .register(notes, {
    description: 'Which directives it is for: those that fit each key.',
    fallback: 'every directive',
  });

const ruleSchema = z
  .strictObject({
    match: matchSchema,
    concurrency: concurrencySchema.optional().register(notes, {
      description: 'How many run at once.',
      fallback: 'no such limit',
    }),
    rate: rateSchema.optional().register(notes, {
      description: 'How many begin within a time.',
      fallback: 'no such limit',
    }),
    priority: prioritySchema.optional().register(notes, {
      description:
        'The priority of what it fits, whatever the caller says. Of several rules the lowest holds.',
      fallback: 'as the caller says',
    }),
  })
  .refine(
    ({ concurrency, rate, priority }) =>
      concurrency !== undefined || rate !== undefined || priority !== undefined,
    { path: ['concurrency'], message: 'concurrency, rate or priority is required' },
  );

type Rule = z.output<typeof ruleSchema>;

const nameSchema = z.string().regex(/^[a-z0-9][a-z0-9-]{0,63}$/, 'must be 1 to 64 of a-z 0-9 -, not - first');

export const flowSections = {
  flow: z
    .strictObject({
      lanes: z.array(lanePattern).max(MOST_LANES).optional().register(notes, {
        description:
          'Lanes, or patterns of lanes, whose directives all take turns: by tenant, and those of a tenant by `fairness_key`. `[]`: none.',
        fallback: 'every lane where there is more than one tenant, else none',
      }),
      weights: atMost(MOST_WEIGHTS, byName(tenantSchema, z.int().min(1).max(1_000))).register(notes, {
        description:
          'Shares of tenants among those that wait, by name; who is not named has 1. A tenant with 3 begins three where another begins one.',
        fallback: 'each has the same',
      }),
      rules: atMost(MOST_RULES, byName(nameSchema, ruleSchema)).register(notes, {
        description:
          'Rules by name. Each holds for all directives that it fits, beside what their callers ask for.',
      }),
    })
    .prefault({})
    .register(notes, {
      description: '[Whose turn it is, and how many at once](priorities-and-limits.md).',
      fallback: 'only what callers ask for',
    }),
};

function atMost<S extends z.ZodType<ReadonlyMap<string, unknown>>>(most: number, schema: S) {
  return schema
    .prefault({} as never)
    .refine((map) => (map as ReadonlyMap<string, unknown>).size <= most, `must be at most ${most}`);
}

type Flow = z.output<typeof flowSections.flow>;

interface Fault {
  readonly path: string[];
  readonly message: string;
}

/** Faults of the rules, alone and together. */
export function flowFaults({ flow }: { flow: Flow }): Fault[] {
  const rules = flowSettings(flow).rules;
  return [
    ...rules.flatMap(pathFaults),
    ...rules.slice(0, MOST_RULES).flatMap((rule) => crowdFaults(rule, rules)),
  ];
}

/** Refuses a misspelled path, which would limit nothing. */
function pathFaults({ name, match, concurrency, rate }: FlowRule): Fault[] {
  const isOwnType = match.lane?.startsWith('custom.') || (match.type !== null && !isKnownType(match.type));
  if (isOwnType) return [];
  return (
    [
      ['concurrency', concurrency],
      ['rate', rate],
    ] as const
  ).flatMap(([kind, limit]) =>
    (limit?.by ?? [])
      .filter((path) => !ROOTS.has(path.split('.')[0] ?? ''))
      .map((path) => ({
        path: ['flow', 'rules', name, kind, 'by'],
        message: `"${path}" begins with no field of a directive: ${[...ROOTS].join(', ')}`,
      })),
  );
}

function isKnownType(type: string): boolean {
  return type === 'tool_exec' || type.startsWith('llm_');
}

function crowdFaults(rule: FlowRule, rules: readonly FlowRule[]): Fault[] {
  const meeting = rules.filter((other) => mayMeet(rule.match, other.match));
  const count = meeting.reduce(
    (sum, { concurrency, rate }) => sum + Number(concurrency !== null) + Number(rate !== null),
    0,
  );
  if (count <= MOST_RULE_LIMITS) return [];
  const message = `one directive might fit ${meeting.map(({ name }) => name).join(', ')}, with ${count} limits together; at most ${MOST_RULE_LIMITS} may hold for one. Name lanes, tools, types or tenants that differ.`;
  return [{ path: ['flow', 'rules', rule.name], message }];
}

/** Whether a directive may fit both; it may say yes where none can. */
function mayMeet(left: FlowMatch, right: FlowMatch): boolean {
  return (
    mayBeSame(left.tenant, right.tenant) &&
    mayBeSame(left.type, right.type) &&
    mayOverlap(left.lane, right.lane) &&
    (left.tool === null ||
      right.tool === null ||
      left.tool.includes('.') !== right.tool.includes('.') ||
      mayOverlap(left.tool, right.tool))
  );
}

function mayBeSame(left: string | null, right: string | null): boolean {
  return left === null || right === null || left === right;
}

/** Compares the texts before the first `*`. */
function mayOverlap(left: string | null, right: string | null): boolean {
  if (left === null || right === null) return true;
  const [before, other] = [left.split('*')[0] ?? '', right.split('*')[0] ?? ''];
  if (before === left) return other === right ? left === right : left.startsWith(other);
  return other === right ? right.startsWith(before) : before.startsWith(other) || other.startsWith(before);
}

export function flowSettings({ lanes, weights, rules }: Flow): FlowSettings {
  return { lanes: lanes ?? [], weights, rules: [...rules].map(([name, rule]) => flowRule(name, rule)) };
}

function flowRule(name: string, { match, concurrency, rate, priority }: Rule): FlowRule {
  const { tenant = null, type = null, lane = null, tool = null, tag = null } = match;
  return {
    name,
    match: { tenant, type, lane, tool, tag },
    concurrency: concurrency === undefined ? null : { by: concurrency.by ?? [], limit: concurrency.limit },
    rate: rate === undefined ? null : { by: rate.by ?? [], max: rate.max, perMs: rate.per_ms },
    priority: priority ?? null,
  };
}
