// The wait of a directive in the gate of its lane, in words. Never shows one tenant how much others run.
import type { GateWait, Ticket, TicketLimit } from '../../contract/directive/flow.ts';
import { DEFAULT_TENANT } from '../../contract/access/tenant.ts';
import type { WaitFacts } from '../../contract/request/waiting.ts';

/** null: nothing that the gate knows of. `tenant`: of the directive, for whose eyes it is. */
export function gateWait({ limits }: Ticket, wait: GateWait, tenant: string): WaitFacts | null {
  switch (wait.kind) {
    case 'none':
    case 'passed':
    case 'running':
    case 'later':
      return null;
    case 'turn':
      return { reason: 'turn', untilAt: null, detail: `its turn${beforeText(wait.before)}` };
    case 'limit':
    case 'rate': {
      const limit = limits.find(({ name }) => name === wait.name);
      const label = limit?.label ?? 'a limit';
      const isHidden = limit?.shared === true && tenant !== DEFAULT_TENANT;
      const full = wait.kind === 'rate' ? spacedText(limit) : runningText(wait, isHidden);
      const untilAt = wait.kind === 'rate' ? wait.untilAt : null;
      return { reason: 'limit', untilAt, detail: `${label}, ${full}${beforeText(wait.before)}` };
    }
  }
}

/** The limit as text: `account-42, 2 at once`. */
export function limitText({ label, concurrency, rate }: TicketLimit): string {
  const allowed = [
    ...(concurrency === undefined ? [] : [`${concurrency} at once`]),
    ...(rate === undefined ? [] : [rateText(rate)]),
  ];
  return [label, ...allowed].join(', ');
}

function rateText({ max, per_ms: perMs }: NonNullable<TicketLimit['rate']>): string {
  return `${max} in ${perMs / 1_000} s`;
}

function beforeText(before: number): string {
  return before === 0 ? '' : `, ${before} before it in its line`;
}

function runningText({ running, limit }: { running: number; limit: number }, isHidden: boolean): string {
  if (isHidden) return 'as many run as may';
  return `${running} of ${limit} ${running === 1 ? 'is' : 'are'} running`;
}

/** Fewer than `max` may have begun. */
function spacedText(limit: TicketLimit | undefined): string {
  const spaced = 'starts are spaced';
  return limit?.rate === undefined ? spaced : `${rateText(limit.rate)}: ${spaced}`;
}
