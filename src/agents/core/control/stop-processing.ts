// stop_processing: ignores the rest of this round of tool calls.
// Must never end the run: the model is called again.
import type { ControlHandler } from './control-context.ts';

export const stopProcessing: ControlHandler<'stop_processing'> = (context) => {
  context.stopped = true;
};
