// Detects a model that repeats the same tool call.
// Must never treat calls as the same if their arguments differ in more than the order of keys.
import { canonicalJson } from '../../contract/json/canonical-json.ts';
import type { ToolCall } from '../../contract/model/message.ts';

/** The newest call, and how often it was made in a row. */
export interface Streak {
  key: string;
  count: number;
}

export interface Repetition {
  streak: Streak | null;
  /** The call that has reached the tolerated number; the model gets a warning. */
  warned: string | null;
  /** The call that was made once more after that. */
  stopped: string | null;
}

/** `limit` calls in a row are tolerated; 0 = any number. */
export function countRepeats(before: Streak | null, calls: readonly ToolCall[], limit: number): Repetition {
  let streak = before;
  let warned: string | null = null;
  let stopped: string | null = null;
  if (limit === 0) return { streak: null, warned, stopped };
  for (const call of calls) {
    // Its arguments are unknown, and the tool is not called.
    if (call.arguments_error !== undefined) continue;
    const key = `${call.name}:${canonicalJson(call.arguments)}`;
    streak = { key, count: streak?.key === key ? streak.count + 1 : 1 };
    if (streak.count === limit) warned = call.name;
    if (streak.count > limit) stopped ??= call.name;
  }
  return { streak, warned, stopped };
}

export function repeatWarning(toolName: string, limit: number): string {
  return (
    `You have called the tool \`${toolName}\` ${limit} times in a row with identical arguments. ` +
    'Do NOT call it so again: use the results above, try something else, or answer.'
  );
}
