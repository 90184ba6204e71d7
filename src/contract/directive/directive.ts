// The directives a caller may submit, and how a submission is read.
// Must never pass on a directive before its schema has filled in the defaults.
import * as z from 'zod';
import { AGENT_DIRECTIVE_TYPES } from '../run/agent-directive.ts';
import { CONTROL_DIRECTIVE_TYPES } from '../run/control-directive.ts';
import {
  type CustomTypes,
  customDirectiveSchema,
  customTypeSchema,
  NO_CUSTOM_TYPES,
  ownFields,
  submittedCustomFieldsSchema,
} from './custom-directive.ts';
import { encodedIn, encryptedFields, mixtureOf } from '../encrypted/encrypted.ts';
import { boundedErrors, fieldErrors } from '../json/field-error.ts';
import { fieldPath } from '../json/field-path.ts';
import {
  emitRequestErrorSchema,
  emitToolErrorSchema,
  emitToolResultSchema,
  submittedEmitRequestErrorSchema,
  submittedEmitToolErrorSchema,
  submittedEmitToolResultSchema,
} from './immediate-directive.ts';
import { findJsonHazard } from '../json/json-guard.ts';
import { isObject, ownMember } from '../json/json-object.ts';
import { crowdedDirective } from './list-bounds.ts';
import { ONCE_IN_CLEAR, onceErrors, onceFieldOf, type OnceFields } from './once.ts';
import type { FieldError } from '../problem.ts';
import {
  llmEmbedSchema,
  llmGenerateSchema,
  llmRequestSchema,
  llmStreamSchema,
  submittedLlmEmbedSchema,
  submittedLlmGenerateSchema,
  submittedLlmRequestSchema,
  submittedLlmStreamSchema,
  submittedToolExecSchema,
  toolExecSchema,
} from './work-directive.ts';
import { WEBHOOK_TYPE } from '../signal/webhook.ts';
import { wellFormed } from '../json/well-formed.ts';

/** `action`: the call of a model that a tool asked for while it worked. */
export type CallOrigin = 'directive' | 'action' | 'worker_runtime';

const OPERATIONS: Readonly<Partial<Record<Directive['type'], string>>> = {
  tool_exec: 'tool_execute',
  llm_stream: 'stream_text',
  llm_generate: 'generate_text',
  llm_embed: 'embed',
  llm_request: 'request_model',
};

/** Members `operation` and `origin` of metadata, spans and metrics. */
export interface CallVocabulary {
  /** Absent: a type without an operation of its own. */
  readonly operation?: string;
  readonly origin: CallOrigin;
}

/** The members `operation` and `origin` for a type of directive. */
export function callVocabulary(type: Directive['type']): CallVocabulary {
  const operation = ownMember(OPERATIONS, type);
  const origin = type === 'tool_exec' ? 'worker_runtime' : 'directive';
  return { ...(operation === undefined ? {} : { operation }), origin };
}

/** Schema of an accepted directive of a known type. */
export const directiveSchema = z.discriminatedUnion('type', [
  toolExecSchema,
  llmStreamSchema,
  llmGenerateSchema,
  llmEmbedSchema,
  llmRequestSchema,
  emitToolErrorSchema,
  emitToolResultSchema,
  emitRequestErrorSchema,
]);

/** Directive as accepted, with every default filled in. */
export type Directive = z.infer<typeof directiveSchema>;
/** Type of a directive. */
export type DirectiveType = Directive['type'];

/** Types of directives that callers submit, without custom ones. */
export const DIRECTIVE_TYPES = [
  'tool_exec',
  'llm_stream',
  'llm_generate',
  'llm_embed',
  'llm_request',
  'emit_tool_error',
  'emit_tool_result',
  'emit_request_error',
] as const satisfies readonly DirectiveType[];

/** The type of any directive, custom ones included. Typed as the known ones. */
export const anyDirectiveTypeSchema = z.union([
  z.enum(DIRECTIVE_TYPES),
  customTypeSchema,
]) as unknown as z.ZodType<DirectiveType>;

/** Any directive as it is shown, custom ones included. Typed as the known ones. */
export const anyDirectiveSchema = z.union([
  directiveSchema,
  customDirectiveSchema,
]) as unknown as typeof directiveSchema;

const submittedSchemas = {
  tool_exec: submittedToolExecSchema,
  llm_stream: submittedLlmStreamSchema,
  llm_generate: submittedLlmGenerateSchema,
  llm_embed: submittedLlmEmbedSchema,
  llm_request: submittedLlmRequestSchema,
  emit_tool_error: submittedEmitToolErrorSchema,
  emit_tool_result: submittedEmitToolResultSchema,
  emit_request_error: submittedEmitRequestErrorSchema,
} as const satisfies Record<DirectiveType, z.ZodType>;

/** Schema of a submitted directive of a known type. */
export const submittedDirectiveSchema = z.discriminatedUnion('type', [
  submittedSchemas.tool_exec,
  submittedSchemas.llm_stream,
  submittedSchemas.llm_generate,
  submittedSchemas.llm_embed,
  submittedSchemas.llm_request,
  submittedSchemas.emit_tool_error,
  submittedSchemas.emit_tool_result,
  submittedSchemas.emit_request_error,
]);

/** Directive as a caller writes it: members with a default, `id` and `request_id` may be absent. */
export type SubmittedDirective = z.input<typeof submittedDirectiveSchema>;

/** A submitted directive with every default filled in; `id` and `request_id` may still be absent. */
export type ParsedDirective = z.output<typeof submittedDirectiveSchema>;

const MAX_BATCH = 1000;
/** Further errors of a batch are not read, and finding them takes long. */
const ENOUGH_ERRORS = 1_000;

/** Schema of the body of a submission: one directive, or a batch. */
export const submissionBodySchema = z.union([
  submittedDirectiveSchema,
  z.strictObject({
    directives: z
      .array(submittedDirectiveSchema)
      .min(1)
      .max(MAX_BATCH)
      .describe('Directives of one request, accepted together or not at all, 1 to 1,000.'),
  }),
]);

/** Directives of a submission, or its faults by field. */
export type ParsedSubmission =
  | { ok: true; directives: ParsedDirective[] }
  | { ok: false; errors: FieldError[] };

/** Options of `parseSubmission`. */
export interface ParseOptions {
  /** Default: 1 000. */
  maxDirectives?: number;
  /** Custom directive types that may be submitted. Default: none. */
  customTypes?: CustomTypes;
}

/** Reads one directive or `{directives: [...]}` from any input. All directives of a batch share one request. */
export function parseSubmission(given: unknown, options: ParseOptions = {}): ParsedSubmission {
  const { maxDirectives = MAX_BATCH, customTypes = NO_CUSTOM_TYPES } = options;
  const hazard = findJsonHazard(given);
  if (hazard) return { ok: false, errors: [hazard] };
  const raw = wellFormed(given);
  if (!isObject(raw)) return refused('', 'must be a directive or {"directives": [...]}');
  if (!('directives' in raw) || 'type' in raw) return parseBatch([raw], () => '', customTypes);
  const extraKeys = Object.keys(raw).filter((key) => key !== 'directives');
  if (extraKeys.length > 0) return { ok: false, errors: boundedErrors(extraKeys.map(unknownKey)) };
  return parseList(raw['directives'], maxDirectives, customTypes);
}

/** Fault of a submission with more directives than permitted. */
export function tooManyDirectives(count: number, most: number): FieldError {
  return { path: 'directives', message: `must hold at most ${most} directives, not ${count}` };
}

function parseList(list: unknown, maxDirectives: number, customTypes: CustomTypes): ParsedSubmission {
  if (!Array.isArray(list)) return refused('directives', 'must be an array of directives');
  if (list.length === 0) return refused('directives', 'must hold at least one directive');
  if (list.length > maxDirectives) {
    return { ok: false, errors: [tooManyDirectives(list.length, maxDirectives)] };
  }
  return parseBatch(list, (index) => `directives[${index}]`, customTypes);
}

function parseBatch(
  list: readonly unknown[],
  prefixOf: (index: number) => string,
  customTypes: CustomTypes,
): ParsedSubmission {
  const directives: ParsedDirective[] = [];
  const errors: FieldError[] = [];
  for (const [index, item] of list.entries()) {
    const parsed = parseDirective(item, prefixOf(index), customTypes);
    if (parsed.ok) directives.push(parsed.directive);
    else for (const error of parsed.errors) errors.push(error);
    if (errors.length >= ENOUGH_ERRORS) break;
  }
  if (errors.length === 0)
    errors.push(...requestErrors(directives), ...onceErrors(directives, prefixOf, isOwnType));
  return errors.length === 0 ? { ok: true, directives } : { ok: false, errors: boundedErrors(errors) };
}

type ParsedItem = { ok: true; directive: ParsedDirective } | { ok: false; errors: FieldError[] };

function parseDirective(item: unknown, prefix: string, customTypes: CustomTypes): ParsedItem {
  if (!isObject(item)) return refused(prefix, 'must be a directive object');
  const type = item['type'];
  const own = typeof type === 'string' ? customTypes.get(type) : undefined;
  if (own) return parseCustom(item, own, prefix);
  if (!isDirectiveType(type)) return refused(fieldPath(['type'], prefix), typeMessage(type, customTypes));
  const crowded = crowdedDirective(item, prefix);
  if (crowded) return { ok: false, errors: [crowded] };
  const parsed = submittedSchemas[type].safeParse(item);
  if (!parsed.success) return { ok: false, errors: fieldErrors(parsed.error, prefix) };
  const errors = misplacedErrors(parsed.data).map(({ path, message }) => {
    return { path: fieldPath([path], prefix), message };
  });
  return errors.length === 0 ? { ok: true, directive: parsed.data } : { ok: false, errors };
}

/** Encrypted content can be decrypted under its own identity only, so the client chooses it and it cannot change. */
function misplacedErrors(directive: ParsedDirective): FieldError[] {
  if (encryptedFields(directive).length === 0) return [];
  const once = onceFieldOf(directive as OnceFields);
  if (once !== undefined) return [{ path: once, message: ONCE_IN_CLEAR }];
  const unnamed = (['request_id', 'id'] as const).filter((field) => directive[field] === undefined);
  const message = 'is required of a directive with an encrypted field: it is encrypted for one place';
  return [...unnamed.map((path) => ({ path: path as string, message })), ...mixtureOf(directive)];
}

/** Passed on like the known types; only the workers of its lane know what it means. */
function parseCustom(item: Record<string, unknown>, own: z.ZodType, prefix: string): ParsedItem {
  const named = submittedCustomFieldsSchema.safeParse(item);
  if (!named.success) return { ok: false, errors: fieldErrors(named.error, prefix) };
  const parsed = own.safeParse(ownFields(item));
  if (!parsed.success) return { ok: false, errors: fieldErrors(parsed.error, prefix) };
  return { ok: true, directive: { ...(parsed.data as object), ...named.data } as unknown as ParsedDirective };
}

/** A batch is one atomic write into one request's journal, so it cannot name two requests. */
function requestErrors(directives: readonly ParsedDirective[]): FieldError[] {
  const named = directives.find((directive) => directive.request_id !== undefined)?.request_id;
  const message = `all directives of a batch belong to one request, and another here names ${named}`;
  return directives.flatMap((directive, index) =>
    directive.request_id === undefined || directive.request_id === named
      ? []
      : [{ path: `directives[${index}].request_id`, message }],
  );
}

/** Its fields are this contract's. */
function isOwnType({ type }: ParsedDirective): boolean {
  return DIRECTIVE_TYPES.includes(type);
}

/** A reserved part of a submission that was removed, as `metadata.ignored` names it. */
export const CONTEXT_STATE = 'context.state';

/**
 * The directive without `context.state`: that name is the runtime's, and tools believe it. `metadata.ignored` says that it was
 * removed, here and in the directive's signals. From an encrypted context the worker removes it.
 */
export function withoutCallersState(directive: ParsedDirective): ParsedDirective {
  if (directive.type !== 'tool_exec' || encodedIn(directive.context) !== null) return directive;
  if (!Object.hasOwn(directive.context, 'state')) return directive;
  const { state: _state, ...context } = directive.context;
  return { ...directive, context, metadata: { ...directive.metadata, ignored: [CONTEXT_STATE] } };
}

/** The directive under its identity: what is journalled, hashed and executed. */
export function completeDirective(
  parsed: ParsedDirective,
  identity: { id: string; request_id: string },
): Directive {
  return { ...parsed, ...identity };
}

function isDirectiveType(type: unknown): type is DirectiveType {
  return typeof type === 'string' && Object.hasOwn(submittedSchemas, type);
}

function typeMessage(type: unknown, customTypes: CustomTypes): string {
  const known = `known types: ${[...DIRECTIVE_TYPES, ...customTypes.keys()].join(', ')}`;
  if (type === undefined) return `is required; ${known}`;
  if (typeof type !== 'string') return `must be a string; ${known}`;
  if (AGENT_DIRECTIVE_TYPES.includes(type)) {
    return `${type} is a directive of the agent runtime and cannot be submitted; ${known}`;
  }
  if (CONTROL_DIRECTIVE_TYPES.includes(type)) {
    return `${type} is a control directive of tool results and cannot be submitted; ${known}`;
  }
  if (type === WEBHOOK_TYPE) return `${type} is submitted by the service alone; ${known}`;
  return `is not a known type; ${known}`;
}

function unknownKey(key: string): FieldError {
  return { path: fieldPath([key]), message: 'is not a known key' };
}

function refused(path: string, message: string): { ok: false; errors: FieldError[] } {
  return { ok: false, errors: [{ path, message }] };
}
