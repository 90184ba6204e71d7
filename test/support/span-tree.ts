/** Spans of a trace as a tree that a test compares as a whole.
 *  It must show every span once: an orphan is an error, not a root. */
import type { ReceivedSpan } from './otlp-spans.ts';

/**
 * The tree as lines: kind, name, error, links, events; two spaces deeper for each parent, children in the order of their
 * start. Turns in which nothing was sent or said are left out: how many signals a turn reads is chance.
 */
export function outline(received: readonly ReceivedSpan[]): string[] {
  requireWhole(received);
  const spans = received.filter((span) => !isIdleTurn(span, received));
  const lines: string[] = [];
  const visit = (span: ReceivedSpan, depth: number): void => {
    lines.push(`${'  '.repeat(depth)}${titleOf(span)}`);
    for (const child of childrenOf(spans, span)) visit(child, depth + 1);
  };
  for (const root of rootsOf(spans)) visit(root, 0);
  return lines;
}

function titleOf({ kind, name, status, attributes, links, events }: ReceivedSpan): string {
  const error = status === 'ERROR' ? ` ✗ ${String(attributes['error.type'])}` : '';
  const linked = links.map((link) => ` ↩ ${String(link.attributes['adjutant.link'])}`).join('');
  const said = events
    .filter((event) => !isChance(event))
    .map((event) => ` • ${event.name}`)
    .join('');
  return `${kind} ${name}${error}${linked}${said}`;
}

/** Whether somebody looks while a lane has no worker, or a full one, is chance. */
function isChance({ name, attributes }: ReceivedSpan['events'][number]): boolean {
  const reasons = attributes['adjutant.wait.reasons'];
  return (
    name === 'directive.waiting' &&
    Array.isArray(reasons) &&
    reasons.every((reason) => reason === 'no_worker' || reason === 'concurrency')
  );
}

/** Throws when a parent, or the target of a link, is missing, or a span id is there twice. */
function requireWhole(spans: readonly ReceivedSpan[]): void {
  const ids = new Set(spans.map(({ spanId }) => spanId));
  if (ids.size !== spans.length) throw new Error(`a span is there twice:\n${titles(spans)}`);
  const orphans = spans.filter(({ parentId }) => parentId !== '' && !ids.has(parentId));
  if (orphans.length > 0) throw new Error(`without their parents:\n${titles(orphans)}\nof\n${titles(spans)}`);
  const dangling = spans.filter(({ links }) => links.some(({ spanId }) => !ids.has(spanId)));
  if (dangling.length > 0) throw new Error(`with links to nothing:\n${titles(dangling)}`);
}

const titles = (spans: readonly ReceivedSpan[]): string => spans.map(titleOf).join('\n');

function isIdleTurn({ name, events, spanId }: ReceivedSpan, spans: readonly ReceivedSpan[]): boolean {
  const isParent = spans.some(({ parentId }) => parentId === spanId);
  return name.startsWith('turn ') && events.length === 0 && !isParent;
}

function rootsOf(spans: readonly ReceivedSpan[]): ReceivedSpan[] {
  return spans.filter(({ parentId }) => parentId === '').toSorted(byStart);
}

function childrenOf(spans: readonly ReceivedSpan[], { spanId }: ReceivedSpan): ReceivedSpan[] {
  return spans.filter(({ parentId }) => parentId === spanId).toSorted(byStart);
}

function byStart(left: ReceivedSpan, right: ReceivedSpan): number {
  if (left.startNano !== right.startNano) return left.startNano < right.startNano ? -1 : 1;
  return left.name < right.name ? -1 : 1;
}
