// Lists the budgets of a tenant as they stand today.
// Must never show a tenant what another one, or all together, have spent: that is for the operators.
import { BUDGET_CURRENCY, type BudgetRule, type BudgetSettings, EACH } from '../../contract/model/budget.ts';
import {
  type BudgetListing,
  listedBudgetSchema,
  type ListedBudget,
} from '../../contract/model/budget-listing.ts';
import { DEFAULT_TENANT } from '../../contract/access/tenant.ts';
import type { RedisConnection } from '../../platform/redis/connection.ts';
import { budgetFields, type CountedBudget, countedBudget } from './budget-count.ts';
import { createBudgetDays, daysAround } from './budget-day.ts';
import type { KeySpace } from '../keys.ts';
import { prepareScripts, type RunScript } from '../scripts.ts';

type Fields = ReadonlyMap<string, string>;

/** The ids of an owner or of a rule, named as by budget-read.lua, and the number of further ones. */
type CountedIds = readonly [ids: readonly string[], left: number];

/** The owner of budgets of all tenants together. */
const SHARED = '';

/** Maximum number of shown budgets that one rule gives each tenant: those with the most use. */
const MOST_OF_EACH = 20;

export type ListBudgets = (tenant: string) => Promise<BudgetListing>;

/** `timeZone` and `rules`: of this process; what no call was counted in today is listed by them alone. */
export function createBudgetList(
  connection: RedisConnection,
  { budgets: place }: Pick<KeySpace, 'budgets'>,
  { timeZone, rules }: BudgetSettings,
): ListBudgets {
  const run = prepareScripts(connection);
  const daysOf = createBudgetDays(timeZone);
  return async (tenant) => {
    // The operators' tenant sees what is of all.
    const isOperators = tenant === DEFAULT_TENANT;
    const owners = isOperators ? [SHARED, tenant] : [tenant];
    const most = isOperators ? MOST_OF_EACH : 0;
    const reply = await read(run, place, { timeZone, daysOf, whose: [most, ...owners] });
    const [, day, , endsAt, zone, text] = reply;
    const counted = JSON.parse(String(text)) as CountedIds[];
    const found = await fieldsOf(connection, `${place}${day}:`, counted);
    for (const budget of rules.flatMap((rule) => ownOf(rule, tenant)))
      if (!found.has(budget.id)) found.set(budget.id, new Map(Object.entries(budgetFields(budget))));
    return {
      day: String(day),
      time_zone: String(zone),
      resets_at: new Date(Number(endsAt) * 1_000).toISOString(),
      currency: BUDGET_CURRENCY,
      budgets: [...found.values()].map(listed).toSorted(byName),
      ...moreOf(found, counted),
    };
  };
}

async function read(
  run: RunScript,
  place: string,
  asked: {
    timeZone: string;
    daysOf: ReturnType<typeof createBudgetDays>;
    whose: readonly (string | number)[];
  },
) {
  const { timeZone, daysOf, whose } = asked;
  const reply = await run('budget-read', [place], [JSON.stringify(daysOf(Date.now())), ...whose]);
  const [verdict, seconds] = reply;
  if (verdict === 'ok') return reply;
  const days = daysAround(Number(seconds) * 1_000, timeZone);
  return run('budget-read', [place], [JSON.stringify(days), ...whose]);
}

/** The further budgets of a rule, whatever it is called by: each of its budgets has the count. */
function moreOf(
  found: ReadonlyMap<string, Fields>,
  counted: readonly CountedIds[],
): Pick<BudgetListing, 'more'> {
  const more = counted.flatMap(([ids, budgets]) => {
    const known = ids.findLast((id) => found.has(id));
    return budgets > 0 && known !== undefined ? [{ name: found.get(known)?.get('name') ?? '', budgets }] : [];
  });
  return more.length === 0 ? {} : { more };
}

/** The budgets of a rule that the tenant sees and that are known without a call. */
function ownOf(rule: BudgetRule, tenant: string): CountedBudget[] {
  const { key } = rule;
  if (key === EACH) return [];
  if (rule.tenant === null)
    return tenant === DEFAULT_TENANT ? [countedBudget(rule, { tenant: null, key })] : [];
  return rule.tenant === EACH || rule.tenant === tenant ? [countedBudget(rule, { tenant, key })] : [];
}

/** Some after the other, so that Redis and this process do other work meanwhile. */
const READ_AT_ONCE = 100;

/** The fields by id; a deleted one is left out. */
async function fieldsOf(
  connection: RedisConnection,
  place: string,
  counted: readonly CountedIds[],
): Promise<Map<string, Fields>> {
  const ids = [...new Set(counted.flatMap(([some]) => some))];
  const found = new Map<string, Fields>();
  for (let first = 0; first < ids.length; first += READ_AT_ONCE) {
    const some = ids.slice(first, first + READ_AT_ONCE);
    const hashes = await Promise.all(some.map(async (id) => connection.hgetall(place + id)));
    for (const [nth, id] of some.entries()) {
      const fields = Object.entries(hashes[nth] ?? {});
      if (fields.length > 0) found.set(id, new Map(fields));
    }
  }
  return found;
}

function listed(fields: Fields): ListedBudget {
  const text = (name: string) => {
    const value = fields.get(name) ?? '';
    return value === '' ? {} : { [name]: value };
  };
  const limit = (name: string): number | null => (fields.get(name) ? countIn(fields, name) : null);
  return {
    name: fields.get('name') ?? '',
    ...text('tenant'),
    ...text('key'),
    ...text('alias'),
    tokens: { used: countIn(fields, 'tokens'), limit: limit('tokens_limit') },
    money: { used: countIn(fields, 'money'), limit: limit('money_limit') },
    calls: countIn(fields, 'calls'),
    breaches: countIn(fields, 'breaches'),
    // A later version may know others.
    on_breach: listedBudgetSchema.shape.on_breach.catch('stop').parse(fields.get('on_breach')),
    ...text('cheaper'),
    models: modelsOf(fields),
  };
}

const OF_MODEL = 'calls|';

function modelsOf(fields: Fields): ListedBudget['models'] {
  const names = [...fields.keys()].filter((field) => field.startsWith(OF_MODEL));
  return names
    .map((field) => field.slice(OF_MODEL.length))
    .map((name) => ({
      name,
      calls: countIn(fields, `calls|${name}`),
      tokens: countIn(fields, `tokens|${name}`),
      money: countIn(fields, `money|${name}`),
    }))
    .toSorted((left, right) => right.money - left.money || right.tokens - left.tokens);
}

function countIn(fields: Fields, name: string): number {
  const count = Number(fields.get(name) ?? 0);
  return Number.isSafeInteger(count) ? Math.max(0, count) : 0;
}

/** Orders budgets of one name, the most used first. */
function byName(left: ListedBudget, right: ListedBudget): number {
  if (left.name !== right.name) return left.name < right.name ? -1 : 1;
  const isMoney = left.money.limit !== null;
  const used = ({ money, tokens }: ListedBudget): number => (isMoney ? money.used : tokens.used);
  const key = ({ tenant = '', key: of = '' }: ListedBudget): string => `${tenant} ${of}`;
  return used(right) - used(left) || (key(left) < key(right) ? -1 : 1);
}
