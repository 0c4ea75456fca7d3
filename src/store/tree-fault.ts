/** What can be wrong with the tree of a branch, ours or (through a quarantine) a peer's: one list for logs and trust. */
import { refuse, type Result } from '../crypto/result.ts';
import { OperatingError, restoreHint } from './errors.ts';
import type { ObjectFault } from './git/reader.ts';

/** `OBJECT_DAMAGED` and `OBJECT_MISSING` concern the object store, the others what was sent. */
export type TreeFaultCode = 'OBJECT_MISSING' | 'OBJECT_DAMAGED' | 'NOT_A_COMMIT' | 'TREE_SHAPE' | 'TOO_LARGE';

const codes = {
  MISSING: 'OBJECT_MISSING',
  DAMAGED: 'OBJECT_DAMAGED',
  TOO_LARGE: 'TOO_LARGE',
  WRONG_TYPE: 'TREE_SHAPE',
} as const satisfies Record<ObjectFault['code'], TreeFaultCode>;

/** A fault in an object, `at` where a person would find it; undefined: the reader gave no answer. */
export function objectFault(fault: ObjectFault | undefined, at: string): Result<never, TreeFaultCode> {
  if (fault === undefined) return refuse('OBJECT_MISSING', `${at}: no answer`);
  return refuse(codes[fault.code], `${at}: ${fault.oid} ${fault.detail}`);
}

/** Turns a fault of our own branch into an operating failure that names the branch, the place and the next command. */
export function treeError(
  branch: string,
  fault: { readonly code: TreeFaultCode; readonly detail: string },
): OperatingError {
  const code = fault.code === 'OBJECT_DAMAGED' || fault.code === 'OBJECT_MISSING' ? fault.code : 'BRANCH_DAMAGED';
  return new OperatingError(code, `${branch}: ${fault.detail}`, { hint: restoreHint });
}
