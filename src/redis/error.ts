// Removes the command's arguments from errors of Redis: they hold what callers sent and what tools answered.
// Must never change how an error is recognised: its class, message and code stay.
import { ReplyError } from 'ioredis';

interface FailedCommand {
  readonly name?: unknown;
}

/** The client attaches the whole command to every error, and a log of the error prints it too. */
export function keepArgumentsOutOfErrors(): void {
  const errors = Object.getPrototypeOf((ReplyError as { prototype: object }).prototype) as object;
  Object.defineProperty(errors, 'command', {
    configurable: true,
    set(this: object, command: FailedCommand | undefined) {
      const value = { name: command?.name };
      Object.defineProperty(this, 'command', { value, enumerable: true, configurable: true, writable: true });
    },
  });
}
