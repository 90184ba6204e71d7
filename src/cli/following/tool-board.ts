/** Live state of a run: a line for its tool calls, or its wait for the model; a line for each call that has ended.
 *  It must never leave its live line behind, nor draw it over a question. */
import type { Signal } from '../../contract/signal/signal.ts';
import { durationText } from './run-lines.ts';
import { type DataOf, errorText, progressText } from './signal-gist.ts';
import { oneLine, type Terminal } from '../terminal.ts';

interface ToolBoard {
  show(signal: Signal): void;
  /** While true, no live line is drawn: a question is open. */
  quiet(asking: boolean): void;
  end(): void;
}

const REFRESH_MS = 100;

/** A call under way. */
interface Running {
  readonly title: string;
  readonly startedAt: number;
  readonly progress: string;
}

export function createToolBoard(terminal: Terminal): ToolBoard {
  const running = new Map<string, Running>();
  let asking = false;
  let heardAt = Date.now();
  const draw = (): void => {
    if (asking) return;
    const [first, ...others] = running.values();
    terminal.status(
      first === undefined
        ? waitText(Date.now() - heardAt, terminal)
        : liveText(first, others.length, terminal),
    );
  };
  const timer = terminal.live ? setInterval(draw, REFRESH_MS) : undefined;
  return {
    show: (signal) => {
      heardAt = Date.now();
      if (signal.type === 'ai.tool.result') {
        terminal.err(endedText(signal.data, running.get(signal.data.call_id), terminal));
        running.delete(signal.data.call_id);
      }
      if (signal.type === 'ai.tool.started')
        running.set(signal.data.call_id, begun(signal.data, signal.time));
      if (signal.type === 'ai.tool.progress') noteProgress(running, signal.data);
      draw();
    },
    quiet: (on) => {
      asking = on;
      if (on) terminal.status('');
    },
    end: () => {
      clearInterval(timer);
      running.clear();
      terminal.status('');
    },
  };
}

function begun({ tool_name: name, arguments: args }: DataOf<'ai.tool.started'>, time: string): Running {
  const given = args === undefined ? '' : ` ${oneLine(JSON.stringify(args), 80)}`;
  return { title: `${oneLine(name, 60)}${given}`, startedAt: Date.parse(time), progress: '' };
}

function noteProgress(running: Map<string, Running>, data: DataOf<'ai.tool.progress'>): void {
  const call = running.get(data.call_id);
  if (call !== undefined) running.set(data.call_id, { ...call, progress: ` ${progressText(data)}` });
}

/** No tool is running: the model is working, or the run waits for its turn. */
function waitText(ms: number, { paintErr }: Terminal): string {
  return `${paintErr('cyan', '›')} waiting ${paintErr('dim', durationText(ms))}`;
}

/** The call that has run longest, and the number of others. */
function liveText(first: Running, others: number, { paintErr }: Terminal): string {
  const elapsed = paintErr('dim', durationText(Math.max(0, Date.now() - first.startedAt)));
  const more = others === 0 ? '' : ` and ${others} more`;
  return `${paintErr('cyan', '›')} ${first.title} ${elapsed}${first.progress}${more}`;
}

function endedText(
  { tool_name: name, result, metadata }: DataOf<'ai.tool.result'>,
  call: Running | undefined,
  { paintErr }: Terminal,
): string {
  const took = metadata['duration_ms'];
  const duration = typeof took === 'number' ? ` ${paintErr('dim', durationText(took))}` : '';
  const mark = result.ok ? paintErr('green', '✓') : paintErr('red', '✗');
  const error = result.ok ? '' : ` ${paintErr('red', errorText(result.error))}`;
  return `${mark} ${call?.title ?? oneLine(name, 60)}${duration}${error}`;
}
