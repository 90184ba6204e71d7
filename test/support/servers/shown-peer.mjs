/** A stdio server whose names, descriptions and answers are what a console has to show: plain ones, and hostile ones.
 *  It must never do anything: each call only answers. */
import { createInterface } from 'node:readline';

const write = (message) => process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
const text = (value) => ({ content: [{ type: 'text', text: value }] });

/** HTML, a terminal's codes, a mark that turns the direction of text, a link. */
export const HOSTILE =
  '<img src=x onerror=alert(1)><script>alert(2)</script>\u001b[31mred\u202Egnp.exe https://evil.example/';
const DOT =
  'iVBORw0KGgoAAAANSUhEUgAAABAAAAAQCAIAAACQkWg2AAAAGklEQVR42mNk+M9AEmAiTfmohlENQ0oDAwMDAC0QAf9hH0tvAAAAAElFTkSuQmCC';
const SVG = Buffer.from('<svg xmlns="http://www.w3.org/2000/svg" onload="alert(3)"/>').toString('base64');
const SOUND = 'UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA=';

const MAIL = {
  type: 'object',
  properties: {
    to: { type: 'string', format: 'email', description: 'Whom it goes to' },
    subject: { type: 'string', maxLength: 80 },
    body: { type: 'string' },
    priority: { enum: ['low', 'normal', 'high'], default: 'normal' },
    copies: { type: 'integer', minimum: 1, maximum: 10, default: 1 },
    urgent: { type: 'boolean', description: 'Skips the digest' },
    labels: { type: 'array', items: { type: 'string' }, maxItems: 5 },
  },
  required: ['to', 'subject'],
};
const LABEL = { type: 'object', properties: { label: { type: 'string' } } };

const TOOLS = [
  ['send', MAIL, {}, 'Sends a mail to one person.', ({ to, subject }) => text(`sent "${subject}" to ${to}`)],
  [
    'search',
    LABEL,
    { readOnlyHint: true },
    'Finds mails by a word.',
    ({ label }) => text(`no mail has the word ${label}`),
  ],
  [
    'archive',
    LABEL,
    { idempotentHint: true },
    'Puts mails away.',
    () => fault('tool_error', 'the folder is full'),
  ],
  ['charge', LABEL, {}, 'Charges a card.', () => fault('tool_error', 'the bank has closed')],
  ['hostile', LABEL, { readOnlyHint: true }, HOSTILE, () => text(HOSTILE)],
  ['media', LABEL, { readOnlyHint: true }, 'Answers with every kind of content.', media],
];

function fault(type, message) {
  return { isError: true, content: [{ type: 'text', text: JSON.stringify({ type, message }) }] };
}

function media() {
  return {
    content: [
      { type: 'text', text: 'a picture, a drawing, a sound and a file' },
      { type: 'image', mimeType: 'image/png', data: DOT },
      { type: 'image', mimeType: 'image/svg+xml', data: SVG },
      { type: 'audio', mimeType: 'audio/wav', data: SOUND },
      { type: 'resource', resource: { uri: 'file:///tmp/report.html', mimeType: 'text/html', blob: SVG } },
      { type: 'resource_link', uri: 'javascript:alert(4)', name: 'a link' },
    ],
    structuredContent: { parts: 6 },
  };
}

const described = TOOLS.map(([name, inputSchema, annotations, description]) => ({
  name,
  description,
  inputSchema,
  annotations,
}));

function called({ name, arguments: args = {} }) {
  return TOOLS.find(([each]) => each === name)?.[4](args) ?? fault('not_found', 'no such tool');
}

const METHODS = {
  initialize: ({ protocolVersion }) => ({
    protocolVersion,
    capabilities: { tools: {} },
    serverInfo: { name: 'shown', version: '1.0.0' },
  }),
  'tools/list': () => ({ tools: described }),
  'tools/call': called,
  ping: () => ({}),
};

createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, params } = JSON.parse(line);
  if (id === undefined) return;
  if (Object.hasOwn(METHODS, method)) write({ id, result: METHODS[method](params ?? {}) });
  else write({ id, error: { code: -32_601, message: 'unknown method' } });
});
