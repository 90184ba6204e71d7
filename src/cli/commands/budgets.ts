/** `adjutant budgets`: what models have cost today, and what is left.
 *  It must never change anything. */
import type { BudgetListing, ListedBudget } from '../../contract/model/budget-listing.ts';
import { EXIT, type ExitCode } from '../failure.ts';
import type { CommandLine, Invocation } from '../invocation.ts';
import { instantText } from '../table.ts';
import { oneLine } from '../terminal.ts';

export function addBudgets({ program, withClient }: CommandLine): void {
  program
    .command('budgets')
    .description('show the use of models today, and the rest of each budget')
    .action(async () => withClient(budgets));
}

export async function budgets({ client, terminal, json }: Invocation): Promise<ExitCode> {
  const listing = await client.budgets();
  if (json) {
    const { currency, day, resets_at } = listing;
    for (const each of listing.budgets) terminal.out(JSON.stringify({ ...each, currency, day, resets_at }));
    return EXIT.done;
  }
  const head = ['BUDGET', 'OF', 'TOKENS', `MONEY (${listing.currency})`, 'CALLS', 'HELD BACK', 'WHEN SPENT'];
  if (listing.budgets.length > 0) terminal.rows([head, ...listing.budgets.map(rowOf)]);
  for (const { name, budgets: left } of listing.more ?? [])
    terminal.err(terminal.paintErr('dim', `${oneLine(name, 80)}: ${left} more, of which less is used.`));
  terminal.err(terminal.paintErr('dim', footOf(listing)));
  return EXIT.done;
}

function rowOf(budget: ListedBudget): string[] {
  const { name, tokens, money, calls, breaches, on_breach: onBreach, cheaper } = budget;
  const then = onBreach === 'cheaper' ? `go on with ${cheaper ?? '?'}` : onBreach;
  const limited = tokens.limit !== null || money.limit !== null;
  return [
    oneLine(name, 80),
    oneLine(ofText(budget), 80),
    amountText(tokens, String),
    amountText(money, moneyText),
    String(calls),
    String(breaches),
    limited ? oneLine(then, 80) : '-',
  ];
}

function ofText({ tenant, key, alias }: ListedBudget): string {
  const parts = [
    tenant === undefined ? '' : `tenant ${tenant}`,
    key === undefined ? '' : `key ${key}`,
    alias === undefined ? '' : `model ${alias}`,
  ];
  return parts.filter(Boolean).join(', ') || 'all';
}

function amountText({ used, limit }: ListedBudget['tokens'], text: (amount: number) => string): string {
  return limit === null ? text(used) : `${text(used)} of ${text(limit)}`;
}

const MILLIONTHS = 1_000_000;
/** Cents and what is a hundredth of one: a call may cost less than a cent. Below that, all there are. */
const [DECIMALS, ALL_DECIMALS] = [4, 6];
const SHORTENED_FROM = 10_000;

function moneyText(money: number): string {
  return (money / MILLIONTHS).toFixed(money > 0 && money < SHORTENED_FROM ? ALL_DECIMALS : DECIMALS);
}

function footOf({ budgets: listed, day, time_zone: zone, resets_at: resetsAt }: BudgetListing): string {
  const what = listed.length === 0 ? 'There is no budget: `budgets` of adjutant.json makes some.' : `${day}.`;
  return `${what} The day ends at ${instantText(resetsAt, 'minutes')} UTC (midnight in ${oneLine(zone, 64)}).`;
}
