// notify_presenter: something for whoever shows the run to a person.
// Must never reach the model.
import type { ControlHandler } from './control-context.ts';

export const notifyPresenter: ControlHandler<'notify_presenter'> = (context, { params }) => {
  const { key, data } = params;
  context.signals.push({ type: 'presenter.notified', data: { key, data, call_id: context.callId } });
};
