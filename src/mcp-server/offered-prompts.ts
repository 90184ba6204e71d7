/** The prompts of several servers under names that hosts accept, and which prompt a name means.
 *  It must never give two prompts one name. */
import type { Prompt } from '@modelcontextprotocol/server';
import type { Scope } from './offered-tools.ts';
import { portableNames, wholeName } from './tool-names.ts';

export interface ListedPrompts {
  readonly server: string;
  readonly prompts: readonly Prompt[];
}

export interface OfferedPrompt {
  readonly server: string;
  /** As its server names it. */
  readonly prompt: Prompt;
}

export interface OfferedPrompts {
  readonly prompts: readonly Prompt[];
  find(name: string): OfferedPrompt | undefined;
}

/** Named as the tools are, since hosts make commands of them. */
export function offeredPrompts(lists: readonly ListedPrompts[], scope: Scope): OfferedPrompts {
  const all = lists.flatMap(({ server, prompts }) =>
    prompts.map((prompt) => ({ server, tool: prompt.name, prompt })),
  );
  const whole = new Map(all.map((each) => [wholeName(each), each]));
  // A server that lists a name twice means the last one.
  const each = [...whole.values()];
  const named = scope.kind === 'all' ? portableNames(each) : new Map(each.map((one) => [one.tool, one]));
  return {
    prompts: [...named].map(([name, { prompt }]) => ({ ...prompt, name })),
    find: (name) => named.get(name) ?? whole.get(name),
  };
}
