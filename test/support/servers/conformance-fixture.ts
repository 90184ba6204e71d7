/** The MCP server with the tools, resources and prompts that the official conformance suite asks for, as it stands behind Adjutant.
 *  It must never do more than the suite describes of a tool: a scenario would pass that a stranger's server fails. */
import { setTimeout as wait } from 'node:timers/promises';
import {
  type CallToolResult,
  type ElicitResult,
  type GetPromptResult,
  inputRequired,
  type InputRequests,
  type InputRequiredResult,
  ProtocolError,
  ProtocolErrorCode,
  ResourceNotFoundError,
  Server,
  type ServerContext,
  type Tool,
} from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';

type Arguments = Readonly<Record<string, unknown>>;
type Answer = CallToolResult | InputRequiredResult;
type Handler = (args: Arguments, context: ServerContext) => Answer | Promise<Answer>;

interface FixtureTool {
  readonly description: string;
  /** Default: no arguments. */
  readonly inputSchema?: object;
  readonly handler: Handler;
}

/** One red pixel, and a sound without samples. */
const PNG =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==';
const WAV = 'UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAIA+AAACABAAZGF0YQAAAAA=';
const MISSING_CAPABILITY = -32_021;
const STEP_MS = 50;
/** Adjutant answers with a task what takes longer than a second: the suite's "1 s" has to be more than that. */
const SECOND_MS = 1_500;

const text = (value: string) => ({ type: 'text', text: value }) as const;
const image = { type: 'image', data: PNG, mimeType: 'image/png' } as const;
const said = (value: string): CallToolResult => ({ content: [text(value)] });

function resource(uri: string, mimeType: string, content: string) {
  return { type: 'resource', resource: { uri, mimeType, text: content } } as const;
}

function object(properties: object, required: readonly string[] = []): object {
  return { type: 'object', properties, required };
}

/** Word for word as the scenario `json-schema-2020-12` has it. */
const SCHEMA_2020_12 = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  type: 'object',
  $defs: {
    address: {
      $anchor: 'addressDef',
      type: 'object',
      properties: { street: { type: 'string' }, city: { type: 'string' } },
    },
  },
  properties: {
    name: { type: 'string' },
    address: { $ref: '#/$defs/address' },
    contactMethod: { type: 'string', enum: ['phone', 'email'] },
    phone: { type: 'string' },
    email: { type: 'string' },
  },
  allOf: [{ anyOf: [{ required: ['phone'] }, { required: ['email'] }] }],
  if: { properties: { contactMethod: { const: 'phone' } }, required: ['contactMethod'] },
  // oxlint-disable-next-line unicorn/no-thenable -- a keyword of JSON Schema
  then: { required: ['phone'] },
  else: { required: ['email'] },
  additionalProperties: false,
};

/** They need what Adjutant does not offer: a model's answer, or folders. */
const UNSERVED: Readonly<Record<string, () => InputRequests[string]>> = {
  test_sampling: sampling,
  test_input_required_result_sampling: sampling,
  test_input_required_result_list_roots: () => inputRequired.listRoots(),
  test_input_required_result_multiple_inputs: sampling,
  test_input_required_result_capabilities: sampling,
};

function sampling(): InputRequests[string] {
  const content = { type: 'text', text: 'What is the capital of France?' } as const;
  return inputRequired.createMessage({ messages: [{ role: 'user', content }], maxTokens: 100 });
}

const STRING = { type: 'string' } as const;
const named = object({ name: STRING }, ['name']);
const confirmed = object({ ok: { type: 'boolean' } }, ['ok']);

interface Question {
  readonly message: string;
  readonly schema: object;
}

/** What is asked in one round, by name. */
type Round = Readonly<Record<string, Question>>;

const USER_NAME: Round = { user_name: { message: 'What is your name?', schema: named } };
const CONFIRM: Round = { confirm: { message: 'Please confirm', schema: confirmed } };

interface Asking {
  /** One after the other; each round's state is its number. */
  readonly rounds: readonly Round[];
  readonly end: (answers: readonly ElicitResult[]) => string;
  /** Before the first round, and after the last one, milliseconds. Default: 0. */
  readonly before?: number;
  readonly after?: number;
}

function asking({ rounds, end, before = 0, after = 0 }: Asking): Handler {
  return async (_, { mcpReq }) => {
    const answers = Object.values(mcpReq.inputResponses ?? {}) as ElicitResult[];
    const number = Number(mcpReq.requestState<string>() ?? 0);
    const round = rounds[number];
    if (number === 0) await wait(before, undefined, { signal: mcpReq.signal });
    if (round !== undefined) return ask(round, String(number + 1));
    await wait(after, undefined, { signal: mcpReq.signal });
    return said(end(answers));
  };
}

function ask(round: Round, requestState: string): Answer {
  const requests = Object.entries(round).map(([key, { message, schema }]) => [
    key,
    inputRequired.elicit({ message, requestedSchema: schema as never }),
  ]);
  return inputRequired({ inputRequests: Object.fromEntries(requests), requestState });
}

const response = ([answer]: readonly ElicitResult[]): string =>
  `action=${answer?.action}, content=${JSON.stringify(answer?.content ?? {})}`;

const options = (...values: string[]) => ({ type: 'string', enum: values }) as const;
const titled = (...values: string[]) => values.map((value) => ({ const: value, title: `Title of ${value}` }));

const DEFAULTS = object({
  name: { ...STRING, default: 'John Doe' },
  age: { type: 'integer', default: 30 },
  score: { type: 'number', default: 95.5 },
  status: { ...options('active', 'inactive', 'pending'), default: 'active' },
  verified: { type: 'boolean', default: true },
});
const ENUMS = object({
  untitledSingle: options('option1', 'option2', 'option3'),
  titledSingle: { ...STRING, oneOf: titled('value1', 'value2', 'value3') },
  legacyEnum: { ...options('opt1', 'opt2', 'opt3'), enumNames: ['Option One', 'Option Two', 'Option Three'] },
  untitledMulti: { type: 'array', items: options('option1', 'option2', 'option3') },
  titledMulti: { type: 'array', items: { anyOf: titled('value1', 'value2', 'value3') } },
});
const PERSON = object({ username: STRING, email: STRING }, ['username', 'email']);

const once = (message: string, schema: object): Handler =>
  asking({ rounds: [{ answer: { message, schema } }], end: response });

const ASKING: Readonly<Record<string, Handler>> = {
  ...Object.fromEntries(
    Object.entries(UNSERVED).map(([name, needed]) => [
      name,
      () => inputRequired({ inputRequests: { needed: needed() } }),
    ]),
  ),
  test_elicitation: once('Please provide your information', PERSON),
  test_elicitation_sep1034_defaults: once('Please review', DEFAULTS),
  test_elicitation_sep1330_enums: once('Please choose', ENUMS),
  test_streaming_elicitation: once('Please confirm', confirmed),
  test_input_required_result_elicitation: asking({
    rounds: [USER_NAME],
    end: ([answer]) => `Hello, ${String(answer?.content?.['name'])}!`,
  }),
  test_input_required_result_request_state: asking({ rounds: [CONFIRM], end: () => 'state-ok' }),
  test_input_required_result_tampered_state: asking({ rounds: [CONFIRM], end: () => 'ok' }),
  test_input_required_result_multi_round: asking({
    rounds: [
      { step1: { message: 'Step 1: What is your name?', schema: named } },
      {
        step2: {
          message: 'Step 2: What is your favorite color?',
          schema: object({ color: STRING }, ['color']),
        },
      },
    ],
    end: response,
  }),
  confirm_delete: asking({
    rounds: [
      { confirm: { message: 'Delete it?', schema: object({ confirm: { type: 'boolean' } }, ['confirm']) } },
    ],
    end: response,
    before: SECOND_MS,
  }),
  multi_input: asking({
    rounds: [
      {
        first: { message: 'Your first name?', schema: object({ name: STRING }) },
        second: { message: 'Your second name?', schema: object({ name: STRING }) },
      },
    ],
    end: () => 'both',
    before: SECOND_MS,
  }),
  test_tool_with_task: asking({
    rounds: [USER_NAME],
    end: ([answer]) => `Done for ${String(answer?.content?.['name'])}`,
    after: SECOND_MS,
  }),
};

const TOOLS: Readonly<Record<string, FixtureTool>> = {
  ...Object.fromEntries(
    Object.entries(ASKING).map(([name, handler]) => [name, { description: 'Asks its caller.', handler }]),
  ),
  test_simple_text: {
    description: 'Returns one text.',
    handler: () => said('This is a simple text response for testing.'),
  },
  test_image_content: { description: 'Returns one image.', handler: () => ({ content: [image] }) },
  test_audio_content: {
    description: 'Returns one sound.',
    handler: () => ({ content: [{ type: 'audio', data: WAV, mimeType: 'audio/wav' }] }),
  },
  test_embedded_resource: {
    description: 'Returns one resource.',
    handler: () => ({
      content: [resource('test://embedded-resource', 'text/plain', 'This is an embedded resource content.')],
    }),
  },
  test_multiple_content_types: {
    description: 'Returns a text, an image and a resource.',
    handler: () => ({
      content: [
        text('Multiple content types test:'),
        image,
        resource('test://mixed-content-resource', 'application/json', '{"test":"data","value":123}'),
      ],
    }),
  },
  test_tool_with_logging: { description: 'Logs three messages.', handler: logging },
  test_error_handling: {
    description: 'Fails.',
    handler: () => ({ isError: true, ...said('This tool intentionally returns an error for testing') }),
  },
  test_tool_with_progress: { description: 'Reports 0, 50 and 100 of 100.', handler: progressing },
  test_logging_tool: { description: 'Logs three messages.', handler: logging },
  test_missing_capability: {
    description: 'Needs a client that offers sampling.',
    handler: () => {
      throw new ProtocolError(MISSING_CAPABILITY, 'This tool needs sampling', {
        requiredCapabilities: { sampling: {} },
      });
    },
  },
  json_schema_2020_12_tool: {
    description: 'Tool with JSON Schema 2020-12 features',
    inputSchema: SCHEMA_2020_12,
    handler: () => said('ok'),
  },
  test_mirrored_header: {
    description: 'Takes an argument that clients also send as a header.',
    inputSchema: object({ region: { type: 'string', 'x-mcp-header': 'Region' } }, ['region']),
    handler: ({ region }) => said(String(region)),
  },
  greet: {
    description: 'Greets by name.',
    inputSchema: object({ name: { type: 'string' } }, ['name']),
    handler: ({ name }) => said(`Hello, ${String(name)}!`),
  },
  slow_compute: {
    description: 'Returns after some seconds.',
    inputSchema: object({ seconds: { type: 'number' }, label: { type: 'string' } }, ['seconds']),
    handler: async ({ seconds, label }, { mcpReq: { signal } }) => {
      await wait(Number(seconds) * SECOND_MS, undefined, { signal });
      return said(`computed ${String(label)}`);
    },
  },
  failing_job: {
    description: 'Fails after a second.',
    handler: async () => {
      await wait(SECOND_MS);
      return { isError: true, ...said('the job failed') };
    },
  },
  protocol_error_job: {
    description: 'Ends with an error of the protocol after a second.',
    handler: async () => {
      await wait(SECOND_MS);
      throw new ProtocolError(ProtocolErrorCode.InternalError, 'the job broke');
    },
  },
};

async function logging(_: Arguments, { mcpReq }: ServerContext): Promise<CallToolResult> {
  for (const data of ['Tool execution started', 'Tool processing data', 'Tool execution completed']) {
    await mcpReq.notify({ method: 'notifications/message', params: { level: 'info', data } });
    await wait(STEP_MS);
  }
  return said('logged');
}

async function progressing(_: Arguments, { mcpReq }: ServerContext): Promise<CallToolResult> {
  const progressToken = mcpReq._meta?.progressToken;
  for (const progress of [0, 50, 100]) {
    if (progressToken !== undefined)
      await mcpReq.notify({
        method: 'notifications/progress',
        params: { progressToken, progress, total: 100 },
      });
    await wait(STEP_MS);
  }
  return said('done');
}

const RESOURCES = {
  'test://static-text': {
    mimeType: 'text/plain',
    text: 'This is the content of the static text resource.',
  },
  'test://static-binary': { mimeType: 'image/png', blob: PNG },
  'test://watched-resource': { mimeType: 'text/plain', text: 'watched' },
} as const;

const TEMPLATE = 'test://template/{id}/data';

function readResource(uri: string) {
  if (Object.hasOwn(RESOURCES, uri)) return { uri, ...RESOURCES[uri as keyof typeof RESOURCES] };
  const id = /^test:\/\/template\/(?<id>[^/]+)\/data$/.exec(uri)?.groups?.['id'];
  if (id === undefined) throw new ResourceNotFoundError(uri);
  const text = JSON.stringify({ id, templateTest: true, data: `Data for ID: ${id}` });
  return { uri, mimeType: 'application/json', text };
}

type Content = GetPromptResult['messages'][number]['content'];

const PROMPTS: Readonly<
  Record<string, { args?: string[]; answer: (args: Record<string, string>) => Content[] }>
> = {
  test_simple_prompt: { answer: () => [text('This is a simple prompt for testing.')] },
  test_prompt_with_arguments: {
    args: ['arg1', 'arg2'],
    answer: ({ arg1, arg2 }) => [text(`Prompt with arguments: arg1='${arg1}', arg2='${arg2}'`)],
  },
  test_prompt_with_embedded_resource: {
    args: ['resourceUri'],
    answer: ({ resourceUri = '' }) => [
      resource(resourceUri, 'text/plain', 'Embedded resource content for testing.'),
      text('Please process the embedded resource above.'),
    ],
  },
  test_prompt_with_image: { answer: () => [image, text('Please analyze the image above.')] },
};

function getPrompt(name: string, args: Record<string, string>): GetPromptResult {
  const prompt = Object.hasOwn(PROMPTS, name) ? PROMPTS[name] : undefined;
  if (prompt === undefined)
    throw new ProtocolError(ProtocolErrorCode.InvalidParams, `Unknown prompt: ${name}`);
  return { messages: prompt.answer(args).map((content) => ({ role: 'user', content })) };
}

function serveReads(server: Server): void {
  const resources = Object.entries(RESOURCES).map(([uri, { mimeType }]) => ({ uri, name: uri, mimeType }));
  const prompts = Object.entries(PROMPTS).map(([name, { args = [] }]) => ({
    name,
    description: `Returns messages for ${name}.`,
    arguments: args.map((each) => ({ name: each, description: `The ${each}.`, required: true })),
  }));
  server.setRequestHandler('resources/list', () => ({ resources }));
  server.setRequestHandler('resources/templates/list', () => ({
    resourceTemplates: [{ uriTemplate: TEMPLATE, name: 'template', mimeType: 'application/json' }],
  }));
  server.setRequestHandler('resources/read', ({ params: { uri } }) => ({ contents: [readResource(uri)] }));
  server.setRequestHandler('prompts/list', () => ({ prompts }));
  server.setRequestHandler('prompts/get', ({ params: { name, arguments: args = {} } }) =>
    getPrompt(name, args),
  );
  server.setRequestHandler('completion/complete', ({ params: { argument } }) => ({
    completion: { values: ['test', 'paris'].filter((value) => value.startsWith(argument.value)) },
  }));
}

function createFixture(): Server {
  const server = new Server(
    { name: 'conformance-fixture', version: '1.0.0' },
    { capabilities: { tools: {}, logging: {}, resources: {}, prompts: {}, completions: {} } },
  );
  serveReads(server);
  const descriptors = Object.entries(TOOLS).map(([name, { description, inputSchema = object({}) }]) => ({
    name,
    description,
    inputSchema,
  }));
  server.setRequestHandler('tools/list', () => ({ tools: descriptors as Tool[] }));
  server.setRequestHandler('tools/call', async ({ params: { name, arguments: args = {} } }, context) => {
    const tool = Object.hasOwn(TOOLS, name) ? TOOLS[name] : undefined;
    if (tool === undefined) throw new ProtocolError(ProtocolErrorCode.InvalidParams, `Unknown tool: ${name}`);
    return tool.handler(args, context);
  });
  return server;
}

serveStdio(createFixture);
