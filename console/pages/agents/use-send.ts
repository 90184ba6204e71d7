/** Sends a text to an agent: input of the run in progress, or the task of a new run. Never makes two of one text. */
import { useRef } from 'react';
import type { AcceptedInput, StartedRun } from '../../../src/contract/run/run.ts';
import { call, path } from '../../data/api.ts';
import { newId } from '../../data/new-id.ts';
import { useChange } from '../../data/queries.ts';

export interface Talk {
  readonly requestId: string;
  /** null: it is in none. */
  readonly conversationId: string | null;
  readonly isRunning: boolean;
}

/** Members of a new run beside its task. */
export interface StartOptions {
  readonly conversation_id?: string;
  readonly overrides?: Readonly<Record<string, unknown>>;
  readonly metadata?: { readonly tags: readonly string[] };
}

interface Sent {
  readonly id: string;
  readonly text: string;
  readonly options: StartOptions;
}

export function useSend(
  agent: string,
  talk: Talk | null,
  heard: { onStarted(requestId: string): void; onSent(): void },
) {
  const unanswered = useRef<{ readonly id: string; readonly content: string } | null>(null);
  const to = talk?.isRunning === true ? talk.requestId : '';
  const change = useChange(async ({ id, text, options }: Sent): Promise<string | null> => {
    if (to !== '') {
      await call<AcceptedInput>('POST', path`/v1/requests/${to}/input`, {
        body: { input_id: id, content: text, source: 'console' },
      });
      return null;
    }
    // The first run of a conversation names it.
    const conversation_id = talk?.conversationId ?? id;
    const body = { request_id: id, agent, query: text, conversation_id, ...options };
    return (await call<StartedRun>('POST', '/v1/requests', { body })).request_id;
  });
  function send(text: string, options: StartOptions = {}): void {
    const content = JSON.stringify([to, text, options]);
    const last = unanswered.current;
    const id = last?.content === content ? last.id : newId();
    unanswered.current = { id, content };
    change.mutate(
      { id, text, options },
      {
        onSuccess: (started) => {
          unanswered.current = null;
          heard.onSent();
          if (started !== null) heard.onStarted(started);
        },
      },
    );
  }
  return { send, isPending: change.isPending, error: change.error };
}
