/** What repeating a tool call would do, read from the tool's annotations.
 *  It must never guess in the tool's favour: what is not said to be harmless happens once. */
import type { RepeatPolicy } from '../contract/work-directive.ts';
import type { ToolAnnotations } from './tool-definition.ts';

/** `destructiveHint` plays no part: a tool may destroy and still be safe to repeat (overwriting a file). */
export function repeatPolicyOf(annotations: ToolAnnotations | undefined): RepeatPolicy {
  if (annotations?.readOnlyHint === true) return 'read';
  return annotations?.idempotentHint === true ? 'idempotent' : 'once';
}
