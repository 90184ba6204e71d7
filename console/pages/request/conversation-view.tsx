/** The conversation: what was asked, each step with its text, calls and cost, and what a retry voided, struck through.
 *  It must never show anything but text. */
import { Link } from '@tanstack/react-router';
import { memo, useEffect, useRef } from 'react';
import type { FoldedCall } from '../../../src/contract/model/delta-fold.ts';
import { countText, moneyText } from '../../data/shown.ts';
import { Code } from '../../parts/code.tsx';
import { Json } from '../../parts/json.tsx';
import { ResultView } from '../../parts/result-view.tsx';
import { Empty } from '../../parts/empty.tsx';
import { Instant } from '../../parts/instant.tsx';
import { Status } from '../../parts/status.tsx';
import { Text } from '../../parts/text.tsx';
import { adviceOf } from './advice.ts';
import type { Conversation, Entry, ModelStep, Note, Said, StepError, ToolCall } from './conversation.ts';
import './conversation.css';

/** Older ones are in the log. */
const MOST_SHOWN = 400;
const NEAR_END = 80;
const LONGEST_TEXT = 40_000;

export interface ConversationViewProps {
  readonly conversation: Conversation;
  /** How many signals it is made of. */
  readonly size: number;
  readonly requestId: string;
}

export function ConversationView({ conversation, size, requestId }: ConversationViewProps) {
  const box = useRef<HTMLDivElement>(null);
  const follows = useRef(true);
  const { entries } = conversation;
  useEffect(() => {
    const element = box.current;
    if (element !== null && follows.current) element.scrollTop = element.scrollHeight;
  }, [size]);
  if (entries.length === 0) return <Empty title="No message yet." />;
  const shown = entries.slice(-MOST_SHOWN);
  return (
    <div
      ref={box}
      className="conversation"
      tabIndex={0}
      role="region"
      aria-label="Conversation"
      onScroll={({ currentTarget: at }) => {
        follows.current = at.scrollHeight - at.scrollTop - at.clientHeight < NEAR_END;
      }}
    >
      {shown.length < entries.length && (
        <p className="faint">
          {countText(entries.length - shown.length)} earlier entries are in the signals.
        </p>
      )}
      {shown.map((entry) => (
        <EntryView key={entry.key} entry={entry} requestId={requestId} />
      ))}
    </div>
  );
}

const EntryView = memo(function EntryView({ entry, requestId }: { entry: Entry; requestId: string }) {
  switch (entry.kind) {
    case 'said':
      return <SaidView said={entry} />;
    case 'step':
      return <StepView step={entry} />;
    case 'tool':
      return <ToolView tool={entry} requestId={requestId} />;
    case 'note':
      return <NoteView note={entry} />;
  }
});

function SaidView({ said }: { said: Said }) {
  return (
    <article className="entry entry-said">
      <header>
        <b>
          <Text>{said.who}</Text>
        </b>
        <Instant at={said.at} />
      </header>
      <Long text={said.text} />
    </article>
  );
}

function StepView({ step }: { step: ModelStep }) {
  const { call, voids, model, endedAt, error } = step;
  return (
    <article className="entry entry-step" data-call={step.callId}>
      <header>
        <b>
          <Text>{model ?? 'model'}</Text>
        </b>
        <code className="faint">
          <Text>{step.callId}</Text>
        </code>
        {endedAt === null && <Status of="running" text="writes" />}
        {call.restarts > 0 && <span className="faint">{call.restarts} restarted</span>}
        <span className="spread entry-cost">{costText(step)}</span>
        <Instant at={step.at} />
      </header>
      {voids.map((voided) => (
        <Voided key={voided.attempt} voided={voided} />
      ))}
      {call.thinking !== '' && (
        <details className="entry-thinking">
          <summary>Thinking</summary>
          <Long text={call.thinking} />
        </details>
      )}
      {call.content !== '' && <Long text={call.content} />}
      {call.tool_calls.map(({ index, name, arguments: args }) => (
        <p key={index} className="entry-asks">
          calls{' '}
          <b>
            <Text>{name}</Text>
          </b>{' '}
          <code>
            <Text>{args.slice(0, 400)}</Text>
          </code>
        </p>
      ))}
      {error !== null && <ErrorView error={error} />}
    </article>
  );
}

/** Output of an attempt that was given up: it does not count, and it is not hidden. */
function Voided({ voided }: { voided: FoldedCall }) {
  const text = voided.content === '' ? voided.thinking : voided.content;
  return (
    <div className="entry-voided">
      <span className="faint">voided: attempt {voided.attempt} was given up</span>
      <del>
        <Text>{text.slice(0, LONGEST_TEXT)}</Text>
      </del>
    </div>
  );
}

function costText({ inputTokens, outputTokens, cost }: ModelStep): string {
  const tokens =
    inputTokens === null || outputTokens === null
      ? ''
      : `${countText(inputTokens)} → ${countText(outputTokens)} tokens`;
  return [tokens, cost === null ? '' : moneyText(cost)].filter((text) => text !== '').join(' · ');
}

function ToolView({ tool, requestId }: { tool: ToolCall; requestId: string }) {
  const { error, result, decision, progress } = tool;
  return (
    <article className="entry entry-tool" data-call={tool.callId}>
      <header>
        <b>
          <Text>{tool.name}</Text>
        </b>
        <code className="faint">
          <Text>{tool.callId}</Text>
        </code>
        <Status {...stateOf(tool)} />
        <span className="spread" />
        <Instant at={tool.at} />
      </header>
      <Recorded of={tool.recorded} />
      {decision !== null && (
        <p className="muted">
          <Text>{decision}</Text>
        </p>
      )}
      {tool.arguments !== undefined && (
        <details>
          <summary>Arguments</summary>
          <Json value={tool.arguments} label={`arguments of ${tool.callId}`} />
        </details>
      )}
      {progress !== null && tool.endedAt === null && (
        <p className="muted">
          <Text>{progress}</Text>
        </p>
      )}
      {result !== null && <ResultView payload={result.payload} requestId={requestId} callId={tool.callId} />}
      {error !== null && <ErrorView error={error} />}
    </article>
  );
}

/** Origin of a result that the record of another request gave. */
export function Recorded({ of }: { of: ToolCall['recorded'] }) {
  if (of === null) return null;
  return (
    <p className="muted">
      Replayed: the recorded result of{' '}
      <Link
        to="/requests/$requestId"
        params={{ requestId: of.request_id } as never}
        search={{ step: `${of.request_id}/${of.call_id}` } as never}
      >
        <code>{of.call_id}</code>
      </Link>
      . The tool was not called.
    </p>
  );
}

function stateOf({ error, result, isHeld, isAsked }: ToolCall): { of: string; text?: string } {
  if (error !== null) return { of: 'failed' };
  if (result !== null) return { of: 'succeeded' };
  if (isHeld) return { of: 'waiting', text: 'waits for approval' };
  return isAsked ? { of: 'waiting', text: 'asks a person' } : { of: 'running' };
}

function NoteView({ note }: { note: Note }) {
  return (
    <p className={`entry-note entry-note-${note.tone}`}>
      <Text>{note.text}</Text>{' '}
      {note.child !== undefined && (
        <Link to="/requests/$requestId" params={{ requestId: note.child } as never}>
          open its page
        </Link>
      )}
    </p>
  );
}

/** An error, its meaning, and what to do. */
export function ErrorView({ error }: { error: StepError }) {
  const advice = adviceOf(error.type);
  return (
    <div className="entry-error">
      <p>
        <b>
          <Text>{error.type}</Text>
        </b>{' '}
        <Text>{error.message.slice(0, LONGEST_TEXT)}</Text>
      </p>
      {advice !== null && (
        <p className="muted">
          {advice.meaning} {advice.todo}
        </p>
      )}
    </div>
  );
}

function Long({ text }: { text: string }) {
  if (text.length > LONGEST_TEXT) return <Code label="text">{text}</Code>;
  return (
    <p className="entry-text">
      <Text>{text}</Text>
    </p>
  );
}
