import { Command } from 'commander';
import type { CharterJson, PlaceJson, SignerJson } from '../../daemon/api/api-types.ts';
import { counted } from '../../daemon/counted.ts';
import { Refusal } from '../../daemon/refusal.ts';
import { approveOp } from '../approve.ts';
import { askToSign } from '../confirm.ts';
import type { Call, Cli } from '../context.ts';
import { describeOp } from '../charter-text.ts';
import { shortId } from '../output.ts';
import { withSigningOptions, wordList, type SigningOptions } from '../signing-options.ts';

type RevokeOptions = SigningOptions & { readonly marks?: string; readonly void?: string };

/** signer revoke: a person's key loses its say, from here on. */
export function revokeCommand(cli: Cli): Command {
  const command = new Command('revoke')
    .description('end the say of a signer: what they approved up to the marks stands, the rest falls')
    .argument('<name>', 'the signer')
    .option(
      '--marks <LIST>',
      'HOST:SEQ, comma separated; approvals in later lines fall, of hosts not named all. Default: every line held here',
    )
    .option(
      '--void <OPS>',
      'trust ops of the signer that fall with it, comma separated, or all; and whatever only they made possible. Default: none',
    );
  return withSigningOptions(command)
    .addHelpText(
      'after',
      `
For a stolen key name the last lines from before the theft, and the ops that the thief signed: memctl charter --ops lists
them. --marks '' lets nothing stand. Of a thief who filled the trust set, --void all. Any signer may approve again what fell. A signer can be revoked by itself and by those who rank before it.
Examples:
  memctl signer revoke dana
  memctl signer revoke dana --marks alpha:120,beta:40 --void 3fa2b1c09d11`,
    )
    .action(async (name: string, options: RevokeOptions) => {
      const id = await revokeSigner(cli, name, options);
      cli.output.result({ id, signer: name }, () => [`signer ${name} revoked by trust op ${id}`]);
    });
}

/** The signer of this name, revoked or not. Refuses SIGNER_UNKNOWN. */
export async function signerNamed(cli: Cli, name: string): Promise<SignerJson> {
  return findSigner(await cli.call('charter', {}), name);
}

function findSigner({ signers }: CharterJson, name: string): SignerJson {
  const signer = signers.find((one) => one.name === name);
  if (signer !== undefined) return signer;
  throw new Refusal({
    code: 'SIGNER_UNKNOWN',
    message: `there is no signer ${name} in this mesh`,
    hint: `signers: ${signers.map((one) => one.name).join(', ')}`,
    exit: 7,
  });
}

/** Asks, signs and hands in. @returns the id of the op. */
export async function revokeSigner(cli: Cli, name: string, options: RevokeOptions): Promise<string> {
  const charter = await cli.call('charter', {});
  requireRevocable(charter, findSigner(charter, name), options.void !== undefined);
  const marks = options.marks === undefined ? marksHere(charter) : await marksNamed(cli, wordList(options.marks));
  return approveOp(cli, {
    op: 'signer-revoke',
    args: {
      name,
      marks,
      ...(options.void === undefined
        ? {}
        : { leaveOut: options.void === 'all' ? 'all' : opsNamed(charter, wordList(options.void)) }),
    },
    keyFile: options.key,
    async review(call, body) {
      const falls = await describeRevocation(cli, { call, body, name, marks });
      await askToSign({
        message: falls ? `Revoke ${name}, and let this fall?` : `Revoke ${name}?`,
        yes: options.yes,
        task: 'say that this may fall',
      });
    },
  });
}

/** What the trust set would refuse as well, said in the words of whoever tries it. */
function requireRevocable({ signers }: CharterJson, target: SignerJson, isVoiding: boolean): void {
  const { name, status } = target;
  // A second revocation may know less than the first: then more falls.
  if (status !== 'active' && !isVoiding) {
    throw new Refusal({
      code: 'OP_REFUSED',
      message: `signer ${name} is revoked already, by trust op ${target.revocations.map(({ op }) => shortId(op)).join(', ')}`,
      hint: 'memctl charter shows by whom; nothing was signed. To let more of their ops fall: --void OP,…, or --void all',
      exit: 6,
    });
  }
  const others = signers.filter((one) => one.name !== name && one.status === 'active');
  if (others.some(({ scopes }) => scopes.includes('charter'))) return;
  throw new Refusal({
    code: 'OP_REFUSED',
    message: `${name} is the only signer with the scope charter: without one nobody could ever change the charter again`,
    hint: "first: memctl signer add NEW.pub --as NAME --scopes '*,charter,purge'; or memctl signer rotate, which does both",
    exit: 6,
  });
}

type Marks = Readonly<Record<string, PlaceJson>>;

/** The last usable line of every log as it is held here. */
function marksHere({ hosts }: CharterJson): Marks {
  return Object.fromEntries(hosts.filter(({ seq }) => seq > 0).map(({ host, seq, link }) => [host, { seq, link }]));
}

/** Full ids of ops by their unique prefix. Refuses ID_UNKNOWN. */
function opsNamed({ ops }: CharterJson, words: readonly string[]): readonly string[] {
  return words.map((word) => {
    const found = ops.filter(({ op }) => op.startsWith(word));
    const [only] = found;
    if (only !== undefined && found.length === 1) return only.op;
    throw new Refusal({
      code: only === undefined ? 'ID_UNKNOWN' : 'ID_AMBIGUOUS',
      message: `${only === undefined ? 'no trust op has' : 'several trust ops have'} an id that starts with ${word}`,
      hint: 'memctl charter --ops lists them',
      exit: only === undefined ? 7 : 2,
    });
  });
}

async function marksNamed(cli: Cli, words: readonly string[]): Promise<Marks> {
  const places = words.map((word) => {
    const [, host, seq] = /^([a-z][a-z0-9-]{0,30}):(\d{1,15})$/.exec(word) ?? [];
    if (host !== undefined) return { host, seq: Number(seq) };
    throw new Refusal({
      code: 'BAD_REQUEST',
      message: `--marks ${word} is not HOST:SEQ`,
      hint: 'for example --marks alpha:120,beta:40; memctl log HOST shows lines',
      exit: 2,
    });
  });
  return cli.session(async (call) => {
    const marks: [string, PlaceJson][] = [];
    for (const { host, seq } of places) if (seq > 0) marks.push([host, await call('place', { host, seq })]);
    return Object.fromEntries(marks);
  });
}

/** Of a thief who filled the trust set nobody wants to read every op. */
const fallsShownMax = 100;

/** @returns true when something that counts now would fall. */
async function describeRevocation(
  { output }: Cli,
  { call, body, name, marks }: { call: Call; body: string; name: string; marks: Marks },
): Promise<boolean> {
  const { falls, events } = await call('trust.preview', { body });
  const upto = Object.entries(marks).map(([host, { seq }]) => `${host}:${seq}`);
  output.note(`approvals by ${name} stand up to ${upto.length === 0 ? 'no line' : upto.join(', ')}; later ones fall`);
  for (const op of falls.slice(0, fallsShownMax)) output.note(`  falls: ${describeOp(op)}`);
  if (falls.length > fallsShownMax) output.note(`  falls: ${falls.length - fallsShownMax} more`);
  if (events > 0)
    output.note(`  falls: the approval of ${counted(events, 'event')}, which then stop counting as signed`);
  if (falls.length === 0 && events === 0) output.note('  nothing that is held here falls');
  return falls.length > 0 || events > 0;
}
