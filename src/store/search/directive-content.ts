// The content of one accepted directive in a list: the name of its tool or model, its tags, the beginning of its
// question. Never throws, whatever is stored.
import { isObject } from '../../contract/json/json-object.ts';
import { tagsOf } from '../../contract/directive/tags.ts';
import { onceOf, type OnceFields } from '../../contract/directive/once.ts';
import { deliveryIn } from '../../contract/signal/webhook.ts';
import { toolNameIn } from '../../contract/tool/tool-pattern.ts';
import { decodeEnvelope } from '../request/envelope.ts';

export interface DirectiveContent {
  tool: string | null;
  model: string | null;
  tags: readonly string[];
  text: string;
}

const NOTHING: DirectiveContent = { tool: null, model: null, tags: [], text: '' };

/** `envelope`: as it is stored. */
export function directiveContent(envelope: string): DirectiveContent {
  try {
    const { directive, lane }: { directive: unknown; lane: string | null } = decodeEnvelope(envelope);
    return isObject(directive) ? contentOf(directive, lane) : NOTHING;
  } catch {
    return NOTHING;
  }
}

function contentOf(directive: Record<string, unknown>, lane: string | null): DirectiveContent {
  const { tool_name, model, model_alias, metadata, context } = directive;
  const tool = textOrNull(tool_name);
  return {
    tool: tool && toolNameIn(lane, tool),
    model: textOrNull(model) ?? textOrNull(model_alias),
    tags: tagsOf(metadata),
    text: deliveryText(directive) ?? (questionOf(context) || keyText(directive)),
  };
}

function textOrNull(value: unknown): string | null {
  return typeof value === 'string' && value !== '' ? value : null;
}

/** The last message of the user; the context of a tool is no conversation. */
function questionOf(context: unknown): string {
  const messages = isObject(context) ? context['messages'] : context;
  if (!Array.isArray(messages)) return '';
  const asked = messages.findLast((message) => isObject(message) && message['role'] === 'user') as unknown;
  return isObject(asked) ? textOf(asked['content']) : '';
}

function textOf(content: unknown): string {
  if (typeof content === 'string') return content;
  if (!Array.isArray(content)) return '';
  const part = content.find((each) => isObject(each) && typeof each['text'] === 'string') as unknown;
  return isObject(part) ? String(part['text']) : '';
}

function deliveryText(directive: Record<string, unknown>): string | null {
  const delivery = deliveryIn(directive);
  if (delivery === null) return null;
  const { to, requestId, id, asks } = delivery;
  const subject = id === null ? `the run ${requestId}` : `${requestId}/${id}`;
  return `to ${to}, ${asks ? 'decision about' : 'end of'} ${subject}`;
}

/** The key of a directive that is submitted under one: its ids are the service's, and people know it by the key. */
function keyText(directive: Record<string, unknown>): string {
  const once = onceOf(directive as OnceFields);
  return once === null ? '' : `${once.kind} ${once.key}`;
}
