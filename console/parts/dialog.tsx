/** A question to the person in front: a title, what it is about, and its answers.
 *  It must never decide by Enter what cannot be taken back: the way out has the focus. */
import { Dialog as Base } from '@base-ui/react/dialog';
import { type ReactNode, useRef } from 'react';
import { ErrorBanner } from './banner.tsx';
import { Button } from './button.tsx';
import './dialog.css';

export interface DialogProps {
  readonly isOpen: boolean;
  readonly onClose: () => void;
  readonly title: string;
  readonly children: ReactNode;
  /** The buttons that act; beside them there is always one that closes. */
  readonly actions?: ReactNode;
  /** Text of the button that closes. Default: `Close`. */
  readonly closeText?: string;
  /** Element that has the focus first: the way out, or the first input. Default: the way out. */
  readonly focus?: 'close' | 'first';
}

export function Dialog(props: DialogProps) {
  const { isOpen, onClose, title, children, actions, closeText = 'Close', focus = 'close' } = props;
  const close = useRef<HTMLButtonElement>(null);
  return (
    <Base.Root open={isOpen} onOpenChange={(open) => !open && onClose()}>
      <Base.Portal>
        <Base.Backdrop className="dialog-backdrop" />
        <Base.Popup className="dialog" {...(focus === 'close' ? { initialFocus: close } : {})}>
          <Base.Title className="dialog-title" render={<h2 />}>
            {title}
          </Base.Title>
          <div className="dialog-body">{children}</div>
          <div className="dialog-actions">
            <Button ref={close} onClick={onClose}>
              {closeText}
            </Button>
            {actions}
          </div>
        </Base.Popup>
      </Base.Portal>
    </Base.Root>
  );
}

export interface AskDialogProps extends Omit<DialogProps, 'actions' | 'isOpen'> {
  /** Default: it is open as long as it is drawn. */
  readonly isOpen?: boolean;
  /** Text of the button that acts. */
  readonly verb: string;
  /** Default: `primary`. */
  readonly look?: 'primary' | 'danger';
  /** Reason why it cannot act now; null: it can. Default: null. */
  readonly why?: string | null;
  readonly isOff: boolean;
  /** Error of the last attempt, shown above the content. Default: none. */
  readonly error?: Error | null;
  readonly onAct: () => void;
}

/** A question with one action: its button, the error of the last attempt, and the content. */
export function AskDialog({
  verb,
  look = 'primary',
  why = null,
  isOff,
  error = null,
  onAct,
  ...rest
}: AskDialogProps) {
  return (
    <Dialog
      isOpen
      {...rest}
      actions={
        <Button look={look} why={why} disabled={isOff} onClick={onAct}>
          {verb}
        </Button>
      }
    >
      {error !== null && <ErrorBanner error={error} />}
      {rest.children}
    </Dialog>
  );
}
