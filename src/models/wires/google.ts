// Answers of the Gemini API: every event has the form of a whole answer.
// Must never drop a part that the client reads.
import { isObject } from '../../contract/json/json-object.ts';
import { drop, keepOnly, type Members, mendCounts, type Mending, objectsIn, put, type Wire } from './wire.ts';

export const GOOGLE: Wire = {
  repair() {
    let isFinished = false;
    let hasContent = false;
    return {
      next(event, mending) {
        mend(event, mending);
        const [candidate] = (event['candidates'] ?? []) as Members[];
        const reason = candidate?.['finishReason'];
        hasContent ||= isObject(candidate?.['content']);
        isFinished ||= typeof reason === 'string' && reason !== 'CONTINUATION';
        isFinished ||= isObject(event['promptFeedback']) && Boolean(event['promptFeedback']['blockReason']);
        return [event];
      },
      rest: () => [],
      complete: () =>
        hasContent && !isFinished
          ? [{ candidates: [{ content: { parts: [] }, finishReason: 'OTHER' }] }]
          : [],
      state: () => (isFinished ? 'finished' : 'open'),
    };
  },
  isAnswer: ({ candidates, promptFeedback, usageMetadata }) =>
    Array.isArray(candidates) || isObject(promptFeedback) || isObject(usageMetadata),
  isWhole: () => false,
  mendWhole: mend,
  eventsOf: (answer) => [answer],
  errorEvent: (error, status) => ({
    error: {
      ...error,
      code: typeof error['code'] === 'number' ? error['code'] : status,
      status: typeof error['status'] === 'string' ? error['status'] : 'UNKNOWN',
    },
  }),
};

/** Grounding and safety ratings are not read, and change their form. */
function mend(answer: Members, mending: Mending): void {
  if (!isObject(answer['error'])) drop(mending, answer, 'error');
  mendCounts(mending, answer, 'usageMetadata');
  if (isObject(answer['promptFeedback'])) drop(mending, answer['promptFeedback'], 'safetyRatings');
  if (!Array.isArray(answer['candidates'])) drop(mending, answer, 'candidates');
  for (const candidate of objectsIn(mending, answer, 'candidates')) {
    drop(mending, candidate, 'groundingMetadata', 'urlContextMetadata', 'safetyRatings');
    keepOnly(mending, candidate, 'string', 'finishReason', 'finishMessage');
    const { content } = candidate;
    if (!isObject(content)) drop(mending, candidate, 'content');
    else if (!Array.isArray(content['parts'])) put(mending, content, 'parts', []);
    else objectsIn(mending, content, 'parts');
  }
}
