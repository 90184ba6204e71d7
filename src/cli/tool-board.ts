/** The tool calls of a run: a live line while they run, a line for each that has ended.
 *  It must never leave its live line behind, nor draw it over a question. */
import type { Signal } from '../contract/signal.ts';
import { durationText } from './run-lines.ts';
import { type DataOf, errorText, progressText } from './signal-gist.ts';
import { oneLine, type Terminal } from './terminal.ts';

export interface ToolBoard {
  show(signal: Signal): void;
  /** While true no live line is drawn: somebody is being asked. */
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
  const draw = (): void => {
    if (!asking) terminal.status(liveText([...running.values()], terminal));
  };
  const timer = terminal.live ? setInterval(draw, REFRESH_MS) : undefined;
  return {
    show: (signal) => {
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

/** The call that has run longest, and how many others there are; '' for none. */
function liveText([first, ...others]: readonly Running[], { paintErr }: Terminal): string {
  if (first === undefined) return '';
  const elapsed = paintErr('dim', durationText(Math.max(0, Date.now() - first.startedAt)));
  const more = others.length === 0 ? '' : ` and ${others.length} more`;
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
