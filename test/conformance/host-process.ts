/** A host of hosts/ as a process: an order goes in as a line of JSON, its answer comes out as one.
 *  It must never be left running: whoever starts one stops it. */
import { type Child, spawnProcess } from '../support/process.ts';

export interface Said {
  readonly isError: boolean;
  readonly text: string;
}

export interface Call {
  /** Rejects with what the host was given as an error. */
  readonly answer: Promise<Said>;
  cancel(): void;
}

export interface Host extends AsyncDisposable {
  list(): Promise<readonly string[]>;
  /** `key`: of the call, repeated with it. Default: none. */
  call(name: string, args: object, key?: string): Call;
}

interface Answer {
  readonly id: number;
  readonly result?: unknown;
  readonly error?: string;
}

const ANSWERED_WITHIN_MS = 60_000;

/** `program`: the command and its arguments. */
export async function startHost([command, ...args]: readonly string[], url: string): Promise<Host> {
  const child = spawnProcess(command ?? '', args);
  let orders = 0;
  const order = (name: string, params: object): { id: number; answer: Promise<unknown> } => {
    orders += 1;
    child.write(`${JSON.stringify({ id: orders, order: name, ...params })}\n`);
    return { id: orders, answer: answerTo(child, orders) };
  };
  const stop = async (): Promise<void> => void (await child.kill9());
  const connected = order('connect', { url }).answer;
  await connected.catch(async (error) => {
    await stop();
    throw error;
  });
  return {
    list: async () => order('list', {}).answer as Promise<string[]>,
    call(name, args, key) {
      const { id, answer } = order('call', { name, arguments: args, ...(key === undefined ? {} : { key }) });
      answer.catch(() => {});
      return { answer: answer as Promise<Said>, cancel: () => void order('cancel', { call: id }) };
    },
    [Symbol.asyncDispose]: stop,
  };
}

async function answerTo(child: Child, id: number): Promise<unknown> {
  const line = await child.waitForLine(new RegExp(`^\\{"id": ?${id},`), ANSWERED_WITHIN_MS);
  const { result, error } = JSON.parse(line) as Answer;
  if (error !== undefined) throw new Error(error);
  return result;
}
