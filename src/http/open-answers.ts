/** Answers that last: streams and waits of callers with a key. Cut when the key counts no more.
 *  It must never cut one because Redis does not answer. */
import type { ServerResponse } from 'node:http';
import type { Admission } from './access/gate.ts';

/** With the age of what is known of the keys, less than 3 s after the key has expired; at most 2 s after a revocation that is heard. */
const CHECK_MS = 500;

export interface OpenAnswers {
  /**
   * Checks an open answer until it is closed. `credential`: that of the caller; `admit` tells whether it is still
   * valid.
   */
  watch(answer: ServerResponse, credential: string, admit: Admit): void;
}

type Admit = () => Admission | Promise<Admission>;

interface Watched {
  readonly admit: Admit;
  readonly answers: Set<ServerResponse>;
}

export function createOpenAnswers(): OpenAnswers {
  const open = new Map<string, Watched>();
  let timer: NodeJS.Timeout | undefined;

  function forget(answer: ServerResponse, credential: string): void {
    const answers = open.get(credential)?.answers;
    answers?.delete(answer);
    if (answers?.size === 0) open.delete(credential);
    if (open.size > 0) return;
    clearInterval(timer);
    timer = undefined;
  }

  async function check({ admit, answers }: Watched): Promise<void> {
    const { kind } = await admit();
    if (kind === 'refused') for (const answer of answers) answer.destroy();
  }

  function checkAll(): void {
    // Without Redis nobody knows better: the next look decides.
    for (const watched of open.values()) check(watched).catch(() => {});
  }

  return {
    watch(answer, credential, admit) {
      const watched = open.get(credential) ?? { admit, answers: new Set() };
      watched.answers.add(answer);
      open.set(credential, watched);
      answer.once('close', () => forget(answer, credential));
      timer ??= setInterval(checkAll, CHECK_MS).unref();
    },
  };
}
