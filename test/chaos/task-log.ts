/** What the task server writes of each call: its task, what it was asked, what was answered. One file per call.
 *  It must never be written to by anything but that server. */
import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

export interface TaskLine {
  /** `made`: the task of an execution; `asked`: its end was asked for; `answered`: its question. */
  readonly what: 'made' | 'asked' | 'answered' | 'cancelled';
  readonly taskId: string;
  readonly at: number;
  /** Of `made`: which execution, and when it is done. */
  readonly execution?: number;
  readonly doneAt?: number;
  readonly asks?: boolean;
  readonly sum?: number;
  /** Of `answered`: the number, or what was said in place of one. */
  readonly answer?: string;
}

function fileOf(folder: string, label: string): string {
  return join(folder, `task-${encodeURIComponent(label)}.jsonl`);
}

export function noteTask(folder: string, label: string, line: Omit<TaskLine, 'at'>): void {
  appendFileSync(fileOf(folder, label), `${JSON.stringify({ ...line, at: Date.now() })}\n`);
}

/** Whole lines only: the server may be about to write one. */
export function taskLines(folder: string, label: string): TaskLine[] {
  const file = fileOf(folder, label);
  const lines = existsSync(file) ? readFileSync(file, 'utf8').split('\n').slice(0, -1) : [];
  return lines.map((line) => JSON.parse(line) as TaskLine);
}
