// Notices of ends on their way: an entry of the sweep index from the acceptance on, and a call at the end that makes it prompt.
// Must never be all that keeps a notice: what is called here may be lost, and the sweeper does it.
import { hash } from 'node:crypto';
import type { EndNotices } from '../../contract/signal/end-notices.ts';
import { isPassing } from '../../contract/tool/server-read.ts';
import { scopedAs, tenantOf } from '../../contract/access/tenant.ts';
import {
  ASK_SUBJECT,
  type OnEnd,
  targetsOf,
  WEBHOOK_REQUEST_PREFIX,
  WEBHOOK_TYPE,
} from '../../contract/signal/webhook.ts';
import { type Directive, DIRECTIVE_TYPES } from '../../contract/directive/directive.ts';
import type { FieldError } from '../../contract/problem.ts';
import type { Announcement } from '../../store/request/journal.ts';
import { FIRST_LOOK_MS } from '../../queue/entrance.ts';
import type { DirectiveRef } from '../../store/refs.ts';

/** Begins the entry of a notice; what follows is the id of the directive, or that of the run's entry. */
export const NOTICE_ENTRY = '@notice/';

export function noticeRef(requestId: string, id: string): DirectiveRef {
  return { requestId, id: `${NOTICE_ENTRY}${id}` };
}

export function noticeAnnouncement(id: string): Announcement {
  return { id: `${NOTICE_ENTRY}${id}`, afterMs: FIRST_LOOK_MS };
}

/** The entries by which endpoints are notified of questions to people, and reminded. */
export function askAnnouncement(callId: string): Announcement {
  return noticeAnnouncement(`${ASK_SUBJECT}${callId}`);
}

/** The same for every delivery of one end, and unlike that of any other. `subject`: the directive, or the entry of the run. */
export function endIdOf(requestId: string, subject: string): string {
  return hash('sha256', `${requestId}/${subject}`, 'hex').slice(0, 32);
}

/** The request of the deliveries of one end. */
export function deliveriesOf(requestId: string, subject: string): string {
  return scopedAs(requestId, `${WEBHOOK_REQUEST_PREFIX}${endIdOf(requestId, subject)}`);
}

/** Calls for the notice of something that has ended. Never throws, nor waits. */
export type CallNotice = (requestId: string, id: string) => void;

export interface NoticeCalls {
  call: CallNotice;
  /** From now on these calls are answered so; before, and without this, by the sweeper. */
  answerWith(answer: (requestId: string, id: string) => Promise<void>): void;
}

/** Ends that are handled at once; the others wait. */
const AT_ONCE = 16;
/** More than so many are left to the sweeper. */
const MOST_WAITING = 10_000;

/** `leave`: has the sweeper check at once. Default: at its time. */
export function createNoticeCalls(leave: CallNotice = () => {}): NoticeCalls {
  let answer: ((requestId: string, id: string) => Promise<void>) | null = null;
  const waiting: [string, string][] = [];
  let underWay = 0;

  function next(): void {
    const call = underWay < AT_ONCE ? waiting.shift() : undefined;
    if (call === undefined || answer === null) return;
    underWay += 1;
    void answer(...call)
      .catch(() => {})
      .finally(() => {
        underWay -= 1;
        next();
      });
  }

  return {
    call(requestId, id) {
      if (answer === null || waiting.length >= MOST_WAITING) return leave(requestId, id);
      waiting.push([requestId, id]);
      next();
    },
    answerWith: (given) => void (answer = given),
  };
}

/** Whether a receiver is, or may be, notified of its end. The end of a delivery has no receiver. */
export function isNoticed(
  { concerns }: Pick<EndNotices, 'concerns'>,
  directive: { type: string; request_id: string },
): boolean {
  const { type, request_id: requestId } = directive;
  if (type === WEBHOOK_TYPE || isPassing(requestId)) return false;
  return onEndOf(directive) !== undefined || concerns({ tenant: tenantOf(requestId), type, agent: null });
}

/** A user's own type may mean something else by the name. */
export function onEndOf(directive: { type: string }): OnEnd | undefined {
  const { type, on_end } = directive as { type: Directive['type']; on_end?: OnEnd };
  return DIRECTIVE_TYPES.includes(type) ? on_end : undefined;
}

/** Faults of the receivers that a caller names; [] = none. `path`: that of the field. */
export function onEndErrors(
  { fault }: Pick<EndNotices, 'fault'>,
  onEnd: OnEnd | undefined,
  { tenant, path }: { tenant: string; path: string },
): FieldError[] {
  const isList = Array.isArray(onEnd);
  return targetsOf(onEnd).flatMap((target, position) => {
    const message = fault(target, tenant);
    return message === null ? [] : [{ path: isList ? `${path}[${position}]` : path, message }];
  });
}
