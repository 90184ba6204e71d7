/** Submissions of model directives: how they are resolved, what is stored, and what is refused.
 *  It must never call a model. */
import { randomUUID } from 'node:crypto';
import { beforeEach, describe, expect, test } from 'vitest';
import type { SubmittedDirective } from '../../../src/contract/directive/directive.ts';
import type { ModelTable } from '../../../src/contract/model/model-name.ts';
import { DirectiveRefused } from '../../../src/contract/problem.ts';
import { createModelCatalog } from '../../../src/store/catalog/model-catalog.ts';
import { errorOf, openPipeline, type Pipeline } from '../../support/pipeline.ts';
import { useRedis } from '../../support/shared.ts';

const redis = useRedis();
let open: Pipeline;
beforeEach(async () => {
  open = await openPipeline(redis.url);
  return () => open[Symbol.asyncDispose]();
});

/** Like a worker at its start. */
function publish(models: ModelTable): Promise<void> {
  return createModelCatalog(open.connection, open.keys).publish(models);
}

const models: ModelTable = {
  providers: new Map([
    ['cloud', { type: 'openai' }],
    ['local', { type: 'openai-compatible' }],
  ]),
  aliases: new Map([['fast', ['mistral:x', 'cloud:small', 'local:tiny']]]),
};

function generation(fields: object = {}): SubmittedDirective {
  return {
    type: 'llm_generate',
    context: [{ role: 'user', content: 'hello' }],
    ...fields,
  } as SubmittedDirective;
}

describe('a model directive', () => {
  test('goes to the lane of the first provider of its chain, and its envelope keeps the chain', async () => {
    await publish(models);
    const { request_id, directives } = await open.client.submit(generation({ model_alias: 'fast' }));
    expect(directives[0]).toMatchObject({ status: 'accepted', lane: 'llm.cloud' });
    const json = await open.journal.envelope(request_id, directives[0]?.id ?? '');
    expect(JSON.parse(json ?? '{}')).toMatchObject({
      lane: 'llm.cloud',
      models: ['cloud:small', 'local:tiny'],
    });
    expect(await open.lanes.queued('llm.cloud')).toBe(1);
  });

  test('keeps the chain it was accepted with when the aliases change', async () => {
    await publish(models);
    const directive = generation({ model_alias: 'fast', request_id: randomUUID(), id: 'a' });
    await open.client.submit(directive);
    await publish({ ...models, aliases: new Map([['fast', ['local:tiny']]]) });
    const again = await open.client.submit(directive);
    expect(again.directives[0]).toMatchObject({ status: 'existing' });
    const json = await open.journal.envelope(again.request_id, 'a');
    expect(JSON.parse(json ?? '{}')).toMatchObject({ models: ['cloud:small', 'local:tiny'] });
  });

  test('that no worker can serve ends at once with one signal that names the missing variable', async () => {
    const choices = [{ model: 'anthropic:claude-x' }, { model_alias: 'capable' }, { model: 'swift' }];
    for (const choice of choices) {
      const submission = await open.client.submit(generation(choice));
      expect(submission.directives[0]).toMatchObject({ status: 'accepted', lane: null });
      const { signals, closed } = await open.client.page(submission.request_id);
      expect(signals.map(({ type }) => type)).toEqual(['ai.llm.response']);
      expect(closed).toBe(true);
      const error = errorOf(signals[0] ?? null);
      expect(error.type).toBe('unknown_model');
      expect(error.message).toMatch(/ANTHROPIC_API_KEY|known aliases: fast/);
    }
    const embed = await open.client.execute({ type: 'llm_embed', model_alias: 'embedding', texts: ['a'] });
    expect(embed.type).toBe('ai.embed.result');
    expect(errorOf(embed).message).toContain('OPENAI_API_KEY');
  });

  test('is served as soon as a worker publishes its provider', async () => {
    const before = await open.client.submit(generation({ model: 'cloud:small' }));
    expect(before.directives[0]?.lane).toBeNull();
    await publish(models);
    await expect
      .poll(async () => (await open.client.submit(generation({ model: 'cloud:small' }))).directives[0]?.lane)
      .toBe('llm.cloud');
  });

  test('and its lane are listed', async () => {
    await publish(models);
    await createModelCatalog(open.connection, open.keys).noteBlocked('local', Date.now() + 60_000);
    await open.client.submit(generation({ model: 'cloud:small' }));
    const { lanes } = await open.client.lanes();
    expect(lanes.map(({ name, waiting, blocked_until }) => [name, waiting, blocked_until !== null])).toEqual([
      ['tool.test', 0, false],
      ['llm.cloud', 1, false],
      ['llm.local', 0, true],
      ['run', 0, false],
    ]);
  });
});

describe('what is too large', () => {
  const large = 'x'.repeat(1_048_577);

  async function paths(submitted: SubmittedDirective | SubmittedDirective[]): Promise<string[]> {
    const refused: unknown = await open.client.submit(submitted).then(
      () => null,
      (error: unknown) => error,
    );
    if (!(refused instanceof DirectiveRefused)) throw new Error('nothing was refused');
    expect(refused.problem.code).toBe('invalid_body');
    for (const { message } of refused.problem.errors ?? []) expect(message).toContain('the limit is 1048576');
    return (refused.problem.errors ?? []).map(({ path }) => path);
  }

  test.each<[string, SubmittedDirective]>([
    ['context', generation({ model: 'cloud:a', context: [{ role: 'user', content: large }] })],
    ['system_prompt', generation({ model: 'cloud:a', system_prompt: large })],
    ['tools', generation({ model: 'cloud:a', tools: [{ name: 'a', description: large }] })],
    ['output_schema', generation({ model: 'cloud:a', output_schema: { description: large } })],
    ['texts', { type: 'llm_embed', model: 'cloud:a', texts: [large, 'a'] }],
    ['texts', { type: 'llm_embed', model: 'cloud:a', texts: large }],
    ['arguments', { type: 'tool_exec', tool_name: 'test.a', arguments: { large } }],
  ])('is refused by its path: %s', async (path, directive) => {
    await publish(models);
    expect(await paths(directive)).toEqual([path]);
  });

  test('is named by its place in a batch', async () => {
    await publish(models);
    const request_id = randomUUID();
    const batch: SubmittedDirective[] = [
      generation({ request_id, model: 'cloud:a' }),
      generation({ request_id, model: 'cloud:a', context: [{ role: 'user', content: large }] }),
    ];
    expect(await paths(batch)).toEqual(['directives[1].context']);
  });
});
