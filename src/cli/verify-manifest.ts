/** verify --manifest: a view as a host of the mesh signed it, checked in this process alone. */
import { resolve } from 'node:path';
import { judgeFloor, type ManifestFloor } from '../core/manifest-floor.ts';
import { isId } from '../core/id.ts';
import { counted } from '../daemon/counted.ts';
import { trustOfHome, trustOfOps } from '../daemon/queries/manifest-trust.ts';
import { verifyManifest, type ManifestReport, type ManifestTrust } from '../daemon/queries/verify-manifest.ts';
import { Refusal } from '../daemon/refusal.ts';
import { isOperatingError } from '../store/errors.ts';
import type { Home } from '../store/home/home.ts';
import { readManifestFloor, writeManifestFloor } from '../store/notes/manifest-floor.ts';
import type { Cli } from './context.ts';
import { currentFolder } from './here.ts';
import { ago, headsText } from './output.ts';
import { readTextInput } from './read-input.ts';

export interface ManifestOptions {
  readonly manifest: string;
  readonly mesh?: string;
  readonly trust?: string;
}

/** Exit code 0: it is proved; 4: it is not to be gone by, and every reason is named. */
export async function checkManifest(cli: Cli, options: ManifestOptions): Promise<void> {
  const file = resolve(currentFolder() ?? '/', options.manifest);
  const { home, trust } = await groundOf(cli, options);
  const seen = home === undefined ? undefined : readManifestFloor(home);
  if (seen === 'damaged')
    cli.output.note('note: manifest-floor.json cannot be read: what was seen before is not known');
  const now = Date.now();
  const { report, floor } = await verifyManifest(file, { trust, floor: seen === 'damaged' ? undefined : seen, now });
  if (home !== undefined && floor !== undefined && floor !== seen) await keep(cli, { home, floor, trust });
  cli.output.result(report, () => describe(report, now));
  process.exitCode = report.ok ? 0 : 4;
}

async function groundOf(
  cli: Cli,
  { mesh, trust }: ManifestOptions,
): Promise<{ readonly home?: Home; readonly trust: ManifestTrust }> {
  if (mesh === undefined && trust === undefined) return trustOfHome(cli.home());
  if (mesh === undefined || trust === undefined)
    throw usage('--mesh and --trust go together: without them this home says which mesh it is and whom to trust');
  if (!isId(mesh)) throw usage('--mesh takes the 64 hex digits of a mesh id');
  const { skipped, ...ground } = await trustOfOps(await readTextInput(trust), mesh);
  if (skipped > 0)
    cli.output.note(`note: ${counted(skipped, 'line')} of ${trust} left out: no trust op, or one that cannot count`);
  return { trust: ground };
}

interface Kept {
  readonly home: Home;
  readonly floor: ManifestFloor;
  readonly trust: ManifestTrust;
}

/** Somebody else may have seen more meanwhile; a home that cannot be written only keeps no floor. */
async function keep(cli: Cli, { home, floor, trust }: Kept): Promise<void> {
  try {
    const latest = readManifestFloor(home);
    const overtaken = [...floor.hosts].some(
      ([host, said]) =>
        latest !== 'damaged' && judgeFloor({ ...said, host, mesh: floor.mesh }, latest, trust).length > 0,
    );
    if (!overtaken) await writeManifestFloor(home, floor);
  } catch (error) {
    if (!isOperatingError(error)) throw error;
    cli.output.note(`note: an older manifest could be accepted later: ${error.message}`);
  }
}

function describe(report: ManifestReport, now: number): readonly string[] {
  const { ok, host, at, audience, root, cosigned, heads, files, problems } = report;
  const said = headsText(heads);
  const shown =
    host === null || at === null || root === null
      ? []
      : [
          `signed by ${host}, ${ago(at, now)} (${at})${audience === null ? '' : `, audience ${audience}`}`,
          `as of ${said === '' ? 'no lines yet' : `heads ${said}`}, root ${root.slice(0, 12)}`,
          `cosigned by ${cosigned.length === 0 ? 'nobody yet' : cosigned.join(', ')}`,
        ];
  return [
    ...shown,
    ...problems.flatMap(({ code, message, hint }) => [`PROBLEM ${code} ${message}`, `  next: ${hint}`]),
    ok ? `verified: ${counted(files.length, 'file')} as signed` : 'NOT VERIFIED: do not go by these files',
  ];
}

function usage(message: string): Refusal {
  return new Refusal({ code: 'BAD_REQUEST', message, hint: 'memctl verify --help', exit: 2 });
}
