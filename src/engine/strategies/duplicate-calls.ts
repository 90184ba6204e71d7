// Notices a model that makes the same tool call over and over.
// Must never count calls as the same whose arguments differ in more than the order of their keys.
import { canonicalJson } from '../../contract/canonical-json.ts';
import type { ToolCall } from '../../contract/message.ts';

/** The newest call, and how many times in a row it was made. */
export interface Streak {
  key: string;
  count: number;
}

export interface Repetition {
  streak: Streak | null;
  /** The call that was made as often as is tolerated; the model is told. */
  warned: string | null;
  /** The call that was made again after that. */
  stopped: string | null;
}

/** `limit` calls in a row are tolerated; 0 = any number. */
export function countRepeats(before: Streak | null, calls: readonly ToolCall[], limit: number): Repetition {
  let streak = before;
  let warned: string | null = null;
  let stopped: string | null = null;
  if (limit === 0) return { streak: null, warned, stopped };
  for (const call of calls) {
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
