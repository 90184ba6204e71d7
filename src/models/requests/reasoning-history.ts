// The member of a message in which a server with chat completions takes the reasoning of earlier answers back.
// Servers differ: some refuse `reasoning_content` (Groq, Cerebras), others require it (DeepSeek).
import type { MetadataExtractor } from '@ai-sdk/openai-compatible';
import type { SharedV4ProviderMetadata } from '@ai-sdk/provider';
import { isObject, ownMember } from '../../contract/json/json-object.ts';
import type { AssistantPart, ProviderData } from '../../contract/model/message.ts';

const FIELDS = ['reasoning_content', 'reasoning'] as const;
type ReasoningField = (typeof FIELDS)[number];

/** `as_received`: in the member in which it came. */
export const REASONING_HISTORIES = ['as_received', 'none', ...FIELDS] as const;
export type ReasoningHistory = (typeof REASONING_HISTORIES)[number];

/** A provider with chat completions, by its name in the configuration. */
export interface ReasoningRule {
  readonly provider: string;
  readonly history: ReasoningHistory;
}

/** Notes in which member of an answer its reasoning came. */
export function reasoningExtractor(provider: string): MetadataExtractor {
  const noted = (field: ReasoningField | null): SharedV4ProviderMetadata | undefined =>
    field === null ? undefined : { [provider]: { reasoning_field: field } };
  return {
    extractMetadata: async ({ parsedBody }) => noted(fieldIn(parsedBody, 'message')),
    createStreamExtractor() {
      let field: ReasoningField | null = null;
      return {
        processChunk(chunk) {
          field ??= fieldIn(chunk, 'delta');
        },
        buildMetadata: () => noted(field),
      };
    },
  };
}

/** The first of the two that holds text, as the client reads them. */
function fieldIn(body: unknown, member: 'message' | 'delta'): ReasoningField | null {
  const choices = isObject(body) ? body['choices'] : undefined;
  const choice: unknown = Array.isArray(choices) ? choices[0] : undefined;
  const message = isObject(choice) ? choice[member] : undefined;
  if (!isObject(message)) return null;
  return FIELDS.find((field) => typeof message[field] === 'string' && message[field] !== '') ?? null;
}

/** The note of `reasoningExtractor` among the data of an answer; null: none. */
export function receivedField(
  data: SharedV4ProviderMetadata | undefined,
  provider: string,
): ProviderData | null {
  const reasoning_field = data && ownMember(data, provider)?.['reasoning_field'];
  return typeof reasoning_field === 'string' ? { [provider]: { reasoning_field } } : null;
}

/** The members that take the thinking of an assistant's message to the provider. */
export function reasoningMembers(
  parts: readonly AssistantPart[],
  hasCalls: boolean,
  { provider, history }: ReasoningRule,
): Partial<Record<ReasoningField, string>> {
  // A server that requires the member requires it of each message with calls, also where another model thought.
  const members: Partial<Record<ReasoningField, string>> =
    history === 'reasoning_content' && hasCalls ? { reasoning_content: '' } : {};
  for (const part of parts) {
    const field = part.type === 'thinking' ? fieldFor(part, provider, history) : null;
    if (part.type === 'thinking' && field !== null) members[field] = (members[field] ?? '') + part.text;
  }
  return members;
}

/** null: the part stays here. */
function fieldFor(
  { provider_data: data }: Extract<AssistantPart, { type: 'thinking' }>,
  provider: string,
  history: ReasoningHistory,
): ReasoningField | null {
  if (history === 'none') return null;
  if (history !== 'as_received') return history;
  // A caller's own history, or one from before the note was kept.
  if (data === undefined) return 'reasoning_content';
  const received = ownMember(data, provider)?.['reasoning_field'];
  return FIELDS.find((field) => field === received) ?? null;
}
