// The refusal of work under a request id that belongs to reads: such a request is gone within a minute and makes no dead letter.
// Must never refuse a read of an MCP server, nor accept anything else: a caller may not shorten what the operator keeps.
import type { Directive } from '../contract/directive/directive.ts';
import { type FieldError, type Problem, problem } from '../contract/problem.ts';
import { isPassing, serverReadOf } from '../contract/tool/server-read.ts';

const MESSAGE = 'ids that begin with "mcp.read." are only for reads of MCP servers; use another id';

/** null: the request may hold these. */
export function passingRefusal(requestId: string, directives: readonly Directive[]): Problem | null {
  if (!isPassing(requestId)) return null;
  const other = directives.findIndex((directive) => !isServerRead(directive));
  if (other === -1) return null;
  return refusal(directives.length === 1 ? 'request_id' : `directives[${other}].request_id`);
}

/** Runs are no reads. */
export function passingRunRefusal(requestId: string): Problem | null {
  return isPassing(requestId) ? refusal('request_id') : null;
}

function isServerRead(directive: Directive): boolean {
  return directive.type === 'tool_exec' && serverReadOf(directive.tool_name) !== null;
}

function refusal(path: string): Problem {
  const errors: FieldError[] = [{ path, message: MESSAGE }];
  return problem('invalid_body', { detail: `${path}: ${MESSAGE}`, errors });
}
