// stop_processing: the rest of this round of tool calls does not count any more.
// Must never end the run: the model is asked again.
import type { ControlHandler } from './control-context.ts';

export const stopProcessing: ControlHandler<'stop_processing'> = (context) => {
  context.stopped = true;
};
