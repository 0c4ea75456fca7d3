import { Command } from 'commander';
import { configFile } from '../../daemon/config/config-file.ts';
import { joinHost } from '../../daemon/enrol/join-host.ts';
import { isBehindSshd } from '../../mesh/ssh/address.ts';
import type { Cli } from '../context.ts';
import { configHere } from '../here.ts';
import { nextSteps } from '../next-steps.ts';

/** join: takes the trust set of a mesh that has added this host, then everything else. */
export function makeCommand(cli: Cli): Command {
  return new Command('join')
    .description('join the mesh that has added this host')
    .argument('<url>', 'ssh://HOST:PORT of any enrolled host; ssh://USER@HOST/HOME behind a plain sshd')
    .requiredOption('--mesh <ID>', 'mesh id (64 hex), as memctl host add printed it; ID:OP also requires a trust op')
    .addHelpText('after', '\nExample:\n  memctl join ssh://alpha:7422 --mesh 5c1d…')
    .action(async (url: string, options: { mesh: string }) => {
      const via = await joinHost({ home: cli.home(), url, mesh: options.mesh });
      const { peers, status } = await cli.session(async (call) => {
        const { peers } = await call('fetch', { peer: via.host });
        return { peers, status: await call('status', {}) };
      });
      const { mesh, host, root, heads } = status;
      const toWrite = await peerLines(via.host, url);
      cli.output.result({ mesh, host, root, heads }, () => [
        `joined mesh ${mesh} as ${host}`,
        ...peers.map(
          (peer) =>
            `${peer.peer}: ${peer.state}, ${peer.new} new${peer.reason === undefined ? '' : `: ${peer.reason}`}`,
        ),
        `root ${root}`,
        ...toWrite,
        nextSteps(cli.home()),
      ]);
    });
}

/** Only this machine can say that it dials a host through somebody's sshd. */
async function peerLines(host: string, url: string): Promise<readonly string[]> {
  const said = await configHere();
  if (!isBehindSshd(url) || ('config' in said && said.config.peers.get(host) === url)) return [];
  return [
    `so that it is dialled there from now on, in ${configFile(process.env)}:`,
    '  [peers]',
    `  ${host} = "${url}"`,
  ];
}
