/** The repeat policy of a tool, read from its annotations.
 *  It must never guess in the tool's favour: a tool that is not declared safe to repeat runs once. */
import type { RepeatPolicy } from '../../contract/directive/work-directive.ts';
import type { ToolAnnotations } from './tool-definition.ts';

/** `destructiveHint` plays no part: a tool may destroy and still be safe to repeat (overwriting a file). */
export function repeatPolicyOf(annotations: ToolAnnotations | undefined): RepeatPolicy {
  if (annotations?.readOnlyHint === true) return 'read';
  return annotations?.idempotentHint === true ? 'idempotent' : 'once';
}
