/** The refusals of model names, as a program without a provider reads them (docs/model-endpoint.md; a newcomer's report of issue 39).
 *  It must not need a service. */
import { expect, test } from 'vitest';
import { namedModel } from '../../../../src/features/model-endpoint/model-choice.ts';

test.each([
  ['openai', 'OPENAI_API_KEY'],
  ['anthropic', 'ANTHROPIC_API_KEY'],
  ['google', 'GEMINI_API_KEY'],
] as const)('a service without a provider of the form of %s names the key that it lacks', (family, key) => {
  const providers = new Map([['demo', { type: 'scripted' }]]);
  expect(() => namedModel('m', family, { aliases: new Map(), providers })).toThrow(
    `no provider is configured that answers in the form of ${family}: start the service with ${key}, or configure one`,
  );
});

// docs/any-agent.md: a newcomer without a key has the scripted provider alone, which answers no SDK.
test.each(['m', 'demo:script'])('the refusal of "%s" says what a scripted provider answers', (model) => {
  const providers = new Map([['demo', { type: 'scripted' }]]);
  expect(() => namedModel(model, 'openai', { aliases: new Map(), providers })).toThrow(
    'a scripted provider answers only `adjutant llm`, `adjutant ask` and directives, and `npm run demo -- agent`',
  );
});
