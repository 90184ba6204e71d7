/** The model of the demo, and that its notice names it. */
import { expect, test } from 'vitest';
import { demoModel } from '../../../scripts/demo/model.ts';

test('without a key the scripted one, which is marked as scripted', () => {
  const { config, notice } = demoModel({ OPENAI_API_KEY: '' });
  expect(config.models.demo).toEqual(['demo:script']);
  expect(notice).toContain('scripted');
});

test('with a key the provider’s own, before the scripted one; the key is not shown', () => {
  const { config, notice } = demoModel({ OPENAI_API_KEY: 'secret-1' });
  expect(config.models.demo).toEqual(['openai:gpt-5-mini', 'demo:script']);
  expect(notice).toContain('OPENAI_API_KEY');
  expect(notice).not.toContain('secret-1');
});
