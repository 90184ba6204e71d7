/** A signal as one line of text for a person.
 *  It must never be parsed: programs read the JSON. */
import type { ErrorEnvelope } from '../contract/error-envelope.ts';
import type { Signal } from '../contract/signal.ts';
import { payloadText } from './payload-text.ts';
import { oneLine, type Paint } from './terminal.ts';

/** Sequence, time, directive, type and the gist. */
export function signalLine(signal: Signal, paint: Paint): string {
  const columns = [
    paint('dim', String(signal.sequence).padStart(4)),
    paint('dim', signal.time.slice(11, 23)),
    signal.type.padEnd(26),
    callIdOf(signal),
    gistOf(signal, paint),
  ];
  return columns.join(' ').trimEnd();
}

/** The directive a signal belongs to; the request itself for the others. */
export function callIdOf(signal: Signal): string {
  return 'call_id' in signal.data ? signal.data.call_id : signal.subject;
}

export function errorText({ type, message }: ErrorEnvelope): string {
  return `${type}: ${oneLine(message, 500)}`;
}

function gistOf(signal: Signal, paint: Paint): string {
  switch (signal.type) {
    case 'ai.tool.started':
      return oneLine(signal.data.tool_name);
    case 'ai.tool.progress':
      return progressText(signal.data);
    case 'ai.tool.result':
    case 'ai.llm.response':
    case 'ai.embed.result': {
      const { result } = signal.data;
      return result.ok
        ? paint('green', oneLine(payloadText(result.payload)))
        : paint('red', errorText(result.error));
    }
    case 'directive.retry_scheduled':
      return paint('yellow', retryText(signal.data));
    case 'ai.llm.delta':
      return oneLine(String(signal.data.delta));
    case 'ai.request.error':
      return paint('red', oneLine(`${signal.data.reason}: ${signal.data.message}`));
    case 'ai.usage':
    case 'ai.tool.approval_requested':
    case 'ai.request.started':
    case 'ai.request.completed':
    case 'ai.request.failed':
    case 'directive.rejected':
    case 'directive.ignored':
    default: // a later contract may have more
      return oneLine(JSON.stringify(signal.data));
  }
}

type DataOf<T extends Signal['type']> = Extract<Signal, { type: T }>['data'];

export function progressText({ progress, total, message }: DataOf<'ai.tool.progress'>): string {
  const count = total === undefined ? String(progress) : `${progress}/${total}`;
  return message === undefined ? count : `${count} ${oneLine(message, 80)}`;
}

export function retryText({
  failures,
  max_retries: most,
  delay_ms: delayMs,
  error,
}: DataOf<'directive.retry_scheduled'>): string {
  return `retry ${failures}/${most} in ${delayMs} ms after ${errorText(error)}`;
}
