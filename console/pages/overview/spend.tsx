/** Today's spend: money and tokens of each budget, and of each alias or model in it.
 *  It must never add budgets up: one call may count in several. */
import type { BudgetListing, ListedBudget } from '../../../src/contract/model/budget-listing.ts';
import { clockText, countText, moneyText } from '../../data/shown.ts';
import { Empty } from '../../parts/empty.tsx';
import { type Column, Table } from '../../parts/table.tsx';
import { Text } from '../../parts/text.tsx';
import { usedUp } from './trouble.ts';

const MOST_MODELS = 8;

export function Spend({ listing: { budgets, currency, resets_at: until } }: { listing: BudgetListing }) {
  return (
    <div>
      <h2>
        Spend today{' '}
        {budgets.length > 0 && <span className="overview-all faint">until {clockText(until)}</span>}
      </h2>
      {budgets.length === 0 ? (
        <Empty title="No budgets">
          <code>budgets</code> in <code>adjutant.json</code> counts tokens and money by day.
        </Empty>
      ) : (
        <Table
          label="Spend today"
          columns={columnsIn(currency)}
          rows={budgets.flatMap(rowsOf)}
          keyOf={({ key }) => key}
          noteOf={noteOf}
        />
      )}
    </div>
  );
}

type Spent = Pick<ListedBudget['models'][number], 'name' | 'tokens' | 'money'> & {
  readonly key: string;
  /** Name of the line of a whole budget. */
  readonly budget?: ListedBudget;
};

const MICROS = 1_000_000;

/** Its own line first, then its models and aliases. */
function rowsOf(budget: ListedBudget): Spent[] {
  const { name, tokens, money, models } = budget;
  const key = JSON.stringify([name, budget.tenant, budget.key]);
  const whole: Spent = { key, name, tokens: tokens.used, money: money.used, budget };
  // Of a budget of one alias its only line says it all.
  const others = models.filter((model) => models.length > 1 || model.name !== budget.alias);
  return [whole, ...others.slice(0, MOST_MODELS).map((each) => ({ ...each, key: `${key} ${each.name}` }))];
}

function noteOf({ budget }: Spent) {
  if (budget === undefined) return null;
  const { tenant, key, breaches } = budget;
  const note = [
    tenant === undefined ? '' : `tenant ${tenant}`,
    key === undefined ? '' : `key ${key}`,
    breaches === 0 ? '' : breachWords(budget),
  ].filter((text) => text !== '');
  return note.length === 0 ? null : (
    <span className={usedUp(budget) ? 'overview-error' : breaches > 0 ? 'overview-wait' : 'muted'}>
      <Text>{note.join(' · ')}</Text>
    </span>
  );
}

/** Number of calls that it refused, and what followed. */
function breachWords({ breaches, on_breach: what, cheaper }: ListedBudget): string {
  const calls = `${countText(breaches)} held back`;
  return what === 'cheaper' && cheaper !== undefined ? `${calls}, answered by ${cheaper}` : calls;
}

function columnsIn(currency: string): readonly Column<Spent>[] {
  const money = (micros: number): string =>
    currency === 'USD' ? moneyText(micros / MICROS) : `${(micros / MICROS).toFixed(2)} ${currency}`;
  return [
    {
      name: 'Budget, alias',
      cell: ({ name, budget }) => (
        <span className={budget === undefined ? 'overview-model muted' : ''}>
          <Text>{name}</Text>
        </span>
      ),
      isWide: true,
    },
    {
      name: 'Tokens',
      cell: ({ tokens, budget }) => ofLimit(tokens, budget?.tokens.limit, countText),
      isNumber: true,
    },
    { name: 'Money', cell: (row) => ofLimit(row.money, row.budget?.money.limit, money), isNumber: true },
  ];
}

/** Without a limit it is only counted. */
function ofLimit(used: number, limit: number | null | undefined, text: (amount: number) => string) {
  if (limit === null || limit === undefined) return text(used);
  return (
    <span className={used >= limit ? 'overview-error' : ''}>
      {text(used)} <span className="faint">of {text(limit)}</span>
    </span>
  );
}
