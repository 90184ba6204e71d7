/** A pipeline for directives of models: two providers, a chain over both, and models that are the test's own code.
 *  It must never call a provider. */
import { randomUUID } from 'node:crypto';
import type { SubmittedDirective } from '../../src/contract/directive/directive.ts';
import { createModelCatalog } from '../../src/store/catalog/model-catalog.ts';
import { done, type Stream, testModel } from './executors.ts';
import { openPipeline, type Pipeline, type TestWorkerOptions } from './pipeline.ts';

export const CHAIN = ['a:large', 'b:large', 'b:small'];
export const LANES = ['llm.a', 'llm.b'];

/** A pipeline whose submitters know the alias `chain`, and `single` for its first model. */
export async function openChain(redisUrl: string): Promise<Pipeline> {
  const open = await openPipeline(redisUrl);
  const provider = { type: 'openai-compatible' };
  await createModelCatalog(open.connection, open.keys).publish({
    providers: new Map([
      ['a', provider],
      ['b', provider],
    ]),
    aliases: new Map([
      ['chain', CHAIN],
      ['single', ['a:large']],
    ]),
  });
  return open;
}

export type Ask = Extract<SubmittedDirective, { type: 'llm_stream' }>;

export function ask(fields: Partial<Ask> = {}): Ask & { id: string; request_id: string } {
  const given = {
    type: 'llm_stream',
    model_alias: 'chain',
    context: [{ role: 'user', content: 'hi' }],
  } as const;
  return { ...given, id: 'm', request_id: randomUUID(), ...fields } as Ask & {
    id: string;
    request_id: string;
  };
}

export const startModels = (
  open: Pipeline,
  execute: Stream,
  lanes: readonly string[] = LANES,
  options: TestWorkerOptions = {},
) =>
  open.startWorker(async () => done, {
    ...options,
    definitions: [testModel(execute)],
    lanes,
  });

/** What an attempt needs, for tests that create jobs themselves. */
export const modelParts = (open: Pipeline, execute: Stream) =>
  open.attemptParts(async () => done, { definitions: [testModel(execute)] });
