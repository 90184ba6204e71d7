/** One tool as its server describes it, without the protocol's own fields.
 *  It must never change after it was listed: a new listing makes new definitions. */

/** The server's own hints, all optional, and only as trustworthy as the server. */
import type { RepeatPolicy } from '../../contract/directive/work-directive.ts';
export interface ToolAnnotations {
  readonly title?: string;
  readonly readOnlyHint?: boolean;
  readonly destructiveHint?: boolean;
  readonly idempotentHint?: boolean;
  readonly openWorldHint?: boolean;
}

export interface ToolDefinition {
  readonly server: string;
  readonly name: string;
  readonly title?: string;
  readonly description?: string;
  readonly inputSchema: Readonly<Record<string, unknown>>;
  readonly outputSchema?: Readonly<Record<string, unknown>>;
  readonly annotations?: ToolAnnotations;
}

/** Fault of one tool of a server, as a phrase after its name. */
export interface ToolFault {
  readonly tool: string;
  readonly message: string;
}

/** `destructiveHint` plays no part: a tool may destroy and still be safe to repeat (overwriting a file). */
export function repeatPolicyOf(annotations: ToolAnnotations | undefined): RepeatPolicy {
  if (annotations?.readOnlyHint === true) return 'read';
  return annotations?.idempotentHint === true ? 'idempotent' : 'once';
}
