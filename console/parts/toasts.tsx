/** Short confirmations at the edge of the window.
 *  It must never carry an error that asks for an action: that stays where it arose. */
import { Toast } from '@base-ui/react/toast';
import './toasts.css';

const toasts = Toast.createToastManager();

export function showToast(text: string): void {
  toasts.add({ description: text, timeout: 4_000 });
}

export function Toasts() {
  return (
    <Toast.Provider toastManager={toasts} limit={3}>
      <Toast.Portal>
        <Toast.Viewport className="toasts">
          <ToastList />
        </Toast.Viewport>
      </Toast.Portal>
    </Toast.Provider>
  );
}

function ToastList() {
  const { toasts: shown } = Toast.useToastManager();
  return shown.map((each) => (
    <Toast.Root key={each.id} toast={each} className="toast">
      <Toast.Description />
    </Toast.Root>
  ));
}
