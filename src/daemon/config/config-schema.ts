/**
 * Every key of config.toml: its form, its default as people read it, and what it means. docs/config.md lists the same,
 * and a test compares the two. Source: docs/config.md.
 */
import { isAbsolute } from 'node:path';
import { isSlug } from '../../core/id.ts';
import {
  indexBytesDefault,
  indexLinesDefault,
  quietDaysDefault,
  targetBytesMin,
  targetLinesMin,
} from '../../core/limits.ts';
import { parsePeerAddress } from '../../mesh/ssh/address.ts';
import { defaultMaintenance, defaultSync } from './config-file.ts';
import { parseListen } from '../enrol/listen-address.ts';

/** One key. `check` says what a right value would be, or nothing when this one is right. */
export interface ConfigKey {
  readonly type: 'text' | 'texts' | 'number';
  readonly required?: true;
  /** As docs/config.md prints it. */
  readonly fallback: string;
  readonly meaning: string;
  readonly check: (value: string | number) => string | undefined;
}

/**
 * A part of the file: a table of known keys, a table whose names are free, or a list of tables. `name` checks a free
 * name; `placeholder` stands for it in the documentation.
 */
export type ConfigSection =
  | { readonly form: 'table' | 'list'; readonly keys: Readonly<Record<string, ConfigKey>> }
  | {
      readonly form: 'names';
      readonly placeholder: string;
      readonly name: (name: string) => string | undefined;
      readonly key: ConfigKey;
    };

const anyText = (value: string | number): string | undefined => (value === '' ? 'must not be empty' : undefined);

/** An absolute path, or one below the user's own folder. */
function placeFault(value: string | number): string | undefined {
  const path = String(value);
  return isAbsolute(path) || path === '~' || path.startsWith('~/')
    ? undefined
    : 'must be an absolute path, or begin with ~/';
}

function rootFault(value: string | number): string | undefined {
  return /^\/+$/.test(String(value)) ? 'must not be the whole file system' : placeFault(value);
}

function scopeFault(value: string | number): string | undefined {
  return value === '*' || isSlug(value) ? undefined : 'must be a scope like my-project (a-z, 0-9, -, at most 31), or *';
}

function slugFault(value: string | number): string | undefined {
  return isSlug(value) ? undefined : 'must be a name like my-project (a-z, 0-9, -, at most 31)';
}

function addressFault(value: string | number): string | undefined {
  const address = parsePeerAddress(String(value));
  return address.ok ? undefined : `must be an address like ssh://beta.lan:7422: ${address.detail}`;
}

function listenFault(value: string | number): string | undefined {
  try {
    parseListen(String(value));
    return undefined;
  } catch {
    return 'must be ADDRESS:PORT, as in 127.0.0.1:7422 or [::]:7422';
  }
}

function httpsHostFault(value: string | number): string | undefined {
  const right = /^[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?(?::[1-9][0-9]{0,4})?$/.test(String(value));
  return right ? undefined : 'must be a host name in lower case, with :PORT unless that is 443';
}

const atLeastFault =
  (least: number) =>
  (value: string | number): string | undefined =>
    Number(value) >= least ? undefined : `must be ${least} or more`;

function urlFault(value: string | number): string | undefined {
  const url = URL.canParse(String(value)) ? new URL(String(value)) : undefined;
  const right =
    url !== undefined && ['https:', 'http:'].includes(url.protocol) && url.username === '' && url.password === '';
  return right ? undefined : 'must be an address like https://ntfy.sh/my-topic, without a password in it';
}

function notifierKindFault(value: string | number): string | undefined {
  return ['command', 'webhook', 'ntfy', 'desktop'].includes(String(value))
    ? undefined
    : 'must be "command", "webhook", "ntfy" or "desktop"';
}

const budget = (unit: 'bytes' | 'lines', fallback: string, meaning: string): ConfigKey => ({
  type: 'number',
  fallback,
  meaning,
  check: atLeastFault(unit === 'bytes' ? targetBytesMin : targetLinesMin),
});

/** The whole file. */
export const configSections: Readonly<Record<string, ConfigSection>> = {
  sync: {
    form: 'table',
    keys: {
      schedule: {
        type: 'text',
        fallback: `"${defaultSync}"`,
        meaning: 'When memd fetches from its peers: a cron expression with seconds. `memd --sync` beats it.',
        check: anyText,
      },
    },
  },
  maintenance: {
    form: 'table',
    keys: {
      schedule: {
        type: 'text',
        fallback: `"${defaultMaintenance}"`,
        meaning: 'When memd looks whether the repository has something to pack: a cron expression with seconds.',
        check: anyText,
      },
    },
  },
  ssh: {
    form: 'table',
    keys: {
      listen: {
        type: 'text',
        fallback: 'as `memctl init` or `host request` recorded',
        meaning: 'Where the ssh server of memd listens: `ADDRESS:PORT`, IPv6 in brackets. `memd --listen` beats it.',
        check: listenFault,
      },
    },
  },
  peers: {
    form: 'names',
    placeholder: 'NAME',
    name: slugFault,
    key: {
      type: 'text',
      fallback: 'none',
      meaning:
        'Where this machine dials host NAME, as `ssh://HOST:PORT`, or `ssh://USER@HOST/HOME` behind a plain sshd ([mesh.md](mesh.md#behind-a-plain-sshd)). Tried before what hosts told each other and the charter; who answers is still proved by its key. Told to nobody.',
      check: addressFault,
    },
  },
  homes: {
    form: 'table',
    keys: {
      roots: {
        type: 'texts',
        fallback: '[]',
        meaning:
          'Folders below which `recall` may read `file:` and `git:` homes, besides the project that it is run in. Never dotfiles, keys, or anything that a symbolic link reaches outside them.',
        check: rootFault,
      },
      https_hosts: {
        type: 'texts',
        fallback: '[]',
        meaning: 'Hosts whose `https:` homes `recall --check` may fetch. Private addresses stay refused.',
        check: httpsHostFault,
      },
    },
  },
  target: {
    form: 'list',
    keys: {
      path: {
        type: 'text',
        required: true,
        fallback: 'required',
        meaning:
          'File that memd keeps as a copy of the index: in an existing folder, outside the home folder, no link.',
        check: placeFault,
      },
      audience: { type: 'text', fallback: '"operator"', meaning: 'Whose index it is.', check: slugFault },
      scope: {
        type: 'text',
        fallback: 'every scope, each row marked with its own',
        meaning: 'One project and what holds everywhere; `"*"` is what holds everywhere alone.',
        check: scopeFault,
      },
      bytes: budget('bytes', 'that of `[index]`', `Most bytes of the finished file, ${targetBytesMin} or more.`),
      lines: budget('lines', 'that of `[index]`', `Most lines of the finished file, ${targetLinesMin} or more.`),
    },
  },
  scope: {
    form: 'names',
    placeholder: '"PATH"',
    name: placeFault,
    key: {
      type: 'text',
      fallback: 'none',
      meaning:
        'The scope of what lies below PATH, where neither a `.memd` file nor a git repository says it. The longest PATH wins.',
      check: slugFault,
    },
  },
  notifier: {
    form: 'list',
    keys: {
      name: {
        type: 'text',
        required: true,
        fallback: 'required',
        meaning: 'How `memctl status` calls it.',
        check: slugFault,
      },
      kind: {
        type: 'text',
        required: true,
        fallback: 'required',
        meaning: '`"command"`, `"webhook"`, `"ntfy"` or `"desktop"`.',
        check: notifierKindFault,
      },
      command: {
        type: 'texts',
        fallback: 'required for `"command"`',
        meaning:
          'Program and arguments, run without a shell and with a scrubbed environment; one JSON document on stdin.',
        check: anyText,
      },
      url: {
        type: 'text',
        fallback: 'required for `"webhook"` and `"ntfy"`',
        meaning: 'Where the JSON document is posted to; for ntfy the address of the topic.',
        check: urlFault,
      },
      token_file: {
        type: 'text',
        fallback: 'none',
        meaning: 'File that holds an access token, sent as `Authorization: Bearer …`.',
        check: placeFault,
      },
    },
  },
  health: {
    form: 'table',
    keys: {
      quiet_days: {
        type: 'number',
        fallback: String(quietDaysDefault),
        meaning: 'Days after which `memctl status` notes that a peer answers and has nothing new; 0 never does.',
        check: atLeastFault(0),
      },
    },
  },
  quiet_days: {
    form: 'names',
    placeholder: 'NAME',
    name: slugFault,
    key: {
      type: 'number',
      fallback: 'that of `[health]`',
      meaning: 'The same for host NAME alone.',
      check: atLeastFault(0),
    },
  },
  index: {
    form: 'table',
    keys: {
      bytes: budget('bytes', String(indexBytesDefault), 'Most bytes of every target that says nothing else.'),
      lines: budget('lines', String(indexLinesDefault), 'Most lines of every target that says nothing else.'),
    },
  },
};

/** Every key by the name that docs/config.md gives it, in order. */
export function documentedKeys(): readonly { readonly name: string; readonly key: ConfigKey }[] {
  return Object.entries(configSections).flatMap(([section, shape]) =>
    shape.form === 'names'
      ? [{ name: `${section}.${shape.placeholder}`, key: shape.key }]
      : Object.entries(shape.keys).map(([key, value]) => ({ name: `${section}.${key}`, key: value })),
  );
}
