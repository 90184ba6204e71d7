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
