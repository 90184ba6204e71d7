// Expressions in the configuration. Never accepts one that does not compile.
import * as z from 'zod';
import { type createCompiler, ExpressionFault } from '../platform/expression/expression.ts';

type Compile = ReturnType<typeof createCompiler>;

/** Schemas of expressions that this compiler takes, by the type of their result. */
export function expressionsOf(compile: Compile) {
  return (result: Parameters<Compile>[1]) =>
    z.string().superRefine((text, context) => {
      try {
        compile(text, result);
      } catch (error) {
        if (!(error instanceof ExpressionFault)) throw error;
        context.addIssue({ code: 'custom', message: error.message });
      }
    });
}
