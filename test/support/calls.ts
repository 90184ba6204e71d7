/** Directives that call the counting server, and what is known of them before they run.
 *  It must never leave out the id: a test must know what it submitted. */
import type { SubmittedDirective } from '../../src/contract/directive/directive.ts';

type CountingTool = 'read' | 'idempotent' | 'once';

export interface CallOptions {
  readonly requestId: string;
  /** The shortest; up to twice as long, so that calls made together do not end together. Default: 0. */
  readonly delayMs?: number;
  readonly failures?: number;
  /** More fields of the directive. */
  readonly fields?: Readonly<Record<string, unknown>>;
}

/** The id is the label, as in `read-17`. */
export function countingCall(
  tool: CountingTool,
  number: number,
  { requestId, delayMs = 0, failures = 0, fields }: CallOptions,
): SubmittedDirective & { id: string } {
  const label = `${tool}-${number}`;
  return {
    type: 'tool_exec',
    id: label,
    request_id: requestId,
    tool_name: `counting.${tool}`,
    arguments: { label, delay_ms: Math.round(delayMs * (1 + (number % 5) / 4)), failures },
    ...fields,
  };
}

/** `count` calls of each tool, alternating. */
export function countingCalls(
  tools: readonly CountingTool[],
  count: number,
  options: CallOptions,
): (SubmittedDirective & { id: string })[] {
  return Array.from({ length: count }, (_, number) =>
    tools.map((tool) => countingCall(tool, number, options)),
  ).flat();
}

export function idsOf(calls: readonly { readonly id: string }[]): string[] {
  return calls.map(({ id }) => id);
}
