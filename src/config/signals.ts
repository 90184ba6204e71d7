// The stream of all signals.
// Must never say how it is written.
import * as z from 'zod';
import { notes } from './notes.ts';

const MOST_ENTRIES = 100_000_000;

const streamSchema = z.strictObject({
  max_entries: z.int().min(1_000).max(MOST_ENTRIES).register(notes, {
    description:
      'Signals that the stream of each tenant keeps, about: Redis trims the oldest in blocks of a hundred. A consumer that is further behind reads them in the logs.',
  }),
});

const signalsSchema = z.strictObject({
  stream: streamSchema.optional().register(notes, {
    description:
      'One Redis stream of all signals of each tenant, for consumer groups in any language: [Redis](redis.md#the-stream-of-all-signals). The same for every process. Not on a Redis Cluster.',
    fallback: 'there is none',
  }),
});

export const signalsSections = {
  signals: signalsSchema.prefault({}).register(notes, {
    description: 'What other programs read of [signals in Redis](redis.md).',
  }),
};
