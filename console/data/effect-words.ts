/** The effect of a repeated call of a tool, in words for a person who decides about one.
 *  It must never call something harmless that it does not know. */
import type { ListedTool } from '../../src/contract/tool/tool-listing.ts';

export type Effect = ListedTool['effect'];

/** null: the tool is not known now. */
export function effectWords(effect: Effect | null): string {
  switch (effect) {
    case 'read':
      return 'It only reads.';
    case 'idempotent':
      return 'A repeat changes nothing more.';
    case 'once':
      return 'Each call acts once more. It cannot be taken back.';
    case null:
      return 'What a repeat does is not known: no server has this tool now.';
  }
}

/** The tools by their whole names. */
export function effectsOf(tools: readonly ListedTool[]): ReadonlyMap<string, Effect> {
  return new Map(tools.map(({ name, effect }) => [name, effect]));
}
