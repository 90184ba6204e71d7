/** Which model the demo asks, and that it says so. */
import { expect, test } from 'vitest';
import { demoModel } from '../../../scripts/demo/model.ts';

test('without a key the scripted one, which is called what it is', () => {
  const { config, notice } = demoModel({ OPENAI_API_KEY: '' });
  expect(config.models.demo).toEqual(['demo:script']);
  expect(notice).toContain('scripted');
});

test('with a key the provider’s own, before the scripted one; the key is not told', () => {
  const { config, notice } = demoModel({ OPENAI_API_KEY: 'secret-1' });
  expect(config.models.demo).toEqual(['openai:gpt-5-mini', 'demo:script']);
  expect(notice).toContain('OPENAI_API_KEY');
  expect(notice).not.toContain('secret-1');
});
