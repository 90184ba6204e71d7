// The directive types that this process can execute.
// Must never hold two definitions of one type.
import type { Directive } from '../../contract/directive/directive.ts';
import type { Result } from '../../contract/result.ts';
import type { DirectiveDefinition, QueuedDefinition } from './definition.ts';

export interface Registry {
  queued(type: Directive['type']): QueuedDefinition | null;
  /** The result of an immediate directive; null for every other type. */
  executeImmediately: (directive: Directive) => Result | null;
}

/** Throws when two definitions claim the same type. */
export function createRegistry(definitions: readonly DirectiveDefinition[]): Registry {
  const byType = new Map<string, DirectiveDefinition>();
  for (const definition of definitions) {
    if (byType.has(definition.type))
      throw new Error(`the directive type "${definition.type}" is defined twice`);
    byType.set(definition.type, definition);
  }
  return {
    queued(type) {
      const definition = byType.get(type);
      return definition?.mode === 'queued' ? definition : null;
    },
    executeImmediately(directive) {
      const definition = byType.get(directive.type);
      return definition?.mode === 'immediate' ? definition.execute(directive) : null;
    },
  };
}
