/** Reads the open questions of a call, for clients that poll. Never reads the whole log of a long run at each poll. */
import type { DirectiveClient } from '../../../contract/directive/directive-client.ts';
import { type CallQuestions, callQuestions } from '../calls/call-questions.ts';
import type { Place } from '../calls/tool-answer.ts';

export interface QuestionReader {
  /** `whole`: also questions that were over at an earlier read. */
  read(place: Place, options?: { readonly whole?: boolean }): Promise<CallQuestions>;
}

/** One number for each. */
const MOST_PLACES = 1_000;

export function createQuestionReader(client: Pick<DirectiveClient, 'signals'>): QuestionReader {
  /** Request → before this sequence nothing is open. */
  const starts = new Map<string, number>();

  function keep(requestId: string, start: number): void {
    starts.delete(requestId);
    const [oldest] = starts.keys();
    if (starts.size >= MOST_PLACES && oldest !== undefined) starts.delete(oldest);
    starts.set(requestId, start);
  }

  return {
    async read({ requestId }, { whole = false } = {}) {
      const questions = callQuestions();
      const after = whole ? 0 : (starts.get(requestId) ?? 0);
      let last = after;
      for await (const signal of client.signals(requestId, { after, follow: false })) {
        questions.hear(signal);
        last = signal.sequence;
      }
      const sequences = questions.open().map(({ sequence }) => sequence);
      const skipped = questions.skippedFrom() ?? Infinity;
      keep(requestId, Math.min(last, skipped - 1, ...sequences.map((sequence) => sequence - 1)));
      return questions;
    },
  };
}
