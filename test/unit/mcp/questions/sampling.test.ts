/** What a server wants to ask a model, as it is read: within every limit, and nothing that no model here understands.
 *  It must never ask a model. */
import { expect, test } from 'vitest';
import { readSampling, SAMPLING_LIMITS } from '../../../../src/mcp/questions/sampling.ts';

const text = (value: unknown) => ({ type: 'text', text: value });
const user = (content: unknown) => ({ role: 'user', content });
const image = (data: unknown, mimeType: unknown = 'image/png') => ({ type: 'image', data, mimeType });
const asks = (more: object) => ({ messages: [user(text('hi'))], maxTokens: 5, ...more });
const { messages, parts, textBytes, images, imageBytes, stopSequences } = SAMPLING_LIMITS;

test('a request as the protocol has it; what is only a wish is not read', () => {
  const content = [text('look'), image('AAAA')];
  const given = asks({
    messages: [user(content), { role: 'assistant', content: text('ok') }],
    systemPrompt: 'be brief',
    temperature: 0.5,
    stopSequences: ['END'],
    modelPreferences: { hints: [{ name: 'expensive' }] },
    includeContext: 'allServers',
    metadata: { __proto__: { polluted: true } },
  });
  expect(readSampling(given)).toEqual({
    ok: true,
    value: {
      messages: [
        { role: 'user', content: [text('look'), { type: 'image', data: 'AAAA', media_type: 'image/png' }] },
        { role: 'assistant', content: [text('ok')] },
      ],
      systemPrompt: 'be brief',
      maxTokens: 5,
      temperature: 0.5,
      stopSequences: ['END'],
    },
  });
});

test.each<[string, unknown]>([
  ['nothing', undefined],
  ['no messages', asks({ messages: [] })],
  ['messages that are none', asks({ messages: 'hi' })],
  ['a role that does not exist', asks({ messages: [{ role: 'system', content: text('hi') }] })],
  ['a role of every object', asks({ messages: [{ role: 'constructor', content: text('hi') }] })],
  ['no content', asks({ messages: [user([])] })],
  ['content that is null', asks({ messages: [user(null)] })],
  ['text that is none', asks({ messages: [user(text(5))] })],
  ['sound', asks({ messages: [user({ type: 'audio', data: 'AAAA', mimeType: 'audio/wav' })] })],
  ['a tool result', asks({ messages: [user({ type: 'tool_result', toolUseId: 'x', content: [] })] })],
  ['tools', asks({ tools: [] })],
  ['an image that is no base64', asks({ messages: [user(image('<svg>'))] })],
  ['an image of another type', asks({ messages: [user(image('AAAA', 'text/html'))] })],
  ['no limit of tokens', asks({ maxTokens: undefined })],
  ['no token', asks({ maxTokens: 0 })],
  ['tokens without end', asks({ maxTokens: Infinity })],
  ['a temperature that is none', asks({ temperature: NaN })],
  ['an empty stop sequence', asks({ stopSequences: [''] })],
  ['too many stop sequences', asks({ stopSequences: Array(stopSequences + 1).fill('x') })],
  ['too many messages', asks({ messages: Array(messages + 1).fill(user(text('x'))) })],
  ['too much content', asks({ messages: [user(Array(parts + 1).fill(text('x')))] })],
  ['too much text', asks({ messages: [user(text('ä'.repeat(textBytes / 2))), user(text('x'))] })],
  ['a system prompt of 10 MB', asks({ systemPrompt: 'x'.repeat(10_000_000) })],
  ['too many images', asks({ messages: [user(Array(images + 1).fill(image('AAAA')))] })],
  ['two images of 700 KB', asks({ messages: [user(Array(2).fill(image('A'.repeat(700_000))))] })],
  ['an image that is too large', asks({ messages: [user(image('A'.repeat(imageBytes + 4)))] })],
])('%s is refused in words', (_what, params) => {
  const read = readSampling(params);
  expect(read).toMatchObject({
    ok: false,
    reason: expect.stringMatching(/^(asks|has|sends|gives) /),
  });
});
