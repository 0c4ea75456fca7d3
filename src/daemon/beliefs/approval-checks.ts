/**
 * Approvals verified ahead, on the thread pool, while logs are still being read: a fold judges thousands of them in one
 * turn, and one after the other they would keep every core but one idle and this thread from answering. Whether a
 * verdict is known here changes when it is worked out, never what it is.
 */
import { hash } from 'node:crypto';
import { portsWith, type FoldPorts } from '../../core/fold/fold.ts';
import { eventNamespace, type Body } from '../../core/event.ts';
import type { VerifiedLine } from '../../core/log.ts';
import type { Charter } from '../../core/trust/charter.ts';
import { trustNamespace, trustOpMessage, type OfferedOp, type SupportedOp } from '../../core/trust/op.ts';
import { canonicalJson, type JsonValue } from '../../crypto/canonical.ts';
import type { SshPublicKey } from '../../crypto/ssh-key.ts';
import { verifySshsig, verifySshsigLater, type Approval, type ApprovalVerifier } from '../../crypto/sshsig.ts';

/** Verdicts kept, some 150 bytes each. Approvals beyond it are verified when they are judged. */
const verdictsMax = 131_072;
/** Given to the thread pool and not answered yet; each holds the bytes that it verifies. */
const underWayMax = 1_024;

type Verdict = ReturnType<ApprovalVerifier>;

export interface ApprovalChecks {
  /** Answers with what is known, once, and works out the rest. */
  readonly verify: ApprovalVerifier;
  /** The ports of a fold that asks here. */
  readonly ports: FoldPorts;
  /** Has these approvals verified. Returns at once. */
  readonly begin: (approvals: Iterable<Approval>) => void;
  /** Resolves when no verification is under way. */
  readonly settled: () => Promise<void>;
  /** Drops what nobody asked for. */
  readonly forget: () => void;
}

export function createApprovalChecks(
  options: { readonly verdictsMax?: number; readonly later?: typeof verifySshsigLater } = {},
): ApprovalChecks {
  const limit = options.verdictsMax ?? verdictsMax;
  const later = options.later ?? verifySshsigLater;
  /** null: under way or waiting. */
  const verdicts = new Map<string, Verdict | null>();
  const waiting: Iterator<Approval>[] = [];
  const listeners: (() => void)[] = [];
  let underWay = 0;

  const run = async (name: string, approval: Approval): Promise<void> => {
    try {
      const verdict = await later(approval);
      // Not kept when everything was forgotten meanwhile.
      if (verdicts.has(name)) verdicts.set(name, verdict);
    } catch {
      // Whatever this is, it happens again where the approval is judged, and somebody hears of it there.
      verdicts.delete(name);
    }
    underWay -= 1;
    pump();
  };
  const pump = (): void => {
    for (;;) {
      if (underWay >= underWayMax) return;
      const next = waiting[0]?.next();
      if (next === undefined) break;
      if (next.done === true) waiting.shift();
      else start(next.value);
    }
    if (underWay === 0) for (const listener of listeners.splice(0)) listener();
  };
  const start = (approval: Approval): void => {
    const name = nameOf(approval);
    if (verdicts.size >= limit || verdicts.has(name)) return;
    verdicts.set(name, null);
    underWay += 1;
    void run(name, approval);
  };
  const verify: ApprovalVerifier = (approval) => {
    const name = nameOf(approval);
    const known = verdicts.get(name);
    if (known === undefined || known === null) return verifySshsig(approval);
    // A fold remembers what it has judged, so nobody asks again.
    verdicts.delete(name);
    return known;
  };
  return {
    verify,
    ports: portsWith(verify),
    begin(approvals) {
      waiting.push(approvals[Symbol.iterator]());
      pump();
    },
    settled: () => new Promise((resolve) => (underWay === 0 ? resolve() : void listeners.push(resolve))),
    forget: () => verdicts.clear(),
  };
}

/** The approvals of lines that are worth verifying: by a signer of the charter, in the name of that signer's key. */
export function* approvalsOf(charter: Charter, lines: Iterable<VerifiedLine>): Iterable<Approval> {
  for (const { auth, body } of lines) {
    if (auth === null || body === null) continue;
    const key = charter.signers.get(auth.signer)?.key;
    if (key === undefined || key.fingerprint !== auth.key) continue;
    yield { sshsig: auth.sshsig, namespace: eventNamespace, message: textOf(body), key };
  }
}

/** Fewer approvals than this are verified as they are judged: a few milliseconds. */
export const worthCheckingAhead = 64;

/**
 * A verifier of trust ops that are about to be judged, all at once if there are many. Whether a key is that of a signer
 * shows when they are judged; its fingerprint says which key an op means. `held`: ops that are judged already.
 */
export async function checkOpsAhead(
  ops: readonly OfferedOp[],
  held: Iterable<SupportedOp> = [],
): Promise<ApprovalVerifier> {
  if (ops.length < worthCheckingAhead) return verifySshsig;
  const keys = new Map<string, SshPublicKey>();
  for (const op of [...held, ...ops]) {
    if (op.unsupported !== null || op.auth === null || op.keys === null) continue;
    for (const key of op.keys.values()) keys.set(key.fingerprint, key);
  }
  const checks = createApprovalChecks();
  checks.begin(approvalsOfOps(ops, keys));
  await checks.settled();
  return checks.verify;
}

function* approvalsOfOps(ops: Iterable<OfferedOp>, keys: ReadonlyMap<string, SshPublicKey>): Iterable<Approval> {
  for (const { auth, body } of ops) {
    const key = auth === null ? undefined : keys.get(auth.key);
    if (auth === null || key === undefined) continue;
    yield { sshsig: auth.sshsig, namespace: trustNamespace, message: trustOpMessage(body), key };
  }
}

function textOf(body: Body): string {
  return canonicalJson(body as unknown as JsonValue);
}

/** Everything that a verdict depends on. The length says where the signature ends, whatever stands in it. */
function nameOf({ sshsig, namespace, message, key }: Approval): string {
  const text = typeof message === 'string' ? message : Buffer.from(message).toString('latin1');
  const kind = typeof message === 'string' ? 'text' : 'bytes';
  const parts = `${kind} ${namespace} ${key.fingerprint} ${sshsig.length} ${sshsig}${text}`;
  return hash('sha256', parts, 'base64');
}
