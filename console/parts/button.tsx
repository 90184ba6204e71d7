/** A button.
 *  It must never be dangerous by default. */
import type { ButtonHTMLAttributes, Ref } from 'react';
import './button.css';

export interface ButtonProps extends ButtonHTMLAttributes<HTMLButtonElement> {
  readonly look?: 'plain' | 'primary' | 'danger' | 'ghost';
  /** Why it cannot be used now: it is shown as its title, and the button is off. */
  readonly why?: string | null;
  readonly ref?: Ref<HTMLButtonElement>;
}

export function Button({ look = 'plain', why = null, disabled, className = '', ...rest }: ButtonProps) {
  const off = disabled === true || why !== null;
  return (
    <button
      type="button"
      {...rest}
      {...(why === null ? {} : { title: why })}
      disabled={off}
      className={`button button-${look} ${className}`}
    />
  );
}
