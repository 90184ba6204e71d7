// The blocks of text and reasoning in a stream, each under an id; several may be open at once.
// Must never join two blocks: a provider may reuse an id.
import type { SharedV4ProviderMetadata } from '@ai-sdk/provider';
import type { AnswerPart } from './model-answer.ts';
import { keepData } from '../requests/provider-data.ts';

type TextPart = Extract<AnswerPart, { text: string }>;
type Data = SharedV4ProviderMetadata | undefined;

/** New blocks are added to `parts`. */
export function createAnswerBlocks(parts: AnswerPart[]) {
  const open = new Map<string, TextPart>();

  function blockOf(type: TextPart['type'], id: string): TextPart {
    const known = open.get(`${type} ${id}`);
    if (known) return known;
    const block: TextPart = { type, text: '' };
    open.set(`${type} ${id}`, block);
    parts.push(block);
    return block;
  }

  return {
    write(type: TextPart['type'], id: string, text: string, data: Data): void {
      const block = blockOf(type, id);
      block.text += text;
      keepData(block, data);
    },
    end(type: TextPart['type'], id: string, data: Data): void {
      const block = open.get(`${type} ${id}`);
      if (block) keepData(block, data);
      open.delete(`${type} ${id}`);
    },
    /** Blocks that have not ended. */
    open: (): number => open.size,
  };
}
