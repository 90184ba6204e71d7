/** The models that a submitter knows: the defaults, what workers publish, and its own configuration over both.
 *  It must never need Redis. */
import { expect, test } from 'vitest';
import type { ModelTable } from '../../../../src/contract/model/model-name.ts';
import type { PublishedModels } from '../../../../src/store/catalog/model-catalog.ts';
import { knownModels, NO_MODELS } from '../../../../src/store/catalog/known-models.ts';

const published: PublishedModels = {
  providers: new Map([['cloud', { type: 'openai' }]]),
  aliases: new Map([
    ['fast', ['cloud:small']],
    ['odd', ['cloud:odd']],
  ]),
  blockedUntil: new Map(),
};

const known = (configured: ModelTable): Promise<ModelTable> =>
  knownModels({ read: () => Promise.resolve(published) }, configured).current();

test('without a configuration the published aliases win over the defaults', async () => {
  const { aliases, providers } = await known(NO_MODELS);
  expect(aliases.get('fast')).toEqual(['cloud:small']);
  expect(aliases.get('capable')).toEqual(['anthropic:claude-sonnet-4-20250514']);
  expect([...providers.keys()]).toEqual(['cloud']);
});

test('its own configuration wins over published models, and adds to them', async () => {
  const { aliases, providers } = await known({
    aliases: new Map([['fast', ['local:tiny']]]),
    providers: new Map([['local', { type: 'openai-compatible' }]]),
  });
  expect(aliases.get('fast')).toEqual(['local:tiny']);
  expect(aliases.get('odd')).toEqual(['cloud:odd']);
  expect([...providers.keys()]).toEqual(['cloud', 'local']);
});
