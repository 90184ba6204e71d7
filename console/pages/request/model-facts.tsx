/** The input and output of a model call: messages as sent, system prompt, tools, parameters, answer, tokens, cost and times.
 *  Never shows anything but text and JSON. */
import type { DirectiveView } from '../../../src/contract/request/request-view.ts';
import type { TimelineDirective } from '../../../src/contract/request/request-timeline.ts';
import { encryptedKeyId, encryptedNote } from '../../../src/contract/encrypted/encrypted-form.ts';
import { isObject } from '../../../src/contract/json/json-object.ts';
import type { Message } from '../../../src/contract/model/message.ts';
import type { ModelTurn } from '../../../src/contract/model/model-turn.ts';
import type { ToolListing } from '../../../src/contract/tool/tool-listing.ts';
import { path } from '../../data/api.ts';
import { useRead } from '../../data/queries.ts';
import { countText, durationText, moneyText } from '../../data/shown.ts';
import { textOf } from '../../data/typed-json.ts';
import { ReadError } from '../../parts/banner.tsx';
import { Button } from '../../parts/button.tsx';
import { Code } from '../../parts/code.tsx';
import { copy } from '../../parts/copy-button.tsx';
import { Json } from '../../parts/json.tsx';
import { KeyValues } from '../../parts/key-values.tsx';
import { ResultView } from '../../parts/result-view.tsx';
import { Text } from '../../parts/text.tsx';
import { askedModel, providerCurl } from './provider-curl.ts';

const EVERY_MS = 2_000;

interface ModelProps {
  readonly requestId: string;
  readonly directive: TimelineDirective;
}

export function ModelFacts({ requestId, directive: { id, ended_at: ended, attempts } }: ModelProps) {
  const { data, error } = useRead<DirectiveView>(path`/v1/requests/${requestId}/directives/${id}`, {
    everyMs: ended === null ? EVERY_MS : 0,
    keepOld: false,
  });
  if (error !== null) return <ReadError error={error} />;
  if (data === undefined) return null;
  const called = attempts.findLast(({ model }) => model !== null)?.model ?? null;
  return (
    <>
      <Answer requestId={requestId} view={data} called={called} />
      <Question view={data} called={called} />
    </>
  );
}

interface ViewProps {
  readonly view: DirectiveView;
  /** Model of the last attempt, as `provider:model`; null: unknown. */
  readonly called: string | null;
}

/** Answer of a model, as its terminal signal has it. */
function endOf({ result }: DirectiveView) {
  if (result?.type !== 'ai.llm.response') return null;
  const { data } = result;
  const turn = data.result.ok && isObject(data.result.payload) ? data.result.payload : null;
  return { data, turn: turn as Partial<ModelTurn> | null };
}

function Answer({ requestId, view, called }: ViewProps & { requestId: string }) {
  const end = endOf(view);
  if (end === null) return null;
  const { data, turn } = end;
  const { text, thinking, tool_calls: calls = [] } = turn ?? {};
  const isCut = data.result.ok && typeof text !== 'string';
  return (
    <>
      <KeyValues
        rows={[['Model', <Text key="model">{called ?? data.model ?? 'unknown'}</Text>], ...sumsOf(end)]}
      />
      {isCut && <ResultView payload={turn} requestId={requestId} callId={view.id} />}
      {!isCut && data.result.ok && (
        <section className="stack">
          <h3>Answered</h3>
          {typeof thinking === 'string' && thinking !== '' && (
            <details>
              <summary>Thinking</summary>
              <Code label="thinking">{thinking}</Code>
            </details>
          )}
          {text !== '' && <Code label="answer of the model">{text ?? ''}</Code>}
          {calls.map(({ id, name, arguments: args }) => (
            <CallOf key={id} name={name} args={args} />
          ))}
        </section>
      )}
    </>
  );
}

type End = NonNullable<ReturnType<typeof endOf>>;

function sumsOf({ data, turn }: End): (readonly [string, React.ReactNode])[] {
  const { usage, metadata } = data;
  const cost = metadata['cost'];
  const { first_chunk_ms: first, finish_reason: reason } = turn ?? {};
  return [
    ['Tokens', usage === undefined ? null : tokensText(usage)],
    ['Cost', typeof cost === 'number' ? moneyText(cost) : null],
    ['First token', typeof first === 'number' ? `after ${durationText(first)}` : 'not streamed'],
    [
      'Finish reason',
      reason === undefined || reason === null ? null : <Text key="reason">{String(reason)}</Text>,
    ],
  ];
}

function tokensText(usage: NonNullable<End['data']['usage']>): string {
  const { input_tokens: input, output_tokens: output } = usage;
  const cached = usage.cache_read_input_tokens ?? 0;
  const reasoning = usage.reasoning_tokens ?? 0;
  return [
    `${countText(input)} → ${countText(output)}`,
    cached > 0 ? `${countText(cached)} from the cache` : '',
    reasoning > 0 ? `${countText(reasoning)} of reasoning` : '',
  ]
    .filter((part) => part !== '')
    .join(', ');
}

/** Members that are shown apart, or that say nothing about the question. */
const NO_PARAMETERS: ReadonlySet<string> = new Set([
  'id',
  'request_id',
  'type',
  'context',
  'system_prompt',
  'tools',
  'metadata',
]);

function Question({ view, called }: ViewProps) {
  const { data: listing } = useRead<ToolListing>('/v1/tools?remembered=true');
  const directive = view.directive as unknown as Readonly<Record<string, unknown>>;
  const { context, system_prompt: system, tools, model, model_alias: alias } = directive;
  const keyId = encryptedKeyId(context);
  if (keyId !== null) return <p className="muted">The messages are {encryptedNote(keyId)}.</p>;
  const asked = askedModel(directive, called ?? textOf(model ?? alias), listing?.tools ?? []);
  if (asked === null) return null;
  const parameters = Object.entries(directive).filter(([name]) => !NO_PARAMETERS.has(name));
  return (
    <section className="stack">
      <div className="row">
        <h3>Asked</h3>
        <Button
          look="ghost"
          className="spread"
          title="The key is read from an environment variable."
          onClick={() => void copy(providerCurl(asked), 'curl to the provider')}
        >
          Copy as curl to the provider
        </Button>
      </div>
      {system !== undefined && (
        <details>
          <summary>System prompt</summary>
          <Code label="system prompt">{typeof system === 'string' ? system : JSON.stringify(system)}</Code>
        </details>
      )}
      {Array.isArray(tools) && tools.length > 0 && (
        <details>
          <summary>
            {tools.length} {tools.length === 1 ? 'tool' : 'tools'}
          </summary>
          <Json value={asked.tools} label="tools" />
        </details>
      )}
      <details>
        <summary>Parameters</summary>
        <Json value={Object.fromEntries(parameters)} label="parameters" />
      </details>
      <Messages messages={asked.messages} />
    </section>
  );
}

/** Further ones are in the whole value. */
const MOST_MESSAGES = 60;

function Messages({ messages }: { messages: readonly Message[] }) {
  const shown = messages.slice(-MOST_MESSAGES);
  const left = messages.length - shown.length;
  return (
    <>
      {left > 0 && (
        <details>
          <summary>{left} earlier messages</summary>
          <Json value={messages.slice(0, left)} label="earlier messages" />
        </details>
      )}
      <ol className="messages" aria-label="Messages as sent">
        {shown.map((message, place) => (
          <li key={place}>
            <MessageView message={message} />
          </li>
        ))}
      </ol>
    </>
  );
}

function MessageView({ message }: { message: Message }) {
  const { role, content } = message;
  const calls = message.role === 'assistant' ? (message.tool_calls ?? []) : [];
  const whom = message.role === 'tool' ? ` ${message.name ?? message.tool_call_id}` : '';
  return (
    <>
      <p className="faint">
        {role}
        <Text>{whom}</Text>
      </p>
      {typeof content === 'string' && content !== '' && <Said text={content} role={role} />}
      {Array.isArray(content) && <Json value={content} label={`content of ${role}`} />}
      {calls.map(({ id, name, arguments: args }) => (
        <CallOf key={id} name={name} args={args} />
      ))}
    </>
  );
}

const LONGEST = 4_000;

/** JSON in a result is shown as JSON. */
function Said({ text, role }: { text: string; role: string }) {
  if (role === 'tool' && /^\s*[[{]/.test(text)) return <Json value={text} label={`content of ${role}`} />;
  if (text.length > LONGEST) return <Code label={`content of ${role}`}>{text}</Code>;
  return (
    <p className="entry-text">
      <Text>{text}</Text>
    </p>
  );
}

function CallOf({ name, args }: { name: string; args: unknown }) {
  return (
    <div>
      <p>
        calls{' '}
        <b>
          <Text>{name}</Text>
        </b>
      </p>
      <Json value={args} label={`arguments of ${name}`} />
    </div>
  );
}
