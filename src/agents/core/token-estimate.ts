// A rough estimate of a text's tokens, without a tokenizer.
// Must never replace the provider's count: budgets record what the provider reports.
import type { Message } from '../../contract/model/message.ts';

export const CHARACTERS_PER_TOKEN = 4;
/** Cost of a message beside its text: role, separators. */
const TOKENS_PER_MESSAGE = 4;

export function estimateTokens(messages: readonly Message[]): number {
  let tokens = 0;
  for (const message of messages) tokens += messageTokens(message);
  return tokens;
}

export function messageTokens(message: Message): number {
  const calls = message.role === 'assistant' ? message.tool_calls : undefined;
  const characters = lengthOf(message.content) + (calls === undefined ? 0 : lengthOf(calls));
  return TOKENS_PER_MESSAGE + Math.ceil(characters / CHARACTERS_PER_TOKEN);
}

export function textTokens(text: string): number {
  return Math.ceil(text.length / CHARACTERS_PER_TOKEN);
}

function lengthOf(content: unknown): number {
  if (typeof content === 'string') return content.length;
  return content === null || content === undefined ? 0 : JSON.stringify(content).length;
}
