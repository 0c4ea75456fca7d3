import { isOperatingError } from '../store/errors.ts';
import { ApiFailure } from './api/api-client.ts';
import type { ApiError } from './api/protocol.ts';
import { Refusal } from './refusal.ts';

/** What a person reads of anything that was thrown: the thing, the reason, the next command. No stack trace. */
export function describeError(error: unknown): ApiError {
  if (error instanceof ApiFailure) return error.error;
  if (error instanceof Refusal) {
    const { code, message: refused, hint, ids, exit } = error;
    return { ...withHint(code, refused, hint, exit), ...(ids === undefined ? {} : { ids }) };
  }
  if (isOperatingError(error)) return withHint(error.code, error.message, error.hint, 1);
  const message = error instanceof Error ? error.message : String(error);
  return withHint('INTERNAL', message, 'this is a bug in memd; with MEMD_DEBUG=1 it says where', 1);
}

function withHint(code: string, message: string, hint: string | undefined, exit: ApiError['exit']): ApiError {
  return hint ? { code, message, hint, exit } : { code, message, exit };
}
