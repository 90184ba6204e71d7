// notify_presenter: a notice for the program that shows the run to a person.
// Must never reach the model.
import type { ControlHandler } from './control-context.ts';
import { TODO_NOTICE } from './todo-list.ts';

export const notifyPresenter: ControlHandler<'notify_presenter'> = (context, { params }) => {
  const { key, data } = params;
  if (key === TODO_NOTICE) context.todos = data['items'] ?? null;
  context.signals.push({ type: 'presenter.notified', data: { key, data, call_id: context.callId } });
};
