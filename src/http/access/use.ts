// The resources that a directive or a run uses, as names to compare with the patterns of a key. Never guesses: a
// restricted key does not permit a resource without a name here.
import { serverReadOf } from '../../contract/tool/server-read.ts';
import { DIRECTIVE_TYPES } from '../../contract/directive/directive.ts';
import { onceFieldOf } from '../../contract/directive/once.ts';
import { allows, callerText, hasScope, isRestricted, type Principal } from './principal.ts';

/** Members of any submitted value; their types are checked after this. */
type Unchecked = Readonly<Record<string, unknown>>;

/** A sentence that names what the principal may not use; null: it may use everything that is named. */
export function forbiddenUse(principal: Principal, directive: Unchecked): string | null {
  const { type } = directive;
  if (type === 'tool_exec') return forbiddenTool(principal, directive);
  if (isModelCall(type)) return forbiddenModel(principal, directive);
  if (type === 'emit_tool_error' || type === 'emit_tool_result' || type === 'emit_request_error') return null;
  return refusedName('tools', principal.tools, `custom.${textOf(type)}`);
}

function isModelCall(type: unknown): boolean {
  return (DIRECTIVE_TYPES as readonly unknown[]).includes(type) && String(type).startsWith('llm_');
}

/**
 * The work of others that it would end or change, in a sentence; null: none. A replaced directive is cancelled; and a
 * key that is limited to names cannot know the name of the content that its own replaces.
 */
export function forbiddenOnce(principal: Principal, directive: Unchecked): string | null {
  if (!(DIRECTIVE_TYPES as readonly unknown[]).includes(directive['type'])) return null;
  return forbiddenUnderKey(principal, directive);
}

/** The same of a run, or of a directive that is known to be one of the service. */
export function forbiddenUnderKey(principal: Principal, { singleton, debounce }: Unchecked): string | null {
  if ((singleton ?? debounce) === undefined || hasScope(principal, 'cancel')) return null;
  const missing = `The ${callerText(principal)} has not the scope cancel`;
  if ((Object(singleton) as Unchecked)['when_open'] === 'replace')
    return `${missing}, which singleton with "replace" needs: it cancels what is open.`;
  if (debounce === undefined || !isRestricted(principal)) return null;
  return `${missing}, which debounce needs of a limited key: its content takes the place of another's.`;
}

/**
 * The end that a wait may show and that the principal may not read, in a sentence; null: that of its own submission
 * only.
 */
export function forbiddenWait(principal: Principal, directive: Unchecked): string | null {
  if (!(DIRECTIVE_TYPES as readonly unknown[]).includes(directive['type'])) return null;
  const kind = onceFieldOf(directive);
  if (kind === undefined || hasScope(principal, 'read')) return null;
  const { when_open: whenOpen } = Object(directive['singleton']) as Unchecked;
  if (kind === 'singleton' && whenOpen !== 'join') return null;
  return `The ${callerText(principal)} has not the scope read, which a wait for the end needs with ${kind}: it may be that of another submission.`;
}

export function forbiddenRun(principal: Principal, run: Unchecked): string | null {
  const agent = refusedName('agents', principal.agents, textOf(run['agent']));
  const overrides = Object(run['overrides']) as Unchecked;
  const namesModel = overrides['model'] !== undefined || overrides['model_alias'] !== undefined;
  return agent ?? (namesModel ? forbiddenModel(principal, overrides) : null);
}

/** As the catalog reads it: `server` is the address, unless the name begins with it. */
function forbiddenTool({ tools }: Principal, { tool_name: tool, server }: Unchecked): string | null {
  const name = textOf(tool);
  // What a server offers is listed to everyone who may read.
  if (serverReadOf(name)?.endsWith('/list') === true) return null;
  const address = typeof server === 'string' ? `${textOf(server)}.` : '';
  return refusedName('tools', tools, name.startsWith(address) ? name : `${address}${name}`);
}

/** A non-empty `model` wins over the alias. */
function forbiddenModel({ models }: Principal, { model, model_alias: alias }: Unchecked): string | null {
  return refusedName('models', models, textOf(model === undefined || model === '' ? alias : model));
}

function refusedName(kind: string, patterns: Principal['tools'], name: string): string | null {
  return allows(patterns, name) ? null : `"${name.slice(0, 256)}" is not among the ${kind} of this key.`;
}

/** Longer than the name of any tool, agent or model. */
const LONGEST_NAME = 512;

/** Another value, or a longer one, is refused by its schema, and matches nothing that is named. */
function textOf(value: unknown): string {
  return typeof value === 'string' && value.length <= LONGEST_NAME ? value : '';
}
