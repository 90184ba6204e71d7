/** Submits a call of a tool.
 *  It must never make two calls of one press: a repeat after a lost answer has the same id. */
import { useRef } from 'react';
import type { Submission } from '../../../src/contract/directive/submission.ts';
import { call } from '../../data/api.ts';
import { newId } from '../../data/new-id.ts';
import { useChange } from '../../data/queries.ts';

/** Id of the one directive of a request that is made here. */
export const CALL_ID = 'call';

interface Submitted {
  readonly request_id: string;
  readonly arguments: Record<string, unknown>;
}

export interface CallSubmission {
  submit(args: Record<string, unknown>): void;
  readonly isPending: boolean;
  readonly error: Error | null;
}

export function useCallSubmission(
  tool: string,
  heard: { onCalled(requestId: string): void; onError(error: Error): void },
): CallSubmission {
  const unanswered = useRef<{ readonly json: string; readonly id: string } | null>(null);
  const change = useChange(({ request_id, arguments: args }: Submitted) =>
    call<Submission>('POST', '/v1/directives', {
      body: { type: 'tool_exec', id: CALL_ID, request_id, tool_name: tool, arguments: args },
    }),
  );
  function submit(args: Record<string, unknown>): void {
    const json = JSON.stringify(args);
    const id = unanswered.current?.json === json ? unanswered.current.id : newId();
    unanswered.current = { json, id };
    const onSuccess = ({ request_id }: Submission): void => {
      unanswered.current = null;
      heard.onCalled(request_id);
    };
    change.mutate({ request_id: id, arguments: args }, { onSuccess, onError: heard.onError });
  }
  return { submit, isPending: change.isPending, error: change.error };
}
