// Continues the calls that waited for a login, once it is stored or their caller counts no longer: right after the login, and in a loop
// for what a process died before.
// Must never answer a question of a tool, nor continue a call of another account.
import { ownId, tenantOf } from '../../contract/access/tenant.ts';
import { DirectiveRefused } from '../../contract/problem.ts';
import { inputIdOf, type InputAnswerBody } from '../../contract/tool/tool-question.ts';
import { createLoop, type Startable } from '../../platform/lifecycle.ts';
import type { Journal } from '../../store/request/journal.ts';
import { LOGIN_ENDPOINT } from '../../store/request/questions.ts';
import { actorOf, decodeEnvelope } from '../../store/request/envelope.ts';
import type { LoginPlace, PersonalLogins } from './logins.ts';
import type { WaitingCall, WaitingCalls } from './waiting.ts';

export interface WakerOptions {
  readonly logins: Pick<PersonalLogins, 'read' | 'callerFault'>;
  readonly waiting: WaitingCalls;
  readonly journal: Pick<Journal, 'directive' | 'envelope' | 'questions'>;
  readonly answer: (
    tenant: string,
    requestId: string,
    inputId: string,
    body: InputAnswerBody,
  ) => Promise<unknown>;
  readonly onError: (error: Error) => void;
}

const LOOK_EVERY_MS = 2_000;
const LONGEST_STOP_MS = 1_000;
/** Calls of a place without a login that are read in one pass, to forget those that have ended: each API does so every two seconds. */
const FEW = 3;

export interface LoginWaker extends Startable {
  /** Continues the calls of a place, if its login can be used or its caller counts no longer. */
  wake(place: LoginPlace): Promise<void>;
}

export function createLoginWaker({ logins, waiting, journal, answer, onError }: WakerOptions): LoginWaker {
  async function wake(place: LoginPlace): Promise<void> {
    const goesOn = (await logins.read(place)) !== null || (await isLeft(place));
    for (let isFurther = true; isFurther;) {
      isFurther = false;
      for (const call of await waiting.of(place, goesOn ? undefined : FEW)) {
        if (!(await isOver(call, goesOn))) continue;
        await waiting.remove(place, call);
        isFurther = true;
      }
    }
  }

  /** Whether the caller of the place counts no longer: its calls go on, and end without a login. */
  async function isLeft(place: LoginPlace): Promise<boolean> {
    const [call] = await waiting.of(place, 1);
    const json = call === undefined ? null : await journal.envelope(call.requestId, call.id);
    const actor = json === null ? null : actorOf(decodeEnvelope(json));
    if (call === undefined || actor === null) return false;
    return (await logins.callerFault(tenantOf(call.requestId), actor)) !== null;
  }

  /** Whether it waits no longer. A call that has not asked yet, or asks something else now, is seen again. */
  async function isOver({ requestId, id }: WaitingCall, goesOn: boolean): Promise<boolean> {
    const record = await journal.directive(requestId, id);
    if (record === null || record.endedAt !== null) return true;
    if (!goesOn || record.asked === null) return false;
    const round = await journal.questions.round(requestId, id);
    // @guard login-answers-login
    if (round?.endpoint !== LOGIN_ENDPOINT) return false;
    const inputId = inputIdOf(id, record.asked.first);
    try {
      await answer(tenantOf(requestId), ownId(requestId), inputId, { action: 'accept' });
    } catch (error) {
      // Another process has answered, or the question has ended.
      if (!(error instanceof DirectiveRefused)) throw error;
    }
    return true;
  }

  const loop = createLoop({
    name: 'calls that wait for logins',
    async work() {
      for (const place of await waiting.somePlaces()) await wake(place);
    },
    everyMs: LOOK_EVERY_MS,
    longestStopMs: LONGEST_STOP_MS,
    onError,
  });
  return { ...loop, wake };
}
