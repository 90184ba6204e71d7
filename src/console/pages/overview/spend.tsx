/** What was spent today: money and tokens of each budget, and of each model in it.
 *  It must never add budgets up: one call may count in several. */
import type { BudgetListing, ListedBudget } from '../../../contract/budget-listing.ts';
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
        <Empty title="Nothing is counted.">
          <code>budgets</code> in <code>adjutant.json</code> counts tokens and money by day.
        </Empty>
      ) : (
        budgets.map((budget) => (
          <Budget
            key={`${budget.name} ${budget.tenant ?? ''} ${budget.key ?? ''}`}
            budget={budget}
            currency={currency}
          />
        ))
      )}
    </div>
  );
}

type Spent = Pick<ListedBudget['models'][number], 'name' | 'tokens' | 'money'> & {
  readonly limits?: Pick<ListedBudget, 'tokens' | 'money'>;
};

const MICROS = 1_000_000;

/** Its own line first, then its models. */
function Budget({ budget, currency }: { budget: ListedBudget; currency: string }) {
  const { name, tokens, money, models, breaches } = budget;
  const whole: Spent = { name, tokens: tokens.used, money: money.used, limits: { tokens, money } };
  // Of a budget of one alias its only line says it all.
  const others = models.filter((model) => models.length > 1 || model.name !== budget.alias);
  const rows = [whole, ...others.slice(0, MOST_MODELS)];
  const noteOf = (row: Spent) => {
    if (row !== whole) return null;
    const note = [
      budget.tenant === undefined ? '' : `tenant ${budget.tenant}`,
      budget.key === undefined ? '' : `key ${budget.key}`,
      breaches === 0 ? '' : breachWords(budget),
    ].filter((text) => text !== '');
    return note.length === 0 ? null : (
      <span className={usedUp(budget) ? 'overview-error' : breaches > 0 ? 'overview-wait' : 'muted'}>
        <Text>{note.join(' · ')}</Text>
      </span>
    );
  };
  return (
    <Table
      label={`Spent of ${name}`}
      columns={columnsIn(currency)}
      rows={rows}
      keyOf={(row) => (row === whole ? '' : row.name)}
      noteOf={noteOf}
    />
  );
}

/** How many calls it had no room for, and what followed. */
function breachWords({ breaches, on_breach: what, cheaper }: ListedBudget): string {
  const calls = `${countText(breaches)} held back`;
  return what === 'cheaper' && cheaper !== undefined ? `${calls}, answered by ${cheaper}` : calls;
}

function columnsIn(currency: string): readonly Column<Spent>[] {
  const money = (micros: number): string =>
    currency === 'USD' ? moneyText(micros / MICROS) : `${(micros / MICROS).toFixed(2)} ${currency}`;
  return [
    {
      name: 'Budget, model',
      cell: ({ name, limits }) => (
        <span className={limits === undefined ? 'overview-model muted' : ''}>
          <Text>{name}</Text>
        </span>
      ),
      isWide: true,
    },
    {
      name: 'Tokens',
      cell: ({ tokens, limits }) => ofLimit(tokens, limits?.tokens.limit, countText),
      isNumber: true,
    },
    { name: 'Money', cell: (row) => ofLimit(row.money, row.limits?.money.limit, money), isNumber: true },
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
