// The spans of the ordered waits of a claimed directive: for its instant, its order, a limit. Never delays the attempt,
// nor fails it.
import { laterOf } from '../../contract/directive/later.ts';
import { type Directive, DIRECTIVE_TYPES } from '../../contract/directive/directive.ts';
import { onceFieldOf, type OnceFields } from '../../contract/directive/once.ts';
import { isOrdered, reportWait } from '../../queue/wait-span.ts';
import type { AttemptParts, Claimed } from './claimed.ts';

export function reportWaits(parts: Pick<AttemptParts, 'spans' | 'records'>, claimed: Claimed): void {
  const { envelope, lane, granted, pass, trace } = claimed;
  if (trace === null) return;
  const { directive, traceparent } = envelope;
  const until = trace.claimedAt;
  const from = until - Math.max(0, granted.now - granted.dueAt);
  const { fence, waits } = granted;
  if (pass !== null || isOrdered(waits))
    reportWait(parts.spans, { directive, lane, traceparent, name: fence, reasons: waits, from, until });
  if (fence === 1 && hasBegin(directive)) reportLater(parts, claimed, until).catch(() => {});
}

function hasBegin(directive: Directive): boolean {
  if (!DIRECTIVE_TYPES.includes(directive.type)) return false;
  return (
    (laterOf(directive as Parameters<typeof laterOf>[0])?.when ?? null) !== null ||
    onceFieldOf(directive as OnceFields) === 'debounce'
  );
}

/** Reports the span later, by the clock of this machine, as its other spans. */
async function reportLater(
  { spans, records }: Pick<AttemptParts, 'spans' | 'records'>,
  { envelope, lane, granted }: Claimed,
  claimedAt: number,
): Promise<void> {
  const { directive, traceparent } = envelope;
  const record = await records.journal.directive(directive.request_id, directive.id);
  if (!record?.begin || record.begin.at <= record.acceptedAt) return;
  const here = (at: number): number => at + claimedAt - granted.now;
  const [from, until] = [here(record.acceptedAt), here(record.begin.at)];
  reportWait(spans, { directive, lane, traceparent, name: 'later', reasons: ['later'], from, until });
}
